# ---- the wrapper: executes the script of a run, detached from whoever started it

detach() { # COMMAND...: in the background, in a session of its own where the host can do that
    if command -v setsid >/dev/null; then set -- setsid "$@"; fi
    "$@" </dev/null &
}

# Of any number of wrappers the one that makes `pid` goes on. Without rc the run has died, and reap
# sees to what is left.
execute() { # ATTEND MAX_S
    identify
    put_new "$dir/pid" "$me" || exit
    if [ "$1" = 0 ]; then
        get "$dir/starter"
        within 60 has_ended "$value"
        sleep 1
    fi
    [ ! -e "$dir/killed" ] || exit
    journal begin
    supervise "$2"
    end_run && [ ! -e "$dir/killed" ] || exit
    [ ! -e "$dir/late" ] || code=124
    undo 60 || exit
    journal end "$code"
    # what is more than a lab takes home is not sent: the run says that it was too much
    # shellcheck disable=SC2046 # words: size, folder
    set -- $(du -sk "$dir/out")
    x_kib=$1
    set -- "$dir"/out/*
    if above "$x_kib" 131072 || [ $# -gt 390 ]; then
        code=125
        mv "$dir/out" "$dir/much"
        mkdir "$dir/out"
    fi
    # shellcheck disable=SC2086 # paths made of checked words
    list_streams && flush $streams && replace "$dir/rc" "$code"
}

# Executes the script, sets code. The watchdog is one sleep, which carries the marker and so ends
# with the run.
supervise() { # MAX_S
    (
        cd "$dir/work" || exit
        export BENCHRACK_RUN="$RUN" TZ=UTC TERM=dumb
        exec /bin/sh "$dir/script" >>"$dir/console" 2>&1
    ) &
    x_pid=$!
    (
        BENCHRACK_RUN="$RUN" sleep "$1" || exit
        touch "$dir/late"
        end_run
    ) &
    wait $x_pid
    code=$?
}

# What the run changed on this host is put back by whoever finds it ended; without the marker, so
# that services which it starts again live on.
undo() { # SECONDS
    [ -f "$dir/undo.sh" ] || return 0
    [ $state != rebooted ] || export BENCHRACK_REBOOTED=1
    detach /bin/sh "$dir/undo.sh" >>"$dir/console" 2>&1
    x_pid=$!
    stat_of $x_pid
    within "$1" has_ended "$x_pid.$p_start.$boot" || kill -s KILL $x_pid
    wait $x_pid || [ $state = rebooted ] || return
    mv -f "$dir/undo.sh" "$dir/undone.sh"
}

# writes the manifest: name, size and checksum of each stream; sets streams to what to flush
list_streams() {
    streams=$dir/manifest
    for x_path in "$dir/console" "$dir"/out/*; do
        x_name=${x_path##*/}
        if [ -f "$x_path" ] && [ ! -h "$x_path" ] && is_name "$x_name"; then
            streams="$streams $x_path"
            x_size=$(wc -c <"$x_path")
            echo "$x_name $((x_size)) $checksum $(digest <"$x_path")" || return
        fi
    done >"$dir/manifest"
}

# the checksum of standard input
digest() {
    set -- "$("$checksum")"
    printf '%s' "${1%% *}"
}
