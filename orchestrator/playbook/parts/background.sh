# ---- background steps: started, waited for until ready, stopped when the run stage has ended.

br_listens() { # PORT_IN_HEX: whether something listens there
    grep -qi "^ *[0-9]*: [0-9A-F]*:$1 [0-9A-F:]* 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

br_listener() { # PORT_IN_HEX: a clause that names who listens, where that can be seen
    br_inode=$(grep -hi "^ *[0-9]*: [0-9A-F]*:$1 [0-9A-F:]* 0A " /proc/net/tcp /proc/net/tcp6 \
        2>/dev/null | sed 's/^ *//' | tr -s ' ' | cut -d ' ' -f 10 | head -n 1)
    for br_one in /proc/[0-9]*; do
        if ls -l "$br_one/fd" 2>/dev/null | grep -q "socket:\[$br_inode\]"; then
            echo " by pid ${br_one#/proc/}"
            return
        fi
    done
}

br_port_free() { # STAGE.STEP PORT PORT_IN_HEX: never measure a foreign server
    br_listens "$3" || return 0
    br_failure=exit
    br_blame failed "port $2 is in use$(br_listener "$3"), before $1 was started"
    return 1
}

br_is_ready() { # STAGE.STEP port PORT_IN_HEX | STAGE.STEP output TEXT
    case $2 in
    port) br_listens "$3" ;;
    output) grep -qF -e "$3" "$BR_OUT/$1.out" "$BR_OUT/$1.err" 2>/dev/null ;;
    esac
}

br_ready() { # STAGE.STEP SECONDS port PORT_IN_HEX | STAGE.STEP SECONDS output TEXT
    br_now
    br_patience=$((br_sec + $2))
    until br_is_ready "$1" "$3" "$4"; do
        if read -r br_rc 2>/dev/null <"$BR_TMP/$1.rc"; then
            br_failure=exit
            br_blame failed "$1 ended with status $br_rc before it was ready$(br_said "$1")"
            return 1
        fi
        br_now
        if [ "$br_sec" -ge "$br_patience" ]; then
            br_failure=timeout
            br_blame failed "$1 was not ready within $2 s"
            return 1
        fi
        br_nap
    done
}

br_end_running() { # what is still executed, the last one first; fails if one had failed
    br_bad=0
    for br_id in $br_running; do
        read -r br_job br_dog br_begin br_seconds br_ok <"$BR_TMP/$br_id.job"
        br_how=
        if [ ! -s "$BR_TMP/$br_id.rc" ]; then
            br_how=stopped
            br_stop "$br_id" || br_note left "processes of $br_id could not be stopped"
        fi
        wait "$br_job" 2>/dev/null
        br_judge "$br_id" "$br_begin" "$br_seconds" "$br_ok" $br_how || br_bad=1
    done
    br_running=
    return "$br_bad"
}
