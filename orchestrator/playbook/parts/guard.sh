# ---- guard: monitors before and after, and what makes a run void.

br_monitor() { # NAME before|after FILE...
    br_name=$1.$2
    shift 2
    cat "$@" >"$BR_OUT/monitor.$br_name" 2>/dev/null
}

br_kernel_log() { # FILE: the log, or nothing where it may not be read
    $BR_ROOT dmesg >"$1" 2>/dev/null || : >"$1"
}

br_guard_begin() { # WORD...
    case " $* " in
    *" kernel-oops "* | *" oom-kill "*)
        br_kernel_log "$BR_TMP/log.before"
        [ -s "$BR_TMP/log.before" ] || br_note log-unreadable "the kernel's log could not be read"
        ;;
    esac
    br_now
    br_wall=$(($(date +%s) - br_sec))
}

br_guard_end() { # WORD...
    br_now
    br_jump=$(($(date +%s) - br_sec - br_wall))
    if [ -s "$BR_TMP/log.before" ]; then
        br_kernel_log "$BR_TMP/log.after"
        br_new_lines "$BR_TMP/log.before" "$BR_TMP/log.after" >"$BR_TMP/log.new"
    fi
    for br_one in "$@"; do
        case $br_one in
        kernel-oops) br_guard_log 'Oops|BUG:|kernel BUG at|general protection fault' "$br_one" ;;
        oom-kill) br_guard_log 'Out of memory|oom-kill|Killed process' "$br_one" ;;
        clock-jump)
            if [ "$br_jump" -gt 2 ] || [ "$br_jump" -lt -2 ]; then
                br_blame void "clock-jump: the wall clock moved by $br_jump s against the uptime"
            fi
            ;;
        esac
    done
}

br_new_lines() { # BEFORE AFTER: what came after the last line of BEFORE; all of it if that is gone
    br_seen=$(grep -nxF -e "$(tail -n 1 "$1")" "$2" | tail -n 1)
    br_seen=${br_seen%%:*}
    sed "1,${br_seen:-0}d" "$2" 2>/dev/null || cat "$2"
}

br_guard_log() { # PATTERN WORD
    br_found=$(grep -E -e "$1" "$BR_TMP/log.new" 2>/dev/null | head -n 1 | tr -cd '\040-\176' |
        cut -c 1-160)
    [ -z "$br_found" ] || br_blame void "$2: $br_found"
}
