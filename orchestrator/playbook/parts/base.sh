# ---- base: time, records, the outcome. POSIX sh and the applets of a small busybox.

br_now() { # sets br_up (seconds since the boot, as in /proc/uptime) and br_sec (whole seconds)
    read -r br_up br_rest </proc/uptime
    br_sec=${br_up%.*}
}

br_record() {
    printf '%s\n' "$*" >>"$BR_OUT/result"
}

br_note() { # CODE SENTENCE
    br_record note "$1" "$2"
}

# The first cause is the one that counts. What fails in cleanup is a note: the number stands.
br_blame() { # OUTCOME SENTENCE
    if [ -n "$br_cleaning" ]; then
        br_note cleanup-failed "$2"
    elif [ -z "$br_outcome" ]; then
        br_outcome=$1 br_reason=$2
    fi
}

br_nap() { # a fifth of a second where sleep can do that, else a second
    sleep 0.2 2>/dev/null || sleep 1
}

br_digits() { # TEXT: the number without leading zeros, small enough for 32-bit arithmetic
    br_number=$1
    while :; do
        case $br_number in
        0?*) br_number=${br_number#0} ;;
        ??????????*) br_number=999999999 ;;
        *) break ;;
        esac
    done
    echo "${br_number:-0}"
}

# Where the run lives: what hostrun gives it, or by hand a folder of its own.
br_setup() {
    LC_ALL=C TZ=UTC TERM=dumb
    export LC_ALL TZ TERM
    umask 077
    br_by_hand=
    if [ -z "${BENCHRACK_DIR:-}" ]; then
        br_by_hand=1
        BENCHRACK_DIR=${TMPDIR:-/tmp}/benchrack-$$
        mkdir "$BENCHRACK_DIR" || exit 1
    fi
    BENCHRACK_RUN=$BR_RUN
    BR_OUT=${BENCHRACK_OUT:-$BENCHRACK_DIR/out}
    BR_WORK=$BENCHRACK_DIR/work
    BR_TMP=$BENCHRACK_DIR/work/.benchrack
    P_workdir=$BR_WORK
    export BENCHRACK_DIR BENCHRACK_RUN P_workdir
    mkdir -p "$BR_OUT" "$BR_WORK/bin" "$BR_TMP" && cd "$BR_WORK" || exit 1
    # what the worker shelved goes before what the host has
    PATH=$BR_WORK/bin:${BENCHRACK_BIN:+$BENCHRACK_BIN:}${PATH:-/usr/bin:/bin}
    PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin
    export PATH
    P_cpus=$(grep -c '^processor' /proc/cpuinfo)
    [ "${P_cpus:-0}" -gt 0 ] || P_cpus=$BR_CPUS
    export P_cpus
    BR_ROOT=
    br_outcome='' br_reason='' br_cleaning='' br_running='' br_launching='' br_pending=''
}
