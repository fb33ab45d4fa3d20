#!/bin/sh
# benchrack: playbook health-check, compiled for one run.
# By hand: sh THIS_FILE. It makes a folder for its results and says where it is.

if [ -n "${BASH_VERSION:-}" ]; then set -o posix; fi
BR_RUN=0123456789abcdef0123456789abcdef
BR_CPUS=1
BR_ON_MISSING=skipped
P_host='elan'
P_kernel='2.6.1-preempt'
P_repeat='3'
P_run='0123456789abcdef0123456789abcdef'
export P_host P_kernel P_repeat P_run

# [base.sh]

# [steps.sh]

# [background.sh]

# [requires.sh]

# [guard.sh]

br_write_texts() {
cat >"$BR_TMP/facts.sh" <<'END_OF_TEXT'
# [facts.sh]
END_OF_TEXT
cat >"$BR_TMP/text.run.disk" <<'END_OF_TEXT'
df -k "$P_workdir"
END_OF_TEXT
cat >"$BR_TMP/text.run.dmesg" <<'END_OF_TEXT'
dmesg | tail -c 65536
END_OF_TEXT
cat >"$BR_TMP/text.run.leftovers" <<'END_OF_TEXT'
for p in /proc/[0-9]*; do
  { tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep '^BENCHRACK_RUN=' |
    grep -qvxF "BENCHRACK_RUN=$BENCHRACK_RUN" || continue
  printf '%s\n' "${p#/proc/}"
done
END_OF_TEXT
}

br_remarks() {
    :
}

br_requirements() {
    br_need_memory 1024 '1024 KiB' || return 1
    br_need_space 256 '256 KiB' || return 1
}

br_do_0() { # run.disk
    exec sh "$BR_TMP/text.run.disk"
}

br_do_1() { # run.load
    exec 'cat' '/proc/loadavg'
}

br_do_2() { # run.memory
    exec 'cat' '/proc/meminfo'
}

br_do_3() { # run.dmesg
    exec sh "$BR_TMP/text.run.dmesg"
}

br_do_4() { # run.leftovers
    exec sh "$BR_TMP/text.run.leftovers"
}

br_do_5() { # run.epoch
    exec 'date' '-u' '+%s'
}

br_stage_check() {
    :
}

br_stage_prepare() {
    :
}

br_stage_run() {
    br_step run.disk 10 8192 '0' br_do_0 || return 1
    br_step run.load 10 8192 '0' br_do_1 || return 1
    br_step run.memory 10 8192 '0' br_do_2 || return 1
    if ! br_skip run.dmesg 'dmesg'; then
        br_step run.dmesg 10 8192 '0' br_do_3 || return 1
    fi
    br_step run.leftovers 20 8192 '0' br_do_4 || return 1
    br_step run.epoch 10 8192 '0' br_do_5 || return 1
}

br_stage_collect() {
    :
}

br_stage_cleanup() {
    :
}

br_stages() {
    br_stage check 60 0 'timeout exit' || return 1
    br_stage prepare 600 0 'timeout exit' || return 1
    br_measured=1
    br_guard_begin
    br_stage run 60 0 'timeout exit'
    br_end_running
    br_guard_end
    br_stage collect 120 0 'timeout exit'
}

BR_CLEANUP_S=60

# [main.sh]
