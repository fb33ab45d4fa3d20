#!/bin/sh
# benchrack: playbook sched-latency-idle, compiled for one run.
# By hand: sh THIS_FILE. It makes a folder for its results and says where it is.

if [ -n "${BASH_VERSION:-}" ]; then set -o posix; fi
BR_RUN=0123456789abcdef0123456789abcdef
BR_CPUS=1
BR_ON_MISSING=skipped
P_host='elan'
P_kernel='2.6.1-preempt'
P_repeat='3'
P_run='0123456789abcdef0123456789abcdef'
P_method='timer_abs'
P_samples='500'
P_interval_us='1000'
P_policy='auto'
P_prio='80'
export P_host P_kernel P_repeat P_run P_method P_samples P_interval_us P_policy P_prio

# [base.sh]

# [steps.sh]

# [background.sh]

# [requires.sh]

# [guard.sh]

br_write_texts() {
cat >"$BR_TMP/facts.sh" <<'END_OF_TEXT'
# [facts.sh]
END_OF_TEXT
}

br_remarks() {
    :
}

br_requirements() {
    br_need_root better || return 1
    br_need_memory 2048 '2048 KiB' || return 1
    br_need_space 1024 '1024 KiB' || return 1
    br_need_exec || return 1
    br_need_tool 'rackprobe' '' '--version' || return 1
}

br_do_0() { # check.clocksource
    exec 'cat' '/sys/devices/system/clocksource/clocksource0/current_clocksource'
}

br_do_1() { # run.probe
    exec $BR_ROOT env BENCHRACK_DIR="$BENCHRACK_DIR" BENCHRACK_RUN="$BENCHRACK_RUN" BENCHRACK_STEP="$BENCHRACK_STEP" PATH="$PATH" LC_ALL="$LC_ALL" TZ="$TZ" TERM="$TERM" P_host="$P_host" P_kernel="$P_kernel" P_repeat="$P_repeat" P_run="$P_run" P_method="$P_method" P_samples="$P_samples" P_interval_us="$P_interval_us" P_policy="$P_policy" P_prio="$P_prio" P_workdir="$P_workdir" P_cpus="$P_cpus" 'rackprobe' 'latency' '--method' 'timer_abs' '--samples' '500' '--period' '1000' '--policy' 'auto' '--prio' '80' '--raw' 'delta' '--nonce' '0123456789abcdef0123456789abcdef'
}

br_stage_check() {
    br_step check.clocksource 999999999 8192 '0 1' br_do_0 || return 1
}

br_stage_prepare() {
    :
}

br_stage_run() {
    br_step run.probe 999999999 4096 '0 void:6' br_do_1 || return 1
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
    br_guard_begin kernel-oops clock-jump
    br_monitor irqs before '/proc/interrupts'
    br_monitor stat before '/proc/stat' '/proc/loadavg'
    br_stage run 61 0 'timeout exit'
    br_monitor irqs after '/proc/interrupts'
    br_monitor stat after '/proc/stat' '/proc/loadavg'
    br_end_running
    br_guard_end kernel-oops clock-jump
    br_stage collect 120 0 'timeout exit'
}

BR_CLEANUP_S=60

# [main.sh]
