/* One course of a latency measurement: shared memory, children, borders, end. */
#include "family.h"
#include "latency.h"
#include "text.h"

/* seconds beyond the expected time after which the watchdog bites */
enum { PATIENCE_S = 30 };

struct run *run_make(const struct plan *plan)
{
	struct run *run = sys_shared_memory(sizeof *run + (size_t)plan->samples * sizeof(uint32_t));

	if (run) {
		run->warm.limit = plan->warmup;
		run->measured.limit = plan->samples;
		run->measured.sample = run->sample;
	}
	return run;
}

void run_begin(struct run *run)
{
	run->before = cost_read();
	sys_usage(&run->usage_before);
	run->begun = 1;
}

void run_end(struct run *run)
{
	sys_usage(&run->usage_after);
	rights_give_back();
	run->after = cost_read();
	run->ended = 1;
}

_Noreturn void run_fail(struct run *run, enum exit_code code, const char *text)
{
	run->code = code;
	run->text = text;
	sys_exit(1);
}

static uint32_t patience(const struct plan *plan)
{
	uint64_t rest, expected = divide(((uint64_t)plan->samples + plan->warmup) * plan->period_us,
					 1000000, &rest);

	if (plan->options->timeout_ms != NOT_GIVEN)
		return (uint32_t)divide((uint64_t)plan->options->timeout_ms + 999, 1000, &rest);
	return (uint32_t)(expected + (expected >> 1) + PATIENCE_S);
}

int run_carry_out(struct run *run, const struct plan *plan, struct verdict *verdict)
{
	int started;
	enum event event;

	family_open(patience(plan));
	started = plan->method == PIPE ? pipe_start(run, plan) : timer_start(run, plan);
	if (!started)
		verdict_end(verdict, EXIT_ENVIRONMENT, "no process or pipe could be made");
	event = started ? family_wait(NULL) : ALL_GONE;
	family_end();
	if (event == OVERDUE)
		return 0;
	if (event == INTERRUPTED)
		verdict_end(verdict, EXIT_INTERRUPTED, "interrupted by a signal");
	if (run->code != EXIT_OK)
		verdict_end(verdict, run->code, run->text);
	else if (started && !run->ended)
		verdict_end(verdict, EXIT_INTERNAL, "a measuring process ended before it was done");
	if (run->begun && !run->ended) {
		run->after = cost_read();
		run->usage_after = family_usage();
	}
	return 1;
}
