# ---- time and processes

within() { # SECONDS COMMAND...: repeats it until it succeeds; fails if it does not in time
    read -r t_now _ </proc/uptime
    t_until=$((${t_now%%.*} + $1))
    shift
    until "$@"; do
        read -r t_now _ </proc/uptime
        [ "${t_now%%.*}" -lt $t_until ] || return 1
        sleep 0.1 2>/dev/null || sleep 1
    done
}

# PID: sets p_state p_parent p_group p_session p_start; fails if there is none. The name stands
# in parentheses and may hold anything, parentheses and newlines too.
stat_of() {
    p_text=
    { while IFS= read -r p_line; do p_text="$p_text $p_line"; done <"/proc/$1/stat"; } 2>/dev/null
    # shellcheck disable=SC2086 # numbers, to be split
    set -- ${p_text##*) }
    [ $# -ge 20 ] || return
    p_state=$1 p_parent=$2 p_group=$3 p_session=$4
    shift 19
    p_start=$1
}

# sets me to PID.START.BOOT of this very process, and self to its pid; $$ is wrong in subshells
identify() {
    read -r self _ </proc/self/stat
    stat_of "$self"
    me=$self.$p_start.$boot
}

is_alive() { # PID.START.BOOT: a number that was used again is another process
    p_rest=${1#*.}
    [ "${p_rest#*.}" = "$boot" ] && stat_of "${1%%.*}" && [ "$p_start" = "${p_rest%%.*}" ] &&
        case $p_state in Z | X) false ;; esac
}

has_ended() { ! is_alive "$1"; }

# ---- the processes of a run

# sets spared to this process and its ancestors, which no scan may find
spare() {
    identify
    spared=' '
    while [ "$self" -gt 1 ] && stat_of "$self"; do
        spared="$spared$self "
        self=$p_parent
    done
}

# sets leader to the wrapper's pid and since to its start. They are empty after a reboot, and where
# the number is another process by now, since then its group and session are too.
find_leader() {
    get "$dir/pid"
    leader=${value%%.*} since=${value#*.}
    since=${since%%.*}
    if [ "${value##*.}" != "$boot" ] || { stat_of "$leader" && [ "$p_start" != "$since" ]; }; then
        leader='' since=''
    fi
}

# sets root to how the run's script becomes root, where it does: its processes are ended that way
find_root() {
    get "$dir/root"
    case $value in 'sudo -n' | 'doas -n') root=$value ;; *) root='' ;; esac
}

is_odd() { # PID, after stat_of: an orphan of our user, younger than the run, hiding its environment
    [ -n "$since" ] && [ "$p_parent" = 1 ] && ! [ -r "/proc/$1/environ" ] && above "$p_start" "$since" &&
        grep -q "^Uid:.*[[:space:]]${uid}[[:space:]]" "/proc/$1/status" 2>/dev/null
}

# Sets found to the living processes of the run, odd to those that may be; fails if none is found.
# They carry the marker, or are in the group or session that the wrapper leads.
members() {
    spare
    find_leader
    find_root
    # no -F: with it, the grep of busybox sees the first variable only
    marked=$($root grep -l -e "BENCHRACK_RUN=$RUN" /proc/[0-9]*/environ 2>/dev/null)
    found='' odd=''
    for p_pid in /proc/[0-9]*; do
        p_pid=${p_pid#/proc/}
        case $spared in *" $p_pid "*) continue ;; esac
        stat_of "$p_pid" || continue
        case "$p_state $marked" in
        [ZX]*) continue ;;
        *"/proc/$p_pid/environ"*)
            found="$found $p_pid"
            continue
            ;;
        esac
        case " $p_pid $p_group $p_session " in
        *" ${leader:-none} "*) found="$found $p_pid" ;;
        *) ! is_odd "$p_pid" || odd="$odd $p_pid" ;;
        esac
    done
    [ -n "$found" ]
}

none_left() { ! members; }

send_signal() { # SIGNAL [PID]: to all that was found, but not to PID
    for p_pid in $found; do
        [ "$p_pid" = "$2" ] || $root kill -s "$1" "$p_pid" 2>/dev/null
    done
}

none_left_to_kill() { none_left || { send_signal KILL && none_left; }; }

# Ends all of the run; fails if something is left. The wrapper is not asked to end: it sees its
# script end.
end_run() {
    none_left && return
    send_signal TERM "$leader"
    within 3 none_left || within 5 none_left_to_kill
}

say_left() { # PID...
    for p_pid in "$@"; do
        say left "$p_pid $(tr '\000' ' ' <"/proc/$p_pid/cmdline" 2>/dev/null)"
    done
}
