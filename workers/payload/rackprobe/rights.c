/* Policy, priority, CPU, locked memory and idle states. */
#include "rights.h"

static int take_policy(struct rights *rights, int policy, int prio)
{
	if (sys_set_policy(policy, prio) < 0 || sys_get_policy() != policy)
		return 0;
	rights->policy = policy;
	rights->prio = prio;
	return 1;
}

const char *rights_take(struct rights *rights, const struct options *options, int prio, int cpu)
{
	*rights = (struct rights){.policy = POLICY_OTHER, .cpu = NOT_GIVEN};
	rights->locked = sys_lock_memory() == 0;
	if (cpu != NOT_GIVEN) {
		if (rights_bind(cpu))
			rights->cpu = cpu;
		else if (options->cpu != NOT_GIVEN || options->cpu2 != NOT_GIVEN)
			return "this process may not use the CPU that was asked for";
	}
	switch (options->policy) {
	case POLICY_ASK_AUTO:
		if (!take_policy(rights, POLICY_FIFO, prio))
			take_policy(rights, POLICY_OTHER, 0);
		return NULL;
	case POLICY_ASK_FIFO:
		return take_policy(rights, POLICY_FIFO, prio)
			       ? NULL
			       : "SCHED_FIFO is not allowed to this user (RLIMIT_RTPRIO or cpu.rt_runtime_us)";
	case POLICY_ASK_RR:
		return take_policy(rights, POLICY_RR, prio)
			       ? NULL
			       : "SCHED_RR is not allowed to this user (RLIMIT_RTPRIO or cpu.rt_runtime_us)";
	default:
		take_policy(rights, POLICY_OTHER, 0);
		return NULL;
	}
}

void rights_give_back(void)
{
	sys_set_policy(POLICY_OTHER, 0);
	sys_unlock_memory();
}

const char *rights_policy_name(int policy)
{
	return policy == POLICY_FIFO ? "fifo" : policy == POLICY_RR ? "rr" : "other";
}

int rights_default_cpu(void)
{
	const int bits = 8 * sizeof(unsigned long);
	struct cpu_set set = {{0}};
	int last = NOT_GIVEN;

	if (sys_get_cpus(&set) <= 0)
		return NOT_GIVEN;
	for (int cpu = 0; cpu < bits * CPU_WORDS; cpu++)
		if (set.word[cpu / bits] >> (cpu % bits) & 1)
			last = cpu;
	return last;
}

int rights_bind(int cpu)
{
	const int bits = 8 * sizeof(unsigned long);
	struct cpu_set set = {{0}};

	set.word[cpu / bits] = 1UL << (cpu % bits);
	return sys_set_cpus(&set) == 0;
}

struct dma_latency rights_stay_awake(int wanted)
{
	struct dma_latency latency = {"not_wanted", NOT_GIVEN};
	int32_t none = 0, now;
	long fd;

	if (!wanted)
		return latency;
	fd = sys_open("/dev/cpu_dma_latency", OPEN_BOTH);
	if (fd < 0) {
		latency.state = fd == -E_ACCES || fd == -E_PERM ? "denied" : "absent";
		return latency;
	}
	/* the descriptor stays open: closing it ends the effect */
	latency.state = sys_write((int)fd, &none, sizeof none) == sizeof none ? "set" : "denied";
	if (sys_read((int)fd, &now, sizeof now) == sizeof now)
		latency.us = now;
	return latency;
}
