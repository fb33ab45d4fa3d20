# sh -s -- NONCE [BASE]: the first call to a host. Chooses the base folder, makes what belongs in
# it, and says what is there.

is_safe() { # FOLDER: whether nobody else can put his own folder in its place
    # shellcheck disable=SC2046 # words: mode, links, user, ...
    set -- $(ls -ldn "${1%/*}/" 2>/dev/null)
    case $1 in d???????w[!tT]*) false ;; d*) ;; *) false ;; esac
}

is_own_folder() { [ ! -h "$1" ] && [ -d "$1" ] && is_ours "$1" && is_safe "$1"; }

is_writable() { # FOLDER
    m_test=$1/.$NONCE
    { chmod 700 "$1" && echo "$NONCE" >"$m_test"; } 2>/dev/null
    m_result=$?
    rm -f "$m_test" 2>/dev/null
    return $m_result
}

is_usable() { # FOLDER: makes it if need be
    m_made=
    if [ ! -e "$1" ] && [ ! -h "$1" ]; then
        mkdir -p "$1" 2>/dev/null || return
        m_made=1
    fi
    is_own_folder "$1" && is_writable "$1" && return
    [ -z "$m_made" ] || rmdir "$1" 2>/dev/null
    return 1
}

# A base that was in use stays in use: another one would not know of its lock.
keep() { # FOLDER
    [ -f "$1/instance" ] && is_own_folder "$1" || return
    base=$1
    is_writable "$1" || end_answer proto "$1 is in use but cannot be written; is its disk full or read-only?"
}

choose() { # [BASE ASKED FOR]: sets base
    if [ -n "$1" ]; then
        keep "$1" && return
        base=$1
        is_usable "$1" && return
    fi
    set -- "/var/lib/benchrack/$uid" "${HOME:-}/.benchrack" "/var/tmp/benchrack-$uid" \
        "/tmp/benchrack-$uid" "/dev/shm/benchrack-$uid"
    for m_folder in "$@"; do
        keep "$m_folder" && return
    done
    base=''
    for m_folder in "$@"; do
        is_usable "$m_folder" || continue
        if ! is_volatile "$m_folder"; then
            [ -z "$base" ] || rmdir "$base" 2>/dev/null
            base=$m_folder
            return
        fi
        if [ -z "$base" ]; then base=$m_folder; else rmdir "$m_folder" 2>/dev/null; fi
    done
    [ -n "$base" ] || end_answer proto "no folder can be made and written here; give the host a base of its own"
}

# 32 hexadecimal digits, once for each base: of several callers one is first
make_instance() {
    [ ! -s "$base/instance" ] || return 0
    m_new=$base/.$NONCE
    { cat /proc/sys/kernel/random/uuid || od -An -tx1 -N16 /dev/urandom; } 2>/dev/null |
        tr -cd '0-9a-f' | cut -c 1-32 >"$m_new"
    get "$m_new"
    is_hex "$value" 32 || return
    ln "$m_new" "$base/instance" 2>/dev/null || [ -s "$base/instance" ] || cp "$m_new" "$base/instance"
    m_result=$?
    rm -f "$m_new"
    return $m_result
}

main() {
    NONCE=$1
    is_hex "$NONCE" 16 || exit 64
    [ -z "$2" ] || is_folder "$2" || end_answer proto "the base is no plain path"
    [ -r /proc/self/stat ] || end_answer proto "/proc is not mounted"
    know_machine
    choose "$2"
    mkdir -p "$base/bin" "$base/r" "$base/guard" || end_answer proto "$base cannot be written or is full"
    put_new "$base/guard/0" free
    make_instance || end_answer proto "$base cannot be written or is full"
    say_machine "$base"
    say boot "$boot"
    say arch "$(uname -m)"
    if is_volatile "$base"; then say volatile 1; else say volatile 0; fi
    for m_file in "$base"/bin/*; do
        [ ! -f "$m_file" ] || say shelf "${m_file##*/}"
    done
    end_answer "done"
}

main "$@"
