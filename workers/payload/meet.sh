# sh -s -- NONCE [BASE]: the first call to a host. Chooses the base folder, makes what belongs in
# it, and says what is there; docs/host-protocol.md has the keys.

export LC_ALL=C
umask 077
PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin

say() { printf '@@%s %s=%s\n' "$NONCE" "$1" "$(printf '%s' "$2" | tr -d '\000-\037\177' | cut -c 1-400)"; }

answer() {
    say status "$1"
    [ -z "$2" ] || say detail "$2"
    printf '@@%s end\n' "$NONCE"
    exit 0
}

# ours FOLDER: a folder, no link, and the login user's
ours() {
    # shellcheck disable=SC2046 # words: mode, links, user, ...
    set -- $(ls -ldn "$1" 2>/dev/null)
    case $1 in d*) [ "$3" = "$uid" ] ;; *) return 1 ;; esac
}

# safe_parent FOLDER: whether others cannot put their own in the place of ours
safe_parent() {
    # shellcheck disable=SC2046 # words: mode, links, user, ...
    set -- $(ls -ldn "${1%/*}/" 2>/dev/null)
    case $1 in d???????w[!tT]*) return 1 ;; d*) return 0 ;; *) return 1 ;; esac
}

# is_volatile FOLDER: whether its mount point is in memory; the last mount at a point counts
is_volatile() {
    v_path=$(cd "$1" && pwd -P)/
    v_point='' v_type=''
    while read -r _ point type _; do
        case $v_path in
            "${point%/}"/*) if [ ${#point} -ge ${#v_point} ]; then v_point=$point v_type=$type; fi ;;
        esac
    done </proc/mounts
    case $v_type in tmpfs | ramfs | rootfs | devtmpfs) return 0 ;; *) return 1 ;; esac
}

# usable FOLDER: makes it if need be; fails if it is not ours or cannot be written
usable() {
    u_made=
    if [ ! -e "$1" ] && [ ! -h "$1" ]; then
        mkdir -p "$1" 2>/dev/null || return
        u_made=1
    fi
    ours "$1" && safe_parent "$1" && chmod 700 "$1" && (echo "$NONCE" >"$1/.$NONCE") 2>/dev/null && rm -f "$1/.$NONCE" && return
    rm -f "$1/.$NONCE" 2>/dev/null
    [ -z "$u_made" ] || rmdir "$1" 2>/dev/null
    return 1
}

# choose: sets base. A base that was in use stays in use: another one would not know of its lock.
choose() {
    set -- "/var/lib/benchrack/$uid" "${HOME:-/nonexistent}/.benchrack" "/var/tmp/benchrack-$uid" "/tmp/benchrack-$uid" "/dev/shm/benchrack-$uid"
    if [ -n "$asked" ]; then
        base=$asked
        usable "$base" && return
        [ ! -f "$base/instance" ] || answer proto "$base is in use but cannot be written; is its disk full or read-only?"
    fi
    for base in "$@"; do
        if ours "$base" && [ -f "$base/instance" ]; then
            usable "$base" && return
            answer proto "$base is in use but cannot be written; is its disk full or read-only?"
        fi
    done
    spare=
    for base in "$@"; do
        usable "$base" || continue
        is_volatile "$base" || return 0
        if [ -n "$spare" ]; then rmdir "$base"; else spare=$base; fi
    done
    base=$spare
    [ -n "$base" ] || answer proto "no folder for the base can be made and written; give the host a base of its own"
}

# make_instance: 32 hexadecimal digits, made once, by whoever is first
make_instance() {
    [ ! -s "$base/instance" ] || return 0
    m_id=$( (cat /proc/sys/kernel/random/uuid || od -An -tx1 -N16 /dev/urandom) 2>/dev/null | tr -cd '0-9a-f' | cut -c 1-32)
    [ ${#m_id} -eq 32 ] && printf '%s\n' "$m_id" >"$base/.$NONCE" || return
    ln "$base/.$NONCE" "$base/instance" 2>/dev/null || [ -s "$base/instance" ] || cp "$base/.$NONCE" "$base/instance"
    rm -f "$base/.$NONCE"
}

main() {
    NONCE=$1 asked=$2
    case $NONCE in *[!0-9a-f]* | '') exit 64 ;; esac
    [ ${#NONCE} -eq 16 ] || exit 64
    case $asked in
        '') ;;
        [!/]* | *[!A-Za-z0-9_./-]* | */../* | */..) answer proto "the base is no plain path" ;;
    esac
    [ -r /proc/self/stat ] || answer proto "/proc is not mounted"
    uid=$(id -u)
    choose
    mkdir -p "$base/bin" "$base/r" "$base/guard" && make_instance || answer proto "$base cannot be written or is full"
    tell
}

tell() {
    say base "$base"
    say uid "$uid"
    say arch "$(uname -m)"
    if is_volatile "$base"; then say volatile 1; else say volatile 0; fi
    read -r value <"$base/instance" && say instance "$value"
    read -r value </proc/sys/kernel/random/boot_id && say boot "$value"
    for file in /etc/machine-id /var/lib/dbus/machine-id; do
        value=
        [ ! -r $file ] || read -r value <$file
        case $value in '' | *[!0-9a-f]*) ;; *) say machine "$value" && break ;; esac
    done
    for sum in sha256sum md5sum cksum; do
        command -v $sum >/dev/null 2>&1 && say checksum $sum && break
    done
    for file in "$base"/bin/*; do
        [ ! -f "$file" ] || say shelf "${file##*/}"
    done
    answer "done"
}

main "$@"
