# The host's side of benchrack; docs/host-protocol.md has the verbs and says what stands where.
# POSIX sh, /proc, and the applets of a small busybox. There are no local variables: a function's
# own begin with a letter of its family and _.

export LC_ALL=C
umask 077
PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin

# ---- words

is_hex() { # WORD LENGTH
    case $1 in *[!0-9a-f]*) return 1 ;; esac
    [ ${#1} -eq "$2" ]
}

is_folder() { # WORD: a plain absolute path
    case $1 in [!/]* | '' | *[!A-Za-z0-9_./-]* | */../* | */..) return 1 ;; esac
}

# ---- answers

say() { # KEY VALUE: a line of the answer; what could move a cursor is cut out
    case $2 in *[!\ -~]*) set -- "$1" "$(printf '%s' "$2" | tr -d '\000-\037\177')" ;; esac
    printf '@@%s %s=%.400s\n' "$NONCE" "$1" "$2"
}

end_answer() { # STATUS [SENTENCE]
    say status "$1"
    [ -z "$2" ] || say detail "$2"
    printf '@@%s end\n' "$NONCE"
    exit 0
}

# ---- files

# PATH VALUE: makes PATH carry VALUE, fails if PATH exists. A link has its value from the first
# moment on; where there are no links, a file made with O_EXCL is as exclusive.
put_new() {
    ln -sn "$2" "$1" 2>/dev/null || (set -C && printf '%s\n' "$2" >"$1") 2>/dev/null
}

get() { # PATH: sets value to what it carries, or to nothing
    value=
    if [ -h "$1" ]; then
        value=$(ls -ln "$1" 2>/dev/null)
        value=${value##* -> }
    elif [ -f "$1" ]; then
        { read -r value <"$1"; } 2>/dev/null
    fi
}

is_ours() { # PATH: whether it, not what a link leads to, belongs to the login user
    # shellcheck disable=SC2046 # words: mode, links, user, ...
    set -- $(ls -ldn "$1" 2>/dev/null)
    [ "$3" = "$uid" ]
}

is_volatile() { # FOLDER: whether it is in memory; of several mounts at one point the last counts
    f_path=$(cd "$1" && pwd -P)/
    f_point='' f_type=''
    while read -r _ f_at f_of _; do
        case $f_path in
        "${f_at%/}"/*) [ ${#f_at} -lt ${#f_point} ] || f_point=$f_at f_type=$f_of ;;
        esac
    done </proc/mounts
    case $f_type in tmpfs | ramfs | rootfs | devtmpfs) ;; *) false ;; esac
}

# ---- the machine

# sets uid, boot and checksum
know_machine() {
    uid=$(id -u)
    for checksum in sha256sum md5sum cksum; do
        ! command -v $checksum >/dev/null || break
    done
    get /proc/sys/kernel/random/boot_id
    boot=$value
    [ -n "$boot" ] || find_boot
}

# Old kernels give no boot id: a nonce that does not outlive the boot. Never the wall clock.
find_boot() {
    boot=unknown
    for f_folder in /run /var/run /dev/shm /tmp; do
        f_file=$f_folder/benchrack-$uid.boot
        if [ -w $f_folder ] && is_volatile $f_folder; then
            put_new "$f_file" "$NONCE"
            get "$f_file"
            if is_hex "$value" 16 && is_ours "$f_file"; then
                boot=$value
                return
            fi
        fi
    done
}

say_machine() { # BASE
    say base "$1"
    say uid "$uid"
    say checksum "$checksum"
    get "$1/instance"
    say instance "$value"
    for f_file in /etc/machine-id /var/lib/dbus/machine-id; do
        get $f_file
        if is_hex "$value" 32; then
            say machine "$value"
            break
        fi
    done
}
