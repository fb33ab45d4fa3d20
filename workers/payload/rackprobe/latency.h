/* latency: how late a process runs after it was due. */
#ifndef LATENCY_H
#define LATENCY_H

#include "clock.h"
#include "cost.h"
#include "options.h"
#include "rights.h"
#include "verdict.h"

/* Samples as they come in. Nothing here divides, allocates or writes anywhere else. */
struct tally {
	/* room; NULL while warming up */
	uint32_t *sample;
	uint32_t limit, n;
	/* not stored: later than "now" cannot be kept in a sample */
	uint32_t negative;
	/* stored as UINT32_MAX */
	uint32_t saturated;
	/* periods that had passed when the process came back */
	uint32_t overruns;
	uint32_t max;
};

void tally_take(struct tally *tally, int64_t late);
static inline int tally_full(const struct tally *tally)
{
	return tally->n + tally->negative >= tally->limit;
}
/* The first due moment after now; those that have passed are counted. */
struct moment tally_next(struct tally *tally, struct moment due, struct moment now,
			 struct moment period);

/* What is asked for, with the defaults filled in. */
struct plan {
	const struct options *options;
	enum method method;
	uint32_t samples;
	/* warming up lasts for so many samples, and for at least this long */
	uint32_t warmup;
	struct moment warmup_span;
	uint64_t period_us;
	struct moment period;
	/* of the process that is measured, and of the one that wakes it; NOT_GIVEN: anywhere */
	int cpu, cpu2;
};

/* Memory that parent and children share. The samples follow it. */
struct run {
	struct rights rights;
	struct tally warm, measured;
	struct reading before, after;
	struct usage usage_before, usage_after;
	/* set when the measured part has been begun, and ended */
	volatile int begun, ended;
	/* set by a child that cannot go on */
	enum exit_code code;
	const char *text;
	/* pipe: when the byte was sent, and the periods that the sender missed */
	volatile struct moment sent;
	volatile uint32_t skipped;
	uint32_t sample[];
};

/* NULL when there is no memory for the samples. */
struct run *run_make(const struct plan *plan);
/* Starts the children of the plan's method and waits for them. 0 when the watchdog bit. */
int run_carry_out(struct run *run, const struct plan *plan, struct verdict *verdict);

/* The borders of the measured part, in the process that is measured. */
void run_begin(struct run *run);
void run_end(struct run *run);
_Noreturn void run_fail(struct run *run, enum exit_code code, const char *text);

/* Forks what it needs; the children never return. 0 when that failed. */
int timer_start(struct run *run, const struct plan *plan);
int pipe_start(struct run *run, const struct plan *plan);

int latency(const struct options *options);

#endif
