#!/bin/sh
# benchrack: playbook loopback-throughput, compiled for one run.
# By hand: sh THIS_FILE. It makes a folder for its results and says where it is.

if [ -n "${BASH_VERSION:-}" ]; then set -o posix; fi
BR_RUN=0123456789abcdef0123456789abcdef
BR_CPUS=1
BR_ON_MISSING=skipped
P_host='elan'
P_kernel='2.6.1-preempt'
P_repeat='3'
P_run='0123456789abcdef0123456789abcdef'
P_tool='iperf2'
P_streams='10'
P_seconds='5'
P_port='25901'
export P_host P_kernel P_repeat P_run P_tool P_streams P_seconds P_port

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
    br_need_memory 8192 '8192 KiB' || return 1
    br_need_exec || return 1
    br_need_tool 'iperf' '2.0.2' '--version' || return 1
}

br_do_0() { # run.iperf2-server
    exec 'iperf' '-s' '-B' '127.0.0.1' '-p' '25901'
}

br_do_1() { # run.iperf2
    exec 'iperf' '-c' '127.0.0.1' '-p' '25901' '-P' '10' '-t' '5' '-f' 'm'
}

br_stage_check() {
    :
}

br_stage_prepare() {
    :
}

br_stage_run() {
    br_port_free run.iperf2-server 25901 652D || return 1
    br_launch run.iperf2-server 999999999 8192 '0' br_do_0
    br_ready run.iperf2-server 10 port 652D || return 1
    br_step run.iperf2 999999999 512 '0' br_do_1 || return 1
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
    br_monitor stat before '/proc/stat' '/proc/net/snmp'
    br_stage run 68 0 'timeout exit'
    br_monitor stat after '/proc/stat' '/proc/net/snmp'
    br_end_running
    br_guard_end kernel-oops clock-jump
    br_stage collect 120 0 'timeout exit'
}

BR_CLEANUP_S=60

# [main.sh]
