/* Method timer_abs: sleep until a moment, look at the clock, the difference is the latency.
 *
 * It holds the timer's interrupt, the wake-up and the switch. Where timers are bound to ticks it
 * mostly measures the tick, and is flagged.
 */
#include "family.h"
#include "latency.h"

static void fill(struct run *run, struct tally *tally, const struct plan *plan,
		 struct moment not_before)
{
	struct moment now = clock_now(), due = clock_after(now, plan->period);

	while (!tally_full(tally) || clock_between(now, not_before) > 0) {
		if (clock_sleep_until(due) < 0)
			run_fail(run, EXIT_UNSUPPORTED, "the kernel cannot sleep until a moment");
		now = clock_now();
		tally_take(tally, clock_between(due, now));
		due = tally_next(tally, due, now, plan->period);
	}
}

static _Noreturn void measure(struct run *run, const struct plan *plan)
{
	const char *refused = rights_take(&run->rights, plan->options, (int)plan->options->prio,
					  plan->cpu);

	if (refused)
		run_fail(run, EXIT_PERMISSION, refused);
	/* a page is not mapped here before it was touched here */
	for (uint32_t i = 0; i < plan->samples; i++)
		run->sample[i] = 0;
	fill(run, &run->warm, plan, clock_after(clock_now(), plan->warmup_span));
	run_begin(run);
	fill(run, &run->measured, plan, clock_now());
	run_end(run);
	sys_exit(0);
}

int timer_start(struct run *run, const struct plan *plan)
{
	long pid = family_fork();

	if (pid == 0)
		measure(run, plan);
	return pid > 0;
}
