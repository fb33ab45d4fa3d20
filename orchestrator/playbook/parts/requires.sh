# ---- requirements: what this host must have, looked at just before the run.

br_lacks() { # SENTENCE
    br_blame "$BR_ON_MISSING" "$1"
    return 1
}

br_checksum() { # FILE: the best checksum that this host can compute, and its name
    # what the shell itself brings along has no file
    if [ -r "$1" ]; then
        for br_one in sha256sum md5sum cksum; do
            if br_sum=$($br_one <"$1" 2>/dev/null); then
                echo "$br_one ${br_sum%% *}"
                return
            fi
        done
    fi
    echo 'none -'
}

# Part by part as numbers; what is not a number ends the comparison: 6.12+ and 6.1-rc3 are fine.
br_older() { # VERSION THAN
    br_left=$1. br_right=$2.
    while [ -n "$br_right" ]; do
        br_one=$(br_digits "${br_left%%[!0-9]*}") br_two=$(br_digits "${br_right%%.*}")
        [ "$br_one" -ge "$br_two" ] || return 0
        [ "$br_one" -le "$br_two" ] || return 1
        case $br_left in
        *.*) br_left=${br_left#*.} ;;
        *) br_left= ;;
        esac
        br_right=${br_right#*.}
    done
    return 1
}

br_need_tool() { # NAME MIN_VERSION WORD...: the words make it print its version
    br_tool=$1 br_wanted=$2
    br_path=$(command -v "$1") || {
        br_lacks "$1 is not on this host; install it"
        return 1
    }
    shift 2
    br_version=-
    if [ -n "$br_wanted" ]; then
        br_version=$("$br_path" "$@" </dev/null 2>&1 |
            sed -n 's/^[^0-9]*\([0-9][0-9]*\.[0-9][0-9.]*\).*/\1/p' | head -n 1)
        if [ -z "$br_version" ]; then
            br_note version-unknown "the version of $br_tool could not be read"
        elif br_older "$br_version" "$br_wanted"; then
            br_lacks "$br_tool is version $br_version; at least $br_wanted is needed"
            return 1
        fi
    fi
    echo "$br_tool ${br_version:--} $(br_checksum "$br_path") $br_path" >>"$BR_OUT/tools"
}

br_need_arch() { # WORD...
    br_arch=$(uname -m)
    case " $* " in
    *" $br_arch "*) return 0 ;;
    esac
    br_lacks "this host is $br_arch; needed is one of: $*"
}

br_need_memory() { # KIB TEXT
    br_free=0
    while read -r br_name br_size br_rest; do
        case $br_name in
        MemFree: | Buffers: | Cached:) br_free=$((br_free + $(br_digits "$br_size"))) ;;
        esac
    done </proc/meminfo
    [ "$br_free" -ge "$1" ] || br_lacks "memory_free: $br_free KiB of $2"
}

br_need_space() { # KIB TEXT
    br_free=
    # a long device name may break the line in two: what stands before the percentage counts
    for br_one in $(df -k "$BR_WORK" | tail -n 1); do
        case $br_one in
        *%) break ;;
        esac
        br_free=$br_one
    done
    [ "$(br_digits "$br_free")" -ge "$1" ] || br_lacks "workdir_free: $br_free KiB of $2 in $BR_WORK"
}

br_need_exec() {
    printf '#!/bin/sh\nexit 0\n' >"$BR_TMP/exec"
    chmod 700 "$BR_TMP/exec"
    "$BR_TMP/exec" 2>/dev/null || br_lacks "programs cannot be executed in $BR_WORK (noexec)"
}

br_need_shm() {
    [ -w /dev/shm ] || br_lacks "/dev/shm cannot be written"
}

br_need_cpus() { # NUMBER
    [ "$P_cpus" -ge "$1" ] || br_lacks "cpus_online: $P_cpus of $1"
}

# By login, or by a way that asks for no password: a prompt would wait for ever.
br_need_root() { # needed|better|no
    [ "$(id -u)" != 0 ] || return 0
    for br_one in sudo doas; do
        if $br_one -n true </dev/null >/dev/null 2>&1; then
            BR_ROOT="$br_one -n"
            # whoever has to stop this run does it the same way
            echo "$BR_ROOT" >"$BENCHRACK_DIR/root"
            return 0
        fi
    done
    case $1 in
    needed) br_lacks "root is needed: log in as root, or allow sudo -n or doas -n" ;;
    better) br_note not-root "measured without the rights of root" ;;
    esac
}

br_need_kernel() { # VERSION
    br_release=$(uname -r)
    ! br_older "$br_release" "$1" || br_lacks "the kernel is $br_release; at least $1 is needed"
}

br_config() { # the configuration of the kernel; fails if nobody knows it
    gzip -dc /proc/config.gz 2>/dev/null || cat "/boot/config-$(uname -r)" 2>/dev/null
}

br_need_config() { # NAME=VALUE; unknown is not missing
    if ! br_config >"$BR_TMP/config"; then
        br_note config-unknown "whether the kernel has $1 is not known"
    elif ! grep -qx "CONFIG_${1#CONFIG_}" "$BR_TMP/config"; then
        br_lacks "the kernel is built without $1"
    fi
}

br_need_quiet() { # HUNDREDTHS TEXT SECONDS refuse|note: wait until the load has fallen
    br_now
    br_patience=$((br_sec + $3))
    while :; do
        read -r br_load br_rest </proc/loadavg
        [ "$(br_digits "${br_load%.*}${br_load#*.}")" -gt "$1" ] || return 0
        br_now
        [ "$br_sec" -lt "$br_patience" ] || break
        sleep "$((br_patience - br_sec < 5 ? br_patience - br_sec : 5))"
    done
    if [ "$4" = note ]; then
        br_note noisy "load $br_load did not fall to $2 within $3 s"
        return 0
    fi
    br_blame skipped "load $br_load did not fall to $2 within $3 s; wait, or note the noise"
    return 1
}
