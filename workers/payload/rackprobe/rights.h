/* What a measuring process asks of the kernel: policy, priority, CPU, locked memory, no idling.
 *
 * Each is taken as far as it is granted, and what was granted is read back and reported.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "options.h"
#include "sys.h"

struct rights {
	/* POLICY_OTHER, POLICY_FIFO or POLICY_RR, as read back */
	int policy, prio;
	/* NOT_GIVEN: not bound to one */
	int cpu;
	int locked;
};

/* For the calling process. NULL, or the sentence that says what was demanded and not allowed. */
const char *rights_take(struct rights *rights, const struct options *options, int prio, int cpu);
void rights_give_back(void);

const char *rights_policy_name(int policy);
/* The last CPU that we may use: interrupts prefer the first. NOT_GIVEN if the kernel cannot say. */
int rights_default_cpu(void);
int rights_bind(int cpu);

struct dma_latency {
	const char *state;
	/* us, as read back; NOT_GIVEN if it could not be read */
	int64_t us;
};

/* Keeps the CPUs out of deep idle states until this process ends. */
struct dma_latency rights_stay_awake(int wanted);

#endif
