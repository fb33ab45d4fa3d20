# ---- the guard: one call at a time decides

# Its holders stand in a log: guard/N carries PID.START.BOOT, the newest counts, and no longer when
# it is dead. Who makes N+1 has the guard, so however many find a dead holder, one follows it.
newest() {
    number=0
    for g_file in "$BASE"/guard/*; do
        g_file=${g_file##*/}
        if are_decimal "$g_file" && [ "$g_file" -gt "$number" ]; then number=$g_file; fi
    done
    get "$BASE/guard/$number"
}

seize() {
    newest
    has_ended "$value" || return
    g_mine=$((number + 1))
    identify
    put_new "$BASE/guard/$g_mine" "$me" || return
    newest
    [ "$number" = "$g_mine" ] && return
    # we were late: what made this number free came after what we saw
    rm -f "$BASE/guard/$g_mine"
    return 1
}

enter() {
    within 20 seize || refuse "$BASE cannot be written, or another call is at work: process ${value%%.*}"
    for g_file in "$BASE"/guard/*; do
        [ "${g_file##*/}" = "$g_mine" ] || rm -f "$g_file"
    done
    look
}

leave() { put_new "$BASE/guard/$((g_mine + 1))" free && rm -f "$BASE/guard/$g_mine"; }

# ---- lock, fence and folder of a run

is_mine() { # whether this very owner holds the lock
    case $owner in "$LAB.$RUN.$ATTEMPT.$FENCE."*) ;; *) false ;; esac
}

is_foreign() { [ -n "$owner" ] && ! is_mine; }

# sets owner, mark (the fence), rc, and state of the run: absent, unless this very owner holds the lock
look() {
    get "$BASE/active"
    owner=$value
    [ -n "$owner" ] || [ ! -e "$BASE/active" ] || owner=unreadable
    get "$BASE/fence.$LAB"
    mark=${value:-0} rc='' state=absent
    { is_mine && [ -d "$dir" ]; } || return 0
    get "$dir/pid"
    if [ -z "$value" ]; then
        state=prepared
        [ ! -e "$dir/killed" ] || state=died
        [ "${owner##*.}" = "$boot" ] || state=rebooted
    elif [ "${value##*.}" != "$boot" ]; then
        state=rebooted
    elif is_alive "$value"; then
        state=running
    else
        state=died
    fi
    # last, since the wrapper may have written it and ended just now
    get "$dir/rc"
    [ -z "$value" ] || rc=$value state="done"
}

# Takes lock, folder and fence, in this order; a purge takes the folder away and leaves the fence.
# So a lock without a folder is a start cut short if its fence is above the mark, else a purge.
prepare() {
    is_mine || put_new "$BASE/active" "$LAB.$RUN.$ATTEMPT.$FENCE.$boot" || return
    owner=$LAB.$RUN.$ATTEMPT.$FENCE.$boot
    if [ $state = absent ]; then
        # without a lock it is nobody's
        [ ! -e "$dir" ] || mv "$dir" "$BASE/r/.gone.$NONCE.$$" || return
        l_new=$BASE/r/.new.$NONCE.$$
        mkdir "$l_new" "$l_new/out" "$l_new/work" && flush "$incoming" &&
            mv "$incoming" "$l_new/script" && mv "$l_new" "$dir" || return
    fi
    identify
    replace "$BASE/fence.$LAB" "$FENCE" && replace "$dir/starter" "$me"
}

# Forgets the run, and what calls left that were cut short. The lock goes last, so that this can be
# repeated too.
release() {
    case $(tail -n 1 "$BASE/log" 2>/dev/null) in
    *" begin $LAB $RUN $ATTEMPT $FENCE") journal end - ;;
    esac
    [ ! -d "$dir" ] || mv "$dir" "$BASE/r/.gone.$NONCE.$$"
    sweep
    if is_mine; then rm -f "$BASE/active"; fi
    owner=''
}

# Removes what calls left that were cut short. Their names end with the number of the process that
# writes them: one that lives is still at it.
sweep() {
    for l_file in "$BASE"/r/.[a-z]* "$BASE"/bin/.new.*; do
        l_pid=${l_file##*.}
        if [ "$l_pid" = $$ ] || [ ! -d "/proc/$l_pid" ]; then
            chmod -R u+rwx "$l_file" 2>/dev/null
            rm -rf "$l_file"
        fi
    done
}

# PATH VALUE: the file holds the old value or the new one, whole, after a power cut too
replace() {
    l_new=$BASE/r/.value.$NONCE.$$
    printf '%s\n' "$2" >"$l_new" && flush "$l_new" && mv -f "$l_new" "$1"
}

flush() { sync "$@" 2>/dev/null || sync; }

# begin | end RC: a line in the host's own log, which is kept short
journal() {
    read -r j_now _ </proc/uptime
    echo "$j_now $1 $LAB $RUN $ATTEMPT $FENCE${2:+ $2}" >>"$BASE/log"
    if [ "$(wc -c <"$BASE/log")" -gt 60000 ]; then
        tail -n 200 "$BASE/log" >"$BASE/r/.log.$NONCE" && mv -f "$BASE/r/.log.$NONCE" "$BASE/log"
    fi
}
