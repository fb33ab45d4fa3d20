/* latency: the plan of a measurement, its course, and what is believed of it. */
#include "latency.h"

#include "latency_report.h"
#include "report.h"
#include "text.h"

enum { HIGHRES_PERIOD_US = 1000, TICK_PERIOD_US = 10000, DEFAULT_SAMPLES = 10000 };
enum { DEFAULT_WARMUP = 10, WARMUP_NS = 100000000 };
static struct plan make_plan(const struct options *options, const struct clock_facts *clock)
{
	struct plan plan = {
		.options = options,
		.method = (enum method)options->method,
		.samples = DEFAULT_SAMPLES,
		.warmup = DEFAULT_WARMUP,
		.warmup_span = {0, WARMUP_NS},
		.period_us = clock->highres ? HIGHRES_PERIOD_US : TICK_PERIOD_US,
		.cpu = rights_default_cpu(),
	};
	uint64_t rest, count;

	if (plan.method == METHOD_DEFAULT)
		plan.method = clock->highres ? TIMER_ABS : PIPE;
	if (options->period_us != NOT_GIVEN)
		plan.period_us = (uint64_t)options->period_us;
	if (options->samples != NOT_GIVEN)
		plan.samples = (uint32_t)options->samples;
	if (options->duration_ms != NOT_GIVEN) {
		count = divide((uint64_t)options->duration_ms * 1000, plan.period_us, &rest);
		plan.samples = count > SAMPLES_MAX ? SAMPLES_MAX : count ? (uint32_t)count : 1;
	}
	if (options->warmup != NOT_GIVEN) {
		plan.warmup = (uint32_t)options->warmup;
		plan.warmup_span = (struct moment){0, 0};
	}
	if (options->cpu != NOT_GIVEN)
		plan.cpu = (int)options->cpu;
	plan.cpu2 = options->cpu2 != NOT_GIVEN ? (int)options->cpu2 : plan.cpu;
	plan.period = clock_span(plan.period_us * 1000);
	return plan;
}

static int over_one_percent(uint32_t part, uint32_t whole)
{
	return (uint64_t)part * 100 > whole;
}

/* CPU time of the measuring process over half of the time that passed: it was throttled, or busy
 * with something else than waiting. */
static int overworked(const struct run *run)
{
	const struct usage *a = &run->usage_before, *b = &run->usage_after;
	int64_t us = (int64_t)(b->user.s - a->user.s + b->system.s - a->system.s) * 1000000
		     + (b->user.us - a->user.us) + (b->system.us - a->system.us);

	return us * 2000 > clock_between(run->before.at, run->after.at);
}

/* A disturbance voids a measurement under a real-time policy; under the ordinary one it is what
 * the host is like, and a flag. */
static void disturbed(struct verdict *verdict, const struct run *run, int is, const char *flag,
		      const char *text)
{
	if (!is)
		return;
	verdict_flag(verdict, flag);
	if (run->rights.policy != POLICY_OTHER)
		verdict_end(verdict, EXIT_INVALID, text);
}

static void judge(struct verdict *verdict, const struct run *run, const struct plan *plan,
		  const struct clock_facts *clock)
{
	const struct tally *tally = &run->measured;
	uint32_t taken = tally->n + tally->negative;

	if (run->rights.policy == POLICY_OTHER)
		verdict_flag(verdict, "policy_other");
	if (!run->rights.locked)
		verdict_flag(verdict, "memory_not_locked");
	if (plan->method == TIMER_ABS && !clock->highres)
		verdict_flag(verdict, "tick_limited");
	if (tally->saturated)
		verdict_flag(verdict, "saturated");
	disturbed(verdict, run, over_one_percent(tally->overruns, taken), "overruns",
		  "more than 1 % of the periods were missed");
	disturbed(verdict, run,
		  run->usage_after.minor_faults + run->usage_after.major_faults
			  > run->usage_before.minor_faults + run->usage_before.major_faults,
		  "page_faults", "page faults while measuring");
	disturbed(verdict, run, overworked(run), "overworked",
		  "the probe used more than half of its CPU's time");
	if (!tally->negative)
		return;
	verdict_flag(verdict, "negative");
	if (over_one_percent(tally->negative, taken))
		verdict_end(verdict, EXIT_INVALID,
			    plan->cpu != plan->cpu2 ? "the clocks of the two CPUs differ"
						    : "the clock stepped back");
}

int latency(const struct options *options)
{
	struct verdict verdict = {.code = EXIT_OK};
	struct clock_facts clock = clock_measure();
	struct plan plan = make_plan(options, &clock);
	struct dma_latency dma;
	struct run *run;

	/* a sample takes at most ten digits and a comma */
	if (!report_open(options, 65536 + (size_t)(plan.samples <= SAMPLES_RAW_MAX ? plan.samples : 0)
					  * 12))
		return EXIT_ENVIRONMENT;
	report_host();
	report_clock(&clock);
	run = run_make(&plan);
	if (!run) {
		verdict_end(&verdict, EXIT_ENVIRONMENT, "no memory for the samples");
		return report_close(options, &verdict);
	}
	dma = rights_stay_awake(!options->no_dma_latency);
	if (!run_carry_out(run, &plan, &verdict))
		return report_overdue();
	if (run->begun) {
		judge(&verdict, run, &plan, &clock);
		latency_report(run, &plan, &clock, &dma, &verdict);
	}
	return report_close(options, &verdict);
}
