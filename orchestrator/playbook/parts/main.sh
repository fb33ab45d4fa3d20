# ---- main: the stages in order; cleanup whatever happens.

br_facts() { # full|short STREAM
    sh "$BR_TMP/facts.sh" "$1" "$BR_WORK" >"$BR_OUT/$2" </dev/null 2>/dev/null
}

br_stage() { # NAME SECONDS RETRIES RETRY_ON
    br_stage=$1
    br_now
    br_record "stage $1 begin $br_up"
    br_tries=0
    while :; do
        br_now
        br_deadline=$((br_sec + $2)) br_failure=''
        "br_stage_$1" && break
        case " $4 " in
        *" $br_failure "*) ;;
        *) break ;;
        esac
        [ "$br_tries" -lt "$3" ] || break
        br_tries=$((br_tries + 1))
        br_note retried "stage $1 is tried again: $br_reason"
        br_outcome='' br_reason=''
        br_end_running
        br_outcome='' br_reason=''
    done
    br_now
    br_record "stage $1 end $br_up"
    [ -z "$br_outcome" ]
}

br_leave() {
    trap - EXIT
    # caught, not ignored: what is started from here on still obeys
    trap : HUP INT TERM
    br_pending=''
    br_end_running
    [ -z "$br_measured" ] || br_facts short facts.after
    br_cleaning=1
    br_stage cleanup "$BR_CLEANUP_S" 0 ''
    br_stop || br_note left "processes of this run could not be stopped: $(br_pids)"
    if [ -z "$br_finished" ] && [ -z "$br_outcome" ]; then
        br_outcome=failed br_reason="the script ended early, in stage $br_stage"
    fi
    br_record "outcome ${br_outcome:=finished}"
    [ -z "$br_reason" ] || br_record "reason $br_reason"
    br_record end
    cd / && rm -rf "$BR_WORK"
    [ -z "$br_by_hand" ] || echo "$br_outcome${br_reason:+: $br_reason}; results are in $BR_OUT"
    [ "$br_outcome" = finished ] || exit 1
    exit 0
}

br_interrupted() {
    if [ -n "$br_launching" ]; then
        br_pending=1
        return
    fi
    br_blame void "the script was stopped by a signal in stage $br_stage"
    exit 1
}

br_main() {
    br_setup
    br_stage=facts br_measured='' br_finished=''
    : >"$BR_OUT/result"
    trap br_leave EXIT
    trap br_interrupted HUP INT TERM
    br_record 'benchrack 1'
    br_write_texts
    # the full list is read once a boot, by a probe
    br_facts short facts.before
    br_remarks
    br_requirements || exit
    br_stages || exit
    br_finished=1
    exit
}

br_main </dev/null
