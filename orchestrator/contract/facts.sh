# facts.sh full|short [FOLDER]: what can be read about this machine and its boot.
#
# Only copies files between markers; whoever reads it interprets. POSIX sh and the applets of a
# small busybox. Run it as a child or in a subshell: it sets options, variables and functions.
# FOLDER is where runs keep their files (free space); BENCHRACK_DIR or the current folder else.
#
# Format: for each fact one line
#     @@FACTS NAME STATUS
# then its content, then one newline. STATUS is `ok`, or `cut N` (the content had N bytes and only
# the first are there), or the text of the error (`No such file or directory`), with no content.
# Trailing newlines of a content are not kept, so a file without a final newline reads the same.
# The last line is `@@FACTS end ok`; without it the output is incomplete.
# In a *group* each line is `PATH:LINE`, or `grep: PATH: ERROR`; in a *tally* `COUNT FILE:LINE`.
# A missing file is data, never a failure: the exit status is always 0.

set +e +u
exec 2>/dev/null
LC_ALL=C
TZ=UTC
export LC_ALL TZ
facts_list=${1:-full}
facts_folder=${2:-${BENCHRACK_DIR:-.}}
facts_cpu=/sys/devices/system/cpu
facts_newline='
'

say() { # NAME TEXT [LIMIT]
    if [ ${#2} -gt "${3:-4096}" ]; then
        printf "@@FACTS %s cut %s\n%.${3:-4096}s\n" "$1" ${#2} "$2"
    else
        printf '@@FACTS %s ok\n%s\n' "$1" "$2"
    fi
}

missing() { # NAME ERROR: errno's text stands after the last `: `
    facts_text=${2##*: }
    facts_text=${facts_text%%"$facts_newline"*}
    printf '@@FACTS %s %.80s\n\n' "$1" "${facts_text:-failed}"
}

fact() { # NAME LIMIT COMMAND...
    facts_name=$1 facts_limit=$2
    shift 2
    if facts_text=$("$@" 2>&1); then
        say "$facts_name" "$facts_text" "$facts_limit"
    else
        missing "$facts_name" "$facts_text"
    fi
}

file() { # NAME PATH [LIMIT]
    fact "$1" "${3:-4096}" cat "$2"
}

group() { # NAME PATH...
    facts_name=$1
    shift
    say "$facts_name" "$(grep . /dev/null "$@" 2>&1)" 8192
}

tally() { # NAME PATH...
    facts_name=$1
    shift
    say "$facts_name" "$(grep -s . /dev/null "$@" | sed 's|^[^:]*/||' | sort | uniq -c)"
}

facts_options='^(# )?CONFIG_(PREEMPT[A-Z_]*|PREEMPTION|HZ|HZ_[0-9]+|NO_HZ[A-Z_]*|HIGH_RES_TIMERS'
facts_options="$facts_options|SMP|SCHED_[A-Z_]+|RCU_[A-Z_]+|CPU_ISOLATION|IRQ_FORCED_THREADING"
facts_options="$facts_options|NUMA_BALANCING|TRANSPARENT_HUGEPAGE[A-Z_]*|DEBUG_PREEMPT|LOCKDEP"
facts_options="$facts_options|PROVE_LOCKING|DEBUG_[A-Z]*LOCK[A-Z_]*|KASAN|FTRACE|FUNCTION_TRACER"
facts_options="$facts_options|IRQSOFF_TRACER|PREEMPT_TRACER|M[3-6]86|MELAN|X86_TSC|LTO_[A-Z_]+"
facts_options="$facts_options|CC_VERSION_TEXT|LOCALVERSION|EXPERT)[ =]"

config() { # the options that matter, and a checksum of the whole plain text
    if [ -r /proc/config.gz ]; then
        facts_path=/proc/config.gz facts_cat='gzip -dc'
    else
        facts_path=/boot/config-$facts_release facts_cat=cat
    fi
    say config.path "$facts_path" 256
    facts_text=$($facts_cat "$facts_path" | grep -E "$facts_options")
    if [ -n "$facts_text" ]; then
        say config.options "$facts_text" 8192
        # the oldest and most widespread first: the sum is compared over years of one host
        for facts_sum in md5sum sha256sum cksum; do
            command -v $facts_sum >/dev/null || continue
            say config.sum "$facts_sum $($facts_cat "$facts_path" | $facts_sum)" 128
            break
        done
    else # not there, or no gzip: bring what there is
        fact config.gz 49152 od -An -v -tx1 "$facts_path"
        vermagic
    fi
}

vermagic() { # the oldest kernels say nothing of preemption but in their modules
    facts_path=$(find "/lib/modules/$facts_release" -name '*.ko' | head -n 1)
    facts_text=
    [ -n "$facts_path" ] &&
        facts_text=$(tr '\000' '\n' <"$facts_path" | grep '^vermagic=' | head -n 1)
    say vermagic "$facts_text" 256
}

tool() { # NAME [ARGUMENT...]: one line `NAME<tab>PATH<tab>VERSION`; no argument: no version
    facts_tool=$1
    facts_at=$(command -v "$facts_tool") || return 0
    shift
    facts_version=
    [ $# -gt 0 ] && facts_version=$("$facts_tool" "$@" 2>&1 </dev/null | grep . | head -n 1)
    printf '%s\t%s\t%.120s\n' "$facts_tool" "$facts_at" "$facts_version"
}

tools() {
    tool iperf -v
    tool iperf3 -v
    tool cyclictest --help
    tool perf --version
    tool stress-ng --version
    tool netperf -V
    tool sysbench --version
    for facts_tool in hackbench schbench netserver oslat rtla lat_ctx dmesg taskset chrt numactl \
        sha256sum md5sum cksum modprobe sudo systemctl cpupower ethtool tc ip sysctl; do
        tool "$facts_tool"
    done
}

commands() { # every name that PATH leads to, or that the shell is itself
    (
        IFS=:
        for facts_path in $PATH; do ls "$facts_path"; done
        case $(command -v ls) in
        /*) ;;
        *) busybox --list ;;
        esac
    ) | sort -u
}

identity() {
    fact uname.release 256 uname -r
    fact uname.version 256 uname -v
    fact uname.machine 64 uname -m
    file version /proc/version 1024
    fact notes 8192 od -An -v -tx1 /sys/kernel/notes
    file cmdline /proc/cmdline
    config
    file realtime /sys/kernel/realtime
    file preempt.debug /sys/kernel/debug/sched/preempt
    file preempt.debug_old /sys/kernel/debug/sched_preempt
    if facts_text=$(dmesg 2>&1); then
        say dmesg "$(printf '%s\n' "$facts_text" |
            grep -E 'Dynamic Preempt|high-res timesource|clocksource: Switched' | tail -n 6)" 1024
    else
        missing dmesg "$facts_text"
    fi
}

around_a_run() {
    file boot_id /proc/sys/kernel/random/boot_id
    file uptime /proc/uptime
    fact date 64 date -u +%Y-%m-%dT%H:%M:%SZ
    group clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource \
        /sys/devices/system/clocksource/clocksource0/available_clocksource
    tally cpufreq $facts_cpu/cpu[0-9]*/cpufreq/scaling_governor \
        $facts_cpu/cpu[0-9]*/cpufreq/scaling_driver \
        $facts_cpu/cpu[0-9]*/cpufreq/scaling_min_freq \
        $facts_cpu/cpu[0-9]*/cpufreq/scaling_max_freq
    group turbo $facts_cpu/cpu0/cpufreq/scaling_cur_freq $facts_cpu/cpufreq/boost \
        $facts_cpu/intel_pstate/no_turbo $facts_cpu/intel_pstate/status
    group cpus $facts_cpu/online $facts_cpu/isolated $facts_cpu/nohz_full \
        $facts_cpu/smt/active $facts_cpu/smt/control
    fact pm_qos 64 od -An -N4 -td4 /dev/cpu_dma_latency
    group rt /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/sched_rt_period_us
    file interrupts /proc/interrupts 16384
    fact stat 16384 sed 's/^\([a-z]*\(intr\|irq\) [0-9]*\).*/\1/' /proc/stat
    file loadavg /proc/loadavg
    group pressure /proc/pressure/cpu /proc/pressure/memory /proc/pressure/io
    file meminfo /proc/meminfo
}

once_a_boot() {
    file tainted /proc/sys/kernel/tainted
    fact modules 8192 cut -d' ' -f1 /proc/modules
    fact cpuinfo 8192 sed '/^$/q' /proc/cpuinfo
    fact cpuinfo.count 16 grep -c '^processor' /proc/cpuinfo
    say timer_list "$(grep -E '\.(resolution|hres_active)' /proc/timer_list | sort | uniq -c)"
    group cpuidle $facts_cpu/cpuidle/* $facts_cpu/cpu0/cpuidle/state*/name \
        $facts_cpu/cpu0/cpuidle/state*/latency $facts_cpu/cpu0/cpuidle/state*/disable
    group mitigations $facts_cpu/vulnerabilities/*
    file cgroup /proc/self/cgroup
    facts_path=$(sed -n -e 's/^[0-9]*:cpu:\(.*\)/\1/p' -e 's/^[0-9]*:cpu,[^:]*:\(.*\)/\1/p' \
        /proc/self/cgroup | head -n 1)
    group rt.cgroup "/sys/fs/cgroup/cpu$facts_path/cpu.rt_runtime_us"
    group sched /proc/sys/kernel/sched_* /sys/kernel/debug/sched/*_ns \
        /sys/kernel/debug/sched/nr_migrate /sys/kernel/debug/sched/tunable_scaling \
        /sys/kernel/debug/sched/features
    file irq.default_affinity /proc/irq/default_smp_affinity
    tally irq.affinity /proc/irq/*/smp_affinity_list
    group net /sys/class/net/lo/mtu /proc/sys/net/ipv4/tcp_congestion_control \
        /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem \
        /proc/sys/net/ipv4/tcp_timestamps /proc/sys/net/ipv4/tcp_sack \
        /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max
    group virtualization /sys/hypervisor/type /sys/class/dmi/id/sys_vendor \
        /sys/class/dmi/id/product_name /sys/class/dmi/id/board_name
    say device_tree "$(tr -d '\000' </proc/device-tree/model)" 256
    group memory.policy /sys/kernel/mm/transparent_hugepage/enabled /proc/sys/vm/swappiness \
        /proc/sys/vm/overcommit_memory /proc/sys/kernel/numa_balancing
    if [ -r /etc/machine-id ]; then
        file machine_id /etc/machine-id
    else
        file machine_id /var/lib/dbus/machine-id
    fi
    file os_release /etc/os-release 1024
    fact user 64 id -u
    say folder "$(cd "$facts_folder" && pwd)" 1024
    fact df 1024 df -k "$facts_folder"
    say tools "$(tools)" 8192
    say commands "$(commands)" 40960
}

facts_release=$(uname -r)
say list "$facts_list"
identity
around_a_run
[ "$facts_list" = short ] || once_a_boot
echo '@@FACTS end ok'
