# ---- steps: one program each, its output captured, its time and its output limited.
#
# A step's processes carry BENCHRACK_STEP in their environment and are found by it, never by name.
# Nothing polls while a step is executed: the watchdog sleeps, the output limit is the kernel's.

br_stat() { # PID|self: sets br_pid, br_state, br_since; fails if it is gone
    read -r br_line 2>/dev/null <"/proc/$1/stat" || return 1
    br_pid=${br_line%% *}
    # the name of the program stands in brackets and may hold anything
    set -- ${br_line##*) }
    br_state=$1 br_since=${20}
}

br_pids() { # [STAGE.STEP]: who is alive of this step, or of any
    br_list=' '
    for br_one in $($BR_ROOT grep -l "BENCHRACK_STEP=$BR_RUN.$$.${1:+$1.}" /proc/[0-9]*/environ \
        2>/dev/null | sed 's/[^0-9]//g'); do
        br_list="$br_list$br_one "
    done
    # a program may have overwritten its environment
    for br_file in "$BR_TMP"/${1:-*}.pid; do
        read -r br_one br_then 2>/dev/null <"$br_file" && br_stat "$br_one" || continue
        case "$br_state $br_since$br_list" in
        Z* | *" $br_one "*) ;;
        ?" $br_then "*) br_list="$br_list$br_one " ;;
        esac
    done
    echo $br_list
}

br_stop() { # [STAGE.STEP]: TERM, three seconds, KILL; fails if something is left
    br_now
    br_gentle=$((br_sec + 3)) br_last=$((br_sec + 8)) br_signal=TERM
    while br_alive=$(br_pids "$@") && [ -n "$br_alive" ]; do
        [ -z "$br_signal" ] || $BR_ROOT kill -s "$br_signal" $br_alive 2>/dev/null
        br_signal=
        br_nap
        br_now
        [ "$br_sec" -lt "$br_gentle" ] || br_signal=KILL
        [ "$br_sec" -lt "$br_last" ] || return 1
    done
    return 0
}

# The limit is that of the reader's file, so what the step itself writes elsewhere is not limited.
br_keep() { # STAGE.STEP out|err BLOCKS
    (
        ulimit -c 0
        ulimit -f "$3"
        exec cat
    ) >"$BR_OUT/$1.$2" 2>/dev/null && return
    br_size=$(wc -c <"$BR_OUT/$1.$2")
    br_why=over
    [ "$((br_size / 512))" -ge "$3" ] || br_why=lost
    echo "$2" >"$BR_TMP/$1.$br_why"
    # keep reading: a full pipe would hold up the end, and the last part tells why
    br_stop "$1" &
    tail -c 65536 2>/dev/null >"$BR_OUT/$1.$2-last" || cat >/dev/null
    wait "$!"
}

br_become() { # STAGE.STEP FUNCTION: turn into the step's program
    br_stat self
    echo "$br_pid $br_since" >"$BR_TMP/$1.pid"
    BENCHRACK_STEP=$BR_RUN.$$.$1.
    export BENCHRACK_STEP
    "$2"
}

br_execute() { # STAGE.STEP BLOCKS FUNCTION: until the step has ended and its outputs are closed
    {
        {
            (br_become "$1" "$3") 3>&-
            echo "$?" >"$BR_TMP/$1.rc"
        } </dev/null 2>&1 >&3 | br_keep "$1" err "$2" 3>&- >/dev/null
    } 3>&1 | br_keep "$1" out "$2"
}

br_watch() { # STAGE.STEP SECONDS: sleeps, then stops the step; TERM ends it and its sleep
    br_sleep='' br_off=''
    # KILL, as a TERM is lost on a process between fork and exec
    trap 'br_off=1; [ -z "$br_sleep" ] || kill -s KILL "$br_sleep" 2>/dev/null' TERM
    sleep "$2" &
    br_sleep=$!
    # and for the same reason one may have been lost on this process before it had its trap
    [ ! -e "$BR_TMP/$1.ended" ] || br_off=1
    [ -z "$br_off" ] || kill -s KILL "$br_sleep"
    wait "$br_sleep"
    br_sleep=''
    [ -z "$br_off" ] || exit 0
    echo "$2" >"$BR_TMP/$1.late"
    br_stop "$1"
}

br_launch() { # STAGE.STEP SECONDS BLOCKS OK_EXIT FUNCTION: sets br_job, br_dog, br_begin, br_seconds
    # a signal now would find a step that nobody knows of yet
    br_launching=1
    br_now
    br_begin=$br_up br_seconds=$((br_deadline - br_sec))
    [ "$2" -gt "$br_seconds" ] || br_seconds=$2
    [ "$br_seconds" -gt 0 ] || br_seconds=1
    rm -f "$BR_TMP/$1".*
    br_execute "$1" "$3" "$5" &
    br_job=$!
    br_watch "$1" "$br_seconds" </dev/null >/dev/null 2>&1 &
    br_dog=$!
    echo "$br_job $br_dog $br_begin $br_seconds $4" >"$BR_TMP/$1.job"
    br_running="$1 $br_running"
    br_launching=''
    [ -z "$br_pending" ] || br_interrupted
}

br_said() { # STAGE.STEP: a clause with the last line of its standard error
    br_last=$(tail -n 1 "$BR_OUT/$1.err" 2>/dev/null | tr -cd '\040-\176' | cut -c 1-160)
    echo "${br_last:+: $br_last}"
}

br_judge() { # STAGE.STEP BEGIN SECONDS OK_EXIT [stopped]: record a step that ended
    : >"$BR_TMP/$1.ended"
    kill "$br_dog" 2>/dev/null
    wait "$br_dog" 2>/dev/null
    br_now
    br_rc=-
    read -r br_rc 2>/dev/null <"$BR_TMP/$1.rc" || br_rc=255
    br_flags=${5:+ $5}
    [ ! -e "$BR_TMP/$1.late" ] || br_flags=" timeout"
    [ ! -e "$BR_TMP/$1.over" ] || br_flags="$br_flags over-output"
    br_record "step $1 $br_rc $2 $br_up$br_flags"
    if [ -e "$BR_TMP/$1.lost" ]; then
        br_blame void "the output of $1 could not be kept; is the disk full?"
        return 1
    fi
    case $br_flags in
    *over-output)
        br_blame void "$1 wrote more than its max_output; it was stopped"
        return 1
        ;;
    *timeout)
        br_failure=timeout
        br_blame timed-out "$1 did not end within $3 s; it was stopped"
        return 1
        ;;
    *stopped) return 0 ;;
    esac
    case " $4 " in
    *" $br_rc "*) return 0 ;;
    *" void:$br_rc "*)
        br_blame void "$1 says that what it measured is void (status $br_rc)$(br_said "$1")"
        return 1
        ;;
    esac
    br_failure=exit
    br_blame failed "$1 ended with status $br_rc$(br_said "$1")"
    return 1
}

br_step() { # STAGE.STEP SECONDS BLOCKS OK_EXIT FUNCTION
    br_launch "$@"
    wait "$br_job"
    br_running=${br_running#"$1 "}
    br_judge "$1" "$br_begin" "$br_seconds" "$4"
}

br_skip() { # STAGE.STEP PROGRAM: leave a step out where a program is missing
    command -v "$2" >/dev/null && return 1
    br_now
    br_record "step $1 - $br_up $br_up skipped"
    br_note step-skipped "$1 was left out: $2 is not on this host"
}

br_save() { # STAGE.STEP NAME BLOCKS: bring a file of the work folder back
    if [ ! -f "$BR_WORK/$2" ]; then
        br_note not-saved "$1 left no file $2"
        return 0
    fi
    (
        ulimit -c 0
        ulimit -f "$3"
        exec cat "$BR_WORK/$2"
    ) >"$BR_OUT/file.$2" 2>/dev/null && return
    br_blame void "the file $2 of $1 is larger than its max_output"
    return 1
}
