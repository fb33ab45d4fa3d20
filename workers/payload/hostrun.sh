#!/bin/sh
# hostrun.sh NONCE BASE LAB VERB [RUN ATTEMPT FENCE [ARGUMENT...]]
#
# The host's side of benchrack: one run at a time, each executed at most once, nothing left behind.
# docs/host-protocol.md says what each verb does and what stands where. Needs a POSIX shell, /proc
# and the applets of a small busybox.

export LC_ALL=C
umask 077
PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin

# ---------------------------------------------------------------- answers

# say KEY VALUE: a line of the answer; whatever could move a cursor is cut out of the value
say() {
    printf '@@%s %s=%s\n' "$NONCE" "$1" "$(printf '%s' "$2" | tr -d '\000-\037\177' | cut -c 1-400)"
}

# answer STATUS [SENTENCE]: the rest of the answer, and the end of this call
answer() {
    rm -f "$incoming"
    say status "$1"
    [ -z "$2" ] || say detail "$2"
    say boot "$boot"
    say fence "$mark"
    [ -z "$owner" ] || say owner "$owner"
    if [ "$1" = done ] && [ -n "$rc" ]; then
        say rc "$rc"
        while read -r line; do
            printf '@@%s stream=%s\n' "$NONCE" "$line"
        done <"$dir/manifest"
    fi
    printf '@@%s end\n' "$NONCE"
    exit 0
}

refuse() { answer proto "$1"; }

# drain: takes what the caller still sends, so that the channel ends in order
drain() { cat >/dev/null; }

# ---------------------------------------------------------------- arguments

is_hex() {
    case $1 in *[!0-9a-f]*) return 1 ;; esac
    [ ${#1} -eq "$2" ]
}

is_decimal() {
    case $1 in '' | *[!0-9]* | 0?*) return 1 ;; esac
    [ ${#1} -le 16 ]
}

# is_name WORD: a plain file name, never a path
is_name() {
    case $1 in '' | .* | *[!A-Za-z0-9._-]*) return 1 ;; esac
    [ ${#1} -le 100 ]
}

# above A B: whether decimal A > B, of any size; some shells count with 32 bits
above() {
    [ ${#1} -gt ${#2} ] || { [ ${#1} -eq ${#2} ] && expr "x$1" \> "x$2" >/dev/null; }
}

# ---------------------------------------------------------------- files

# put_new PATH VALUE: makes PATH carry VALUE, fails if PATH exists. A link has its value from the
# first moment on; where there are no links, a file made with O_EXCL is as exclusive.
put_new() {
    ln -sn "$2" "$1" 2>/dev/null && return
    (set -C && printf '%s\n' "$2" >"$1") 2>/dev/null
}

# get PATH: sets value to what put_new gave it, or to nothing
get() {
    value=
    if [ -h "$1" ]; then
        value=$(ls -ln "$1" 2>/dev/null)
        value=${value##* -> }
    elif [ -f "$1" ]; then
        read -r value <"$1"
    fi
}

# replace PATH VALUE: PATH holds the old value or the new one, whole, also after a power cut
replace() {
    printf '%s\n' "$2" >"$1.$NONCE" && flush "$1.$NONCE" && mv -f "$1.$NONCE" "$1"
}

flush() { sync "$@" 2>/dev/null || sync; }

# digest: the checksum of standard input
digest() {
    set -- "$("$checksum")"
    printf '%s' "${1%% *}"
}

# ---------------------------------------------------------------- processes

# seconds since boot, whole
uptime_s() {
    read -r up _ </proc/uptime
    printf '%s' "${up%%.*}"
}

nap() { sleep 0.1 2>/dev/null || sleep 1; }

# stat_of PID: sets p_state p_parent p_group p_session p_start; fails if there is no such process.
# The name stands in parentheses and may hold anything, also parentheses and newlines.
stat_of() {
    text=
    { while IFS= read -r line || [ -n "$line" ]; do text="$text $line"; done <"/proc/$1/stat"; } 2>/dev/null
    [ -n "$text" ] || return 1
    # shellcheck disable=SC2086 # numbers, to be split
    set -- ${text##*) }
    p_state=$1 p_parent=$2 p_group=$3 p_session=$4
    shift 19
    p_start=$1
}

# whoami_pid: sets self, right in subshells too, where $$ is not
whoami_pid() { read -r self _ </proc/self/stat; }

# alive PID.START.BOOT: whether exactly this process lives; a number used again is another process
alive() {
    a_rest=${1#*.}
    [ "${a_rest#*.}" = "$boot" ] && stat_of "${1%%.*}" || return 1
    case $p_state in Z | X) return 1 ;; esac
    [ "$p_start" = "${a_rest%%.*}" ]
}

# spare: sets spared to this process and its ancestors, which no scan may find
spare() {
    whoami_pid
    spared=" "
    s_pid=$self
    while [ "$s_pid" -gt 1 ] && stat_of "$s_pid"; do
        spared="$spared$s_pid "
        s_pid=$p_parent
    done
}

# unreadable PID: a process of our user, started since the run was, without known parents, whose
# environment we may not see
unreadable() {
    [ -n "$leader" ] && [ "$p_parent" = 1 ] && ! [ -r "/proc/$1/environ" ] || return 1
    above "$p_start" "$leader_start" || return 1
    while read -r key real effective _; do
        [ "$key" != Uid: ] || break
    done <"/proc/$1/status"
    [ "$real" = "$uid" ] || [ "$effective" = "$uid" ]
} 2>/dev/null

# members: sets found to the living processes of the run, odd to those that may be of it; fails if
# none is found. They carry the marker, or have the group or session that the wrapper leads.
members() {
    spare
    get "$dir/pid"
    leader=${value%%.*}
    leader_start=${value#*.}
    # shellcheck disable=SC2295 # a boot id holds no pattern
    case $leader_start in *".$boot") leader_start=${leader_start%.$boot} ;; *) leader= ;; esac
    # the number is another process by now, and so are its group and session
    if [ -n "$leader" ] && stat_of "$leader" && [ "$p_start" != "$leader_start" ]; then leader=; fi
    marked=" "
    for m_file in $(grep -l -F -e "BENCHRACK_RUN=$RUN" /proc/[0-9]*/environ 2>/dev/null); do
        m_file=${m_file#/proc/}
        marked="$marked${m_file%/*} "
    done
    found= odd=
    for m_file in /proc/[0-9]*; do
        m_pid=${m_file#/proc/}
        case $spared in *" $m_pid "*) continue ;; esac
        stat_of "$m_pid" || continue
        case $p_state in Z | X) continue ;; esac
        case $marked in *" $m_pid "*) found="$found $m_pid" && continue ;; esac
        if [ -n "$leader" ] && { [ "$p_group" = "$leader" ] || [ "$p_session" = "$leader" ] || [ "$m_pid" = "$leader" ]; }; then
            found="$found $m_pid"
        elif unreadable "$m_pid"; then
            odd="$odd $m_pid"
        fi
    done
    [ -n "$found" ]
}

# end_run: ends all of the run; fails if something is left. The wrapper is not asked to end: it
# sees its script end.
end_run() {
    members || return 0
    for e_pid in $found; do
        [ "$e_pid" = "$leader" ] || kill -s TERM "$e_pid" 2>/dev/null
    done
    e_until=$(($(uptime_s) + 3))
    while members && [ "$(uptime_s)" -lt $e_until ]; do nap; done
    e_until=$((e_until + 5))
    while [ -n "$found" ]; do
        for e_pid in $found; do kill -s KILL "$e_pid" 2>/dev/null; done
        members || return 0
        [ "$(uptime_s)" -lt $e_until ] || return 1
        nap
    done
}

# say_left PID...: a line of the answer for each
say_left() {
    for l_pid in "$@"; do
        say left "$l_pid $(tr '\000' ' ' <"/proc/$l_pid/cmdline" 2>/dev/null)"
    done
}

# ---------------------------------------------------------------- guard, lock, fence

# The guard lets one call at a time decide. Its holders stand in a log: guard/N carries
# PID.START.BOOT, the newest counts, one that is dead counts no longer. Who makes N+1 has the
# guard: however many find a dead holder, one of them follows it.
newest() {
    number=0
    for g_file in "$BASE"/guard/*; do
        g_file=${g_file##*/}
        if is_decimal "$g_file" && [ "$g_file" -gt "$number" ]; then number=$g_file; fi
    done
    get "$BASE/guard/$number"
}

enter() {
    whoami_pid
    stat_of "$self"
    g_me=$self.$p_start.$boot
    g_until=$(($(uptime_s) + 20))
    while newest; do
        g_next=$((number + 1))
        if alive "$value"; then
            [ "$(uptime_s)" -lt $g_until ] || refuse "another call is at work on this host, process ${value%%.*}"
            nap
        elif put_new "$BASE/guard/$g_next" "$g_me"; then
            newest
            [ "$number" != $g_next ] || break
            rm -f "$BASE/guard/$g_next"
        else
            newest
            [ "$number" -ge $g_next ] || refuse "$BASE cannot be written"
        fi
    done
    for g_file in "$BASE"/guard/*; do
        [ "${g_file##*/}" = $g_next ] || rm -f "$g_file"
    done
}

leave() {
    put_new "$BASE/guard/$((g_next + 1))" free
    rm -f "$BASE/guard/$g_next"
}

# mine: whether the lock is held by exactly this owner
mine() {
    case $owner in "$LAB.$RUN.$ATTEMPT.$FENCE."*) return 0 ;; *) return 1 ;; esac
}

# look: sets owner, mark (the fence), state of the run and rc
look() {
    get "$BASE/active"
    owner=$value
    mark=0 rc=
    [ ! -f "$BASE/fence.$LAB" ] || read -r mark <"$BASE/fence.$LAB"
    state=absent
    [ -d "$dir" ] || return 0
    get "$dir/pid"
    if [ -z "$value" ]; then
        state=prepared
        [ ! -e "$dir/killed" ] || state=died
        if mine && [ "${owner##*.}" != "$boot" ]; then state=rebooted; fi
    elif [ "${value##*.}" != "$boot" ]; then
        state=rebooted
    elif alive "$value"; then
        state=running
    else
        state=died
    fi
    # last: the wrapper may have written it and ended just now
    if [ -f "$dir/rc" ]; then
        read -r rc <"$dir/rc"
        state=done
    fi
}

# release: forgets the run. The lock goes last: a call cut short anywhere can be repeated.
release() {
    if [ -d "$dir" ]; then mv "$dir" "$BASE/r/.gone.$NONCE"; fi
    chmod -R u+rwx "$BASE"/r/.[a-z]* 2>/dev/null
    rm -rf "$BASE"/r/.[a-z]* 2>/dev/null
    if mine; then rm -f "$BASE/active"; fi
    owner=
}

# ---------------------------------------------------------------- the run itself

# journal WORD...: a line of the host's own log, which is kept short
journal() {
    read -r up _ </proc/uptime
    printf '%s %s %s %s %s %s\n' "$up" "$1" "$LAB" "$RUN" "$ATTEMPT" "$FENCE${2:+ $2}" >>"$BASE/log"
    if [ "$(wc -c <"$BASE/log")" -gt 60000 ]; then
        tail -n 200 "$BASE/log" >"$BASE/log.$NONCE" && mv -f "$BASE/log.$NONCE" "$BASE/log"
    fi
}

# launch: starts the wrapper in a session of its own, if the host can do that
launch() {
    stat_of $$
    replace "$dir/starter" "$$.$p_start.$boot"
    trap '' HUP
    set -- sh "$0" "$NONCE" "$BASE" "$LAB" execute "$RUN" "$ATTEMPT" "$FENCE" "$ATTEND" "$MAX_S"
    if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"; fi
    "$@" </dev/null >>"$dir/console" 2>&1 &
}

# execute: the wrapper. Of any number of them the one that makes `pid` goes on.
execute() {
    stat_of $$
    put_new "$dir/pid" "$$.$p_start.$boot" || exit 0
    [ "$ATTEND" = 1 ] || await_quiet
    [ ! -e "$dir/killed" ] || exit 0
    journal begin
    supervise
    end_run || exit 1
    [ ! -e "$dir/killed" ] || exit 0
    [ ! -e "$dir/late" ] || code=124
    undo 60
    journal end "$code"
    # shellcheck disable=SC2086 # the names are checked words
    make_manifest && flush "$dir/manifest" "$dir/console" $streams && replace "$dir/rc" "$code"
}

# await_quiet: until the connection that started the run is no longer at work, and a second more
await_quiet() {
    get "$dir/starter"
    q_starter=$value
    q_until=$(($(uptime_s) + 60))
    while alive "$q_starter" && [ "$(uptime_s)" -lt $q_until ]; do sleep 1; done
    sleep 1
}

# supervise: runs the script, sets code. The watchdog is one sleep, which ends with the run because
# it carries the marker too.
supervise() {
    (
        cd "$dir/work" || exit 1
        export BENCHRACK_RUN="$RUN" BENCHRACK_DIR="$dir" BENCHRACK_OUT="$dir/out" BENCHRACK_BIN="$BASE/bin" TZ=UTC TERM=dumb
        exec /bin/sh "$dir/script"
    ) &
    script=$!
    (
        BENCHRACK_RUN="$RUN" sleep "$MAX_S" || exit
        : >"$dir/late"
        end_run
    ) &
    wait "$script"
    code=$?
}

# undo SECONDS: what the run changed on this host is put back, by whoever finds it ended; without
# the marker, so that services it starts again live on
undo() {
    [ -f "$dir/undo.sh" ] || return 0
    set -- "$1" /bin/sh "$dir/undo.sh"
    u_until=$(($(uptime_s) + $1))
    shift
    if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"; fi
    u_boot=
    case $state in rebooted) u_boot=1 ;; esac
    BENCHRACK_DIR="$dir" BENCHRACK_BIN="$BASE/bin" BENCHRACK_REBOOTED=$u_boot "$@" </dev/null >>"$dir/console" 2>&1 &
    u_pid=$!
    stat_of $u_pid
    u_alive=$u_pid.$p_start.$boot
    while alive "$u_alive"; do
        if [ "$(uptime_s)" -ge $u_until ]; then kill -s KILL $u_pid; fi
        nap
    done
    wait $u_pid || [ -n "$u_boot" ] || return 1
    mv -f "$dir/undo.sh" "$dir/undone.sh"
}

# make_manifest: name, size and checksum of each stream; sets streams to their paths
make_manifest() {
    streams=
    : >"$dir/manifest.new"
    for f_path in "$dir/console" "$dir"/out/*; do
        f_name=${f_path##*/}
        if [ -f "$f_path" ] && [ ! -h "$f_path" ] && is_name "$f_name"; then
            streams="$streams $f_path"
            f_size=$(wc -c <"$f_path")
            printf '%s %s %s %s\n' "$f_name" $((f_size)) "$checksum" "$(digest <"$f_path")" >>"$dir/manifest.new" || return
        fi
    done
    mv -f "$dir/manifest.new" "$dir/manifest"
}

# ---------------------------------------------------------------- verbs

verb_shelve() {
    is_name "$1" || refuse "that is no name of a file"
    case $2 in sha256sum | md5sum | cksum) ;; *) refuse "that is no checksum" ;; esac
    s_new=$BASE/bin/.new.$NONCE
    [ "$0" = "$s_new" ] || cat >"$s_new" || refuse "$BASE/bin cannot be written or is full"
    checksum=$2
    if [ "$(digest <"$s_new")" != "$3" ]; then
        rm -f "$s_new"
        refuse "$1 was damaged on its way"
    fi
    chmod 755 "$s_new" && flush "$s_new" && mv -f "$s_new" "$BASE/bin/$1" || refuse "$BASE/bin cannot be written"
    answer done
}

verb_probe() {
    get "$BASE/instance"
    say instance "$value"
    for p_file in /etc/machine-id /var/lib/dbus/machine-id; do
        get "$p_file"
        if is_hex "$value" 32; then
            say machine "$value"
            break
        fi
    done
    say uid "$uid"
    say base "$BASE"
    say checksum "$checksum"
    if [ -n "$owner" ]; then answer busy; fi
    answer clean
}

verb_facts() {
    is_name "$1" && [ -f "$BASE/bin/$1" ] || refuse "$1 is not in $BASE/bin"
    incoming=$BASE/r/.facts.$NONCE
    /bin/sh "$BASE/bin/$1" </dev/null >"$incoming" 2>/dev/null || refuse "the facts were not read to the end"
    send facts "$incoming" 0 1048576
    answer done
}

# send NAME PATH OFFSET LENGTH: a range of a file, with its checksum; no copy, the disk may be full
send() {
    c_size=$(range "$2" "$3" "$4" | wc -c)
    printf '@@%s chunk %s %s %s %s %s\n' "$NONCE" "$1" "$3" $((c_size)) "$checksum" "$(range "$2" "$3" "$4" | digest)"
    range "$2" "$3" "$4"
    echo
}

range() { tail -c +$(($2 + 1)) "$1" 2>/dev/null | head -c "$3"; }

verb_fetch() {
    case $state in
        done) ;;
        running | prepared) drain && answer running ;;
        *) drain && answer absent ;;
    esac
    while read -r c_name c_offset c_length; do
        is_name "$c_name" && is_decimal "$c_offset" && is_decimal "$c_length" || refuse "that is no range of a stream"
        c_path=$dir/out/$c_name
        [ "$c_name" != console ] || c_path=$dir/console
        send "$c_name" "$c_path" "$c_offset" "$c_length"
    done
    answer done
}

verb_poll() {
    if [ $state = absent ] && above "$mark" "$FENCE"; then answer stale; fi
    answer $state
}

# settle_start: answers, unless start has something to do
settle_start() {
    look
    if above "$mark" "$FENCE"; then s_word=stale
    elif mine && [ $state = prepared ]; then return
    elif mine && [ $state != absent ]; then s_word=$state
    elif [ -n "$owner" ] && ! mine; then s_word=busy
    elif [ "$mark" = "$FENCE" ]; then s_word=stale
    else return
    fi
    [ -f "$incoming" ] || drain
    answer $s_word
}

verb_start() {
    ATTEND=$2 MAX_S=$3
    case $1 in '' | *[!A-Za-z0-9-]*) refuse "that is no boot id" ;; esac
    case $ATTEND in 0 | 1) ;; *) refuse "ATTEND is 0 or 1" ;; esac
    is_decimal "$MAX_S" && is_decimal "$4" && is_decimal "${5:-0}" || refuse "MAX_S, NEED_KIB and SIZE are numbers"
    if [ "$1" != "$boot" ]; then
        drain
        answer otherboot
    fi
    settle_start
    s_free=$(free_kib)
    if is_decimal "$s_free" && above "$4" "$s_free"; then
        drain
        refuse "$BASE has $s_free KiB free, the run needs $4"
    fi
    incoming=$BASE/r/.in.$NONCE
    cat >"$incoming" 2>/dev/null || refuse "$BASE cannot be written or is full"
    s_size=$(wc -c <"$incoming")
    [ -z "$5" ] || [ $((s_size)) = "$5" ] || refuse "the script broke off on its way"
    enter
    settle_start
    prepare || {
        release
        refuse "$BASE cannot be written or is full"
    }
    launch
    leave
    if [ "$ATTEND" = 1 ]; then wait $!; fi
    look
    [ $state != prepared ] || state=running
    answer $state
}

# prepare: lock, folder, fence, in this order. A purge takes the folder first and leaves the fence:
# so a lock without a folder below its fence is a start cut short, at its fence a purge cut short.
prepare() {
    mine || put_new "$BASE/active" "$LAB.$RUN.$ATTEMPT.$FENCE.$boot" || return
    owner=$LAB.$RUN.$ATTEMPT.$FENCE.$boot
    if [ $state = absent ]; then
        s_new=$BASE/r/.new.$NONCE
        mkdir "$s_new" "$s_new/out" "$s_new/work" && flush "$incoming" &&
            mv "$incoming" "$s_new/script" && mv "$s_new" "$dir" || return
    fi
    replace "$BASE/fence.$LAB" "$FENCE"
}

free_kib() {
    # shellcheck disable=SC2046 # words: ... available, percent, mount point
    set -- $(df -k "$BASE" | tail -n 1)
    while [ $# -gt 3 ]; do shift; done
    printf '%s' "$1"
}

verb_kill() {
    case $state in absent | done) answer $state ;; esac
    : >"$dir/killed" 2>/dev/null
    if ! end_run; then
        # shellcheck disable=SC2086 # process ids
        say_left $found
        answer unsure
    fi
    look
    case $state in absent | done) answer $state ;; *) answer died ;; esac
}

verb_reap() {
    if [ -n "$owner" ] && ! mine; then answer notowner; fi
    [ ! -d "$dir" ] || : >"$dir/killed"
    end_run
    enter
    look
    if [ -n "$owner" ] && ! mine; then answer notowner; fi
    members
    if [ -n "$found$odd" ]; then
        # shellcheck disable=SC2086 # process ids
        say_left $found $odd
        answer unsure "processes are left that could not be ended or may be of the run"
    fi
    undo 20 || answer unsure "undo.sh did not end well, see $dir/console"
    if [ -h "$dir/pid" ] && [ $state != done ]; then journal end -; fi
    release
    answer clean
}

verb_purge() {
    enter
    look
    if [ -n "$owner" ] && ! mine; then answer notowner; fi
    if [ $state = running ]; then answer running; fi
    release
    answer purged
}

# ---------------------------------------------------------------- main

main() {
    NONCE=$1 BASE=$2 LAB=$3 VERB=$4
    RUN='' ATTEMPT='' FENCE='' dir='' incoming='' owner='' mark=0 rc='' boot=unknown state=absent
    is_hex "$NONCE" 16 || { echo "hostrun.sh: the first argument is 16 hexadecimal digits" >&2 && exit 64; }
    case $BASE in [!/]* | '' | *[!A-Za-z0-9_./-]* | */../* | */..) refuse "the base is no plain path" ;; esac
    is_hex "$LAB" 32 || refuse "the lab is 32 hexadecimal digits"
    [ -d "$BASE/r" ] && [ -d "$BASE/bin" ] && [ -d "$BASE/guard" ] || refuse "$BASE is not there; meet the host again"
    get_boot
    uid=$(id -u)
    for checksum in sha256sum md5sum cksum; do
        ! command -v $checksum >/dev/null 2>&1 || break
    done
    shift 4
    case $VERB in
        start | poll | fetch | kill | reap | purge | execute)
            RUN=$1 ATTEMPT=$2 FENCE=$3
            is_hex "$RUN" 32 && is_decimal "$ATTEMPT" && is_decimal "$FENCE" || refuse "RUN, ATTEMPT or FENCE is malformed"
            dir=$BASE/r/$RUN.$ATTEMPT
            shift 3
            ;;
        shelve | probe | facts) ;;
        *) refuse "no such verb" ;;
    esac
    if [ "$VERB" = execute ]; then
        ATTEND=$1 MAX_S=$2
        execute
        exit
    fi
    look
    "verb_$VERB" "$@"
}

# get_boot: sets boot; never the wall clock
get_boot() {
    read -r boot </proc/sys/kernel/random/boot_id || boot=unknown
} 2>/dev/null

main "$@"
