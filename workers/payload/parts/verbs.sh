# ---- answers of the verbs

answer() { # STATUS [SENTENCE]
    rm -f "$incoming"
    say boot "$boot"
    say fence "$mark"
    [ -z "$owner" ] || say owner "$owner"
    if [ "$1" = "done" ] && [ -n "$rc" ]; then
        say rc "$rc"
        while read -r a_line; do say stream "$a_line"; done <"$dir/manifest" ||
            set -- proto "the run was forgotten meanwhile"
    fi
    end_answer "$@"
}

refuse() { answer proto "$1"; }

turn_away() { # STATUS [SENTENCE]: what is still sent is taken, so that the channel ends in order
    cat >/dev/null
    answer "$@"
}

range() { tail -c "+$(($2 + 1))" "$1" 2>/dev/null | head -c "$3"; } # PATH OFFSET LENGTH

# NAME PATH OFFSET LENGTH: a range and its checksum; read thrice, since the disk may be full
send_range() {
    a_name=$1
    shift
    a_size=$(range "$@" | wc -c)
    echo "@@$NONCE chunk $a_name $2 $((a_size)) $checksum $(range "$@" | digest)"
    range "$@"
    echo
}

# ---- verbs without a run

verb_shelve() { # NAME ALGORITHM DIGEST
    is_name "$1" || refuse "that is no name of a file"
    case $2 in sha256sum | md5sum | cksum) checksum=$2 ;; *) refuse "that is no checksum" ;; esac
    incoming=$BASE/bin/.new.$NONCE.$$
    # executed from there, this very script is what is to be shelved
    { { [ "$0" = "$incoming" ] || cat >"$incoming"; } && chmod 755 "$incoming" && flush "$incoming"; } 2>/dev/null ||
        refuse "$BASE cannot be written or is full"
    [ "$(digest <"$incoming")" = "$3" ] || refuse "$1 was damaged on its way"
    mv -f "$incoming" "$BASE/bin/$1" || refuse "$BASE cannot be written or is full"
    answer "done"
}

verb_probe() {
    say_machine "$BASE"
    [ -z "$owner" ] || answer busy
    answer clean
}

verb_facts() { # NAME [ARGUMENT...]
    { is_name "$1" && [ -f "$BASE/bin/$1" ]; } || refuse "there are no such facts on the shelf"
    v_name=$1
    shift
    incoming=$BASE/r/.facts.$NONCE.$$
    (cd "$BASE" && exec /bin/sh "bin/$v_name" "$@") </dev/null >"$incoming" 2>/dev/null ||
        refuse "$v_name failed, or $BASE is full"
    send_range facts "$incoming" 0 1048576
    answer "done"
}

# ---- verbs of a run

# what start has to answer; nothing if it has something to do
settled() {
    if above "$mark" "$FENCE"; then
        echo stale
    elif is_foreign; then
        echo busy
    elif is_mine && [ $state != absent ]; then
        [ $state = prepared ] || echo $state
    elif [ "$mark" = "$FENCE" ]; then
        echo stale
    fi
}

verb_start() { # IF_BOOT ATTEND MAX_S NEED_KIB SIZE
    case $1 in '' | *[!A-Za-z0-9-]*) refuse "that is no boot id" ;; esac
    case $2 in 0 | 1) ;; *) refuse "ATTEND is 0 or 1" ;; esac
    { are_decimal "$3" "$4" "$5" && [ ${#3} -le 9 ]; } || refuse "MAX_S, NEED_KIB and SIZE are numbers"
    [ "$1" = "$boot" ] || turn_away otherboot
    v_status=$(settled)
    [ -z "$v_status" ] || turn_away "$v_status"
    v_free=$(free_kib)
    if are_decimal "$v_free" && above "$4" "$v_free"; then
        turn_away proto "$BASE has $v_free KiB free, the run needs $4"
    fi
    incoming=$BASE/r/.in.$NONCE.$$
    cat 2>/dev/null >"$incoming" || refuse "$BASE cannot be written or is full"
    v_size=$(wc -c <"$incoming")
    [ $((v_size)) = "$5" ] || refuse "the script broke off on its way"
    enter
    v_status=$(settled)
    [ -z "$v_status" ] || answer "$v_status"
    prepare || {
        release
        refuse "$BASE cannot be written or is full"
    }
    trap '' HUP
    detach sh "$0" "$NONCE" "$BASE" "$LAB" execute "$RUN" "$ATTEMPT" "$FENCE" "$2" "$3" >/dev/null 2>&1
    leave
    if [ "$2" = 1 ]; then wait $!; fi
    look
    [ $state != prepared ] || state=running
    answer $state
}

free_kib() {
    # shellcheck disable=SC2046 # words: ... free, percent, mount point
    set -- $(df -k "$BASE" | tail -n 1)
    while [ $# -gt 3 ]; do shift; done
    echo "$1"
}

verb_poll() {
    if [ $state = absent ] && above "$mark" "$FENCE"; then answer stale; fi
    answer $state
}

verb_fetch() {
    case $state in done) ;; prepared | running) turn_away running ;; *) turn_away absent ;; esac
    while read -r v_name v_offset v_length; do
        { is_name "$v_name" && are_decimal "$v_offset" "$v_length"; } || refuse "that is no range of a stream"
        v_path=$dir/out/$v_name
        [ "$v_name" != console ] || v_path=$dir/console
        send_range "$v_name" "$v_path" "$v_offset" "$v_length"
    done
    [ -f "$dir/rc" ] || refuse "the run was forgotten meanwhile"
    answer "done"
}

verb_kill() {
    case $state in absent | done) answer $state ;; esac
    touch "$dir/killed"
    end_run
    # shellcheck disable=SC2086 # pids
    say_left $found
    [ -z "$found" ] || answer unsure "processes of the run could not be ended"
    look
    case $state in absent | done) answer $state ;; *) answer died ;; esac
}

verb_reap() {
    # before all else: another attempt of the run, which may begin meanwhile, carries the same marker
    enter
    if is_foreign; then answer notowner; fi
    [ ! -d "$dir" ] || touch "$dir/killed"
    end_run
    # shellcheck disable=SC2086 # pids
    say_left $found $odd
    [ -z "$found$odd" ] || answer unsure "processes are left that are or may be of the run"
    undo 20 || answer unsure "undo.sh did not end well; $dir/console says why"
    # a start of this attempt that is still on its way comes too late for ever
    if above "$FENCE" "$mark"; then
        replace "$BASE/fence.$LAB" "$FENCE" || refuse "$BASE cannot be written or is full"
        mark=$FENCE
    fi
    release
    answer clean
}

verb_purge() {
    enter
    if is_foreign; then answer notowner; fi
    if [ $state != "done" ] && members; then answer running; fi
    release
    answer purged
}

# ---- NONCE BASE LAB VERB [RUN ATTEMPT FENCE] [ARGUMENT...]

main() {
    NONCE=$1 BASE=$2 LAB=$3 VERB=$4
    RUN='' ATTEMPT='' FENCE='' dir='' incoming='' owner='' mark=0 rc='' state=absent
    { is_hex "$NONCE" 16 && [ $# -ge 4 ]; } || exit 64
    know_machine
    is_folder "$BASE" || refuse "the base is no plain path"
    is_hex "$LAB" 32 || refuse "a lab is 32 hexadecimal digits"
    [ -d "$BASE/guard" ] || refuse "$BASE is not there; the host is to be met again"
    shift 4
    case $VERB in
    shelve | probe | facts) ;;
    start | poll | fetch | kill | reap | purge | execute)
        { is_hex "$1" 32 && are_decimal "$2" "$3"; } || refuse "RUN, ATTEMPT or FENCE is malformed"
        RUN=$1 ATTEMPT=$2 FENCE=$3 dir=$BASE/r/$1.$2
        export BENCHRACK_DIR="$dir" BENCHRACK_OUT="$dir/out" BENCHRACK_BIN="$BASE/bin"
        shift 3
        ;;
    *) refuse "that is no verb" ;;
    esac
    look
    case $VERB in execute) "$VERB" "$@" ;; *) "verb_$VERB" "$@" ;; esac
}

main "$@"
