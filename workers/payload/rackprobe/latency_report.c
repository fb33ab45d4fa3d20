/* The JSON of a latency measurement. */
#include "latency_report.h"

#include "host.h"
#include "out.h"
#include "report.h"
#include "stats.h"

static void report_cpu(const char *key, int cpu)
{
	if (cpu == NOT_GIVEN)
		out_null(key);
	else
		out_signed(key, cpu);
}

static void report_file_number(const char *key, const char *path)
{
	int64_t number;

	if (host_file_number(path, &number))
		out_signed(key, number);
	else
		out_null(key);
}

static void report_sched(const struct run *run, const struct plan *plan,
			 const struct dma_latency *dma)
{
	out_object("sched");
	out_text("policy_requested", policy_names[plan->options->policy]);
	out_text("policy_effective", rights_policy_name(run->rights.policy));
	out_signed("prio", run->rights.prio);
	report_cpu("cpu", run->rights.cpu);
	if (plan->method == PIPE)
		report_cpu("cpu2", run->rights.cpu == NOT_GIVEN ? NOT_GIVEN : plan->cpu2);
	out_text("mlockall", run->rights.locked ? "ok" : "denied");
	out_signed("minor_faults", run->usage_after.minor_faults - run->usage_before.minor_faults);
	out_signed("major_faults", run->usage_after.major_faults - run->usage_before.major_faults);
	report_file_number("rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us");
	report_file_number("rt_period_us", "/proc/sys/kernel/sched_rt_period_us");
	out_text("dma_latency_state", dma->state);
	if (dma->us == NOT_GIVEN)
		out_null("dma_latency_us");
	else
		out_signed("dma_latency_us", dma->us);
	out_close();
}

static void report_stats(const struct run *run, const struct stats *stats)
{
	out_object("stats");
	out_number("samples", stats->n);
	if (stats->n) {
		out_number("min", stats->min);
		out_number("max", stats->max);
		out_number("mean", stats->mean);
		out_number("stddev", stats->stddev);
	}
	for (int i = 0; i < PERCENTILES; i++) {
		const struct percentile *percentile = &stats->percentile[i];

		if (percentile->attainable)
			out_number(percentile->name, percentile->value);
		else
			out_null(percentile->name);
	}
	out_number("negative", run->measured.negative);
	out_number("saturated", run->measured.saturated);
	out_number("overruns", run->measured.overruns);
	out_number("warmup_samples", run->warm.n + run->warm.negative);
	out_number("warmup_overruns", run->warm.overruns);
	out_number("warmup_max", run->warm.max);
	out_close();
	out_array("top");
	for (uint32_t i = 0; i < stats->tops; i++) {
		out_array(NULL);
		out_number(NULL, stats->top[i].index);
		out_number(NULL, stats->top[i].value);
		out_close();
	}
	out_close();
}

static void report_raw(const struct run *run, const struct plan *plan)
{
	if (plan->options->raw == RAW_NONE || plan->samples > SAMPLES_RAW_MAX) {
		out_null("raw");
		return;
	}
	out_array("raw");
	for (uint32_t i = 0; i < run->measured.n; i++)
		out_number(NULL, run->sample[i]);
	out_close();
}

/* What was used while measuring, not while starting. */
static struct usage used(const struct usage *before, const struct usage *after)
{
	struct usage usage = *after;

	usage.voluntary -= before->voluntary;
	usage.involuntary -= before->involuntary;
	usage.user.s -= before->user.s;
	usage.user.us -= before->user.us;
	usage.system.s -= before->system.s;
	usage.system.us -= before->system.us;
	return usage;
}

void latency_report(const struct run *run, const struct plan *plan,
		    const struct clock_facts *clock, const struct dma_latency *dma,
		    struct verdict *verdict)
{
	uint32_t *sorted = sys_shared_memory((size_t)run->measured.n * sizeof *sorted + 1);
	struct usage usage = used(&run->usage_before, &run->usage_after);

	report_sched(run, plan, dma);
	out_object("latency");
	out_text("method", method_names[plan->method]);
	out_text("baseline", "absolute");
	out_number("period_us", plan->period_us);
	out_text("unit", "ns");
	out_number("resolution_ns", clock->step ? clock->step : 1);
	out_text("cpu_pattern", run->rights.cpu == NOT_GIVEN ? "free"
				: plan->cpu == plan->cpu2    ? "same"
							     : "cross");
	if (sorted) {
		struct stats stats = stats_of(run->sample, run->measured.n, sorted);

		report_stats(run, &stats);
	} else {
		verdict_end(verdict, EXIT_ENVIRONMENT, "no memory to sort the samples");
	}
	report_raw(run, plan);
	out_close();
	report_cost(&run->before, &run->after, &usage);
}
