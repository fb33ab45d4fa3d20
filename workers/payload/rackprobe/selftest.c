/* selftest: arithmetic on known answers, accounting on a simulated clock, then the real clock. */
#include "selftest.h"

#include "clock.h"
#include "latency.h"
#include "out.h"
#include "report.h"
#include "rights.h"
#include "stats.h"
#include "text.h"

enum { QUICK_SAMPLES = 100, SAMPLES = 1000, PERIOD_US = 2000 };
/* ns that no wake-up on an idle host takes */
enum { ABSURD = 10000000 };

static int failures;

static void check(const char *name, int good)
{
	out_bool(name, good);
	failures += !good;
}

static int divides(void)
{
	static const struct {
		uint64_t n, by, quotient, rest;
	} known[] = {
		{0, 7, 0, 0},
		{1000000007, 1000, 1000000, 7},
		{UINT64_MAX, 1, UINT64_MAX, 0},
		{UINT64_MAX, UINT64_MAX, 1, 0},
		{UINT64_MAX, 10, 1844674407370955161u, 5},
		{UINT64_MAX - 1, (uint64_t)1 << 63, 1, ((uint64_t)1 << 63) - 2},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint64_t rest, quotient = divide(known[i].n, known[i].by, &rest);

		if (quotient != known[i].quotient || rest != known[i].rest)
			return 0;
	}
	return 1;
}

static int writes_numbers(void)
{
	char digits[21];

	digits[text_digits(UINT64_MAX, digits)] = '\0';
	return text_equal(digits, "18446744073709551615");
}

static int sorts(void)
{
	uint32_t value[] = {5, 0, UINT32_MAX, 5, 1, 7, 3}, n = sizeof value / sizeof *value;

	stats_sort(value, n);
	for (uint32_t i = 1; i < n; i++)
		if (value[i - 1] > value[i])
			return 0;
	return value[0] == 0 && value[n - 1] == UINT32_MAX;
}

/* 1000, 999 ... 1: each percentile is its own rank. */
static int ranks(void)
{
	enum { N = 1000 };
	uint32_t sample[N], sorted[N];
	struct stats stats;

	for (uint32_t i = 0; i < N; i++)
		sample[i] = N - i;
	stats = stats_of(sample, N, sorted);
	return stats.min == 1 && stats.max == N && stats.mean == 500 && stats.stddev == 288
	       && stats.percentile[0].value == 500 && stats.percentile[1].value == 900
	       && stats.percentile[2].value == 950 && stats.percentile[3].value == 990
	       && stats.percentile[3].attainable && !stats.percentile[4].attainable
	       && stats.top[0].value == N && stats.top[0].index == 0
	       && stats.top[TOPS - 1].value == N - TOPS + 1;
}

/* Values at the upper end, where sums and squares would not fit. */
static int bears_large_values(void)
{
	const uint32_t sample[] = {UINT32_MAX, UINT32_MAX, 0, 0};
	uint32_t sorted[4];
	struct stats stats = stats_of(sample, 4, sorted);

	return stats.mean == UINT32_MAX / 2 && stats.stddev == UINT32_MAX / 2
	       && !stats.percentile[0].attainable;
}

static int bears_no_values(void)
{
	uint32_t sorted[1];
	struct stats stats = stats_of(sorted, 0, sorted);

	return stats.n == 0 && stats.tops == 0 && !stats.percentile[0].attainable;
}

static int counts_odd_samples(void)
{
	uint32_t sample[3];
	struct tally tally = {.sample = sample, .limit = 3};

	tally_take(&tally, -1);
	tally_take(&tally, (int64_t)UINT32_MAX + 5);
	tally_take(&tally, 42);
	return tally.negative == 1 && tally.saturated == 1 && tally.n == 2 && tally_full(&tally)
	       && sample[0] == UINT32_MAX && sample[1] == 42 && tally.max == UINT32_MAX;
}

/* Due at 1.9995 s with a period of 1 ms, looked at 3.2 ms late: three periods are gone. */
static int skips_missed_periods(void)
{
	const struct moment due = {1, 999500000}, now = {2, 2700000}, period = {0, 1000000};
	struct tally tally = {0};
	struct moment next = tally_next(&tally, due, now, period);

	return tally.overruns == 3 && next.s == 2 && next.ns == 3500000
	       && clock_between(now, next) == 800000 && clock_between(next, now) == -800000;
}

static void check_arithmetic(void)
{
	check("crc32", out_crc32("123456789", 9) == 0xcbf43926u);
	check("division", divides());
	check("numbers", writes_numbers());
	check("sorting", sorts());
	check("percentiles", ranks());
	check("large_values", bears_large_values());
	check("no_values", bears_no_values());
	check("odd_samples", counts_odd_samples());
	check("missed_periods", skips_missed_periods());
}

/* A short measurement; its smallest value must be something that a wake-up can take. */
static void check_method(const struct options *options, const struct clock_facts *clock,
			 enum method method, const char *name)
{
	int cpu = rights_default_cpu();
	const struct plan plan = {
		.options = options,
		.method = method,
		.samples = options->quick ? QUICK_SAMPLES : SAMPLES,
		.warmup = 10,
		.period_us = PERIOD_US,
		.period = clock_span((uint64_t)PERIOD_US * 1000),
		.cpu = cpu,
		.cpu2 = cpu,
	};
	struct verdict verdict = {.code = EXIT_OK};
	struct run *run = run_make(&plan);
	uint32_t least = UINT32_MAX;

	if (!run || !run_carry_out(run, &plan, &verdict) || verdict.code != EXIT_OK) {
		check(name, 0);
		return;
	}
	for (uint32_t i = 0; i < run->measured.n; i++)
		least = run->sample[i] < least ? run->sample[i] : least;
	check(name, run->measured.n + run->measured.negative == plan.samples
			    && run->measured.negative == 0 && least >= clock->read
			    && least <= ABSURD);
}

static const char *granted(long result)
{
	return result >= 0 ? "ok" : result == -E_PERM || result == -E_ACCES ? "denied" : "absent";
}

static void report_features(const struct options *options)
{
	long locked = sys_lock_memory(), fifo;

	sys_unlock_memory();
	fifo = sys_set_policy(POLICY_FIFO, (int)options->prio);
	sys_set_policy(POLICY_OTHER, 0);
	out_object("features");
	out_text("fifo", granted(fifo));
	out_text("mlockall", granted(locked));
	out_text("affinity", rights_default_cpu() == NOT_GIVEN ? "absent" : "ok");
	out_text("dma_latency", rights_stay_awake(1).state);
	out_close();
}

int selftest(const struct options *options)
{
	struct verdict verdict = {.code = EXIT_OK};
	struct clock_facts clock = clock_measure();

	if (!report_open(options, 65536))
		return EXIT_ENVIRONMENT;
	report_host();
	report_clock(&clock);
	out_object("checks");
	check_arithmetic();
	check("clock", clock.step > 0 && clock.step < UINT32_MAX && clock.backsteps == 0);
	check("timer", clock.quantum > 0);
	check_method(options, &clock, TIMER_ABS, "timer_abs");
	check_method(options, &clock, PIPE, "pipe");
	out_close();
	report_features(options);
	if (failures)
		verdict_end(&verdict, EXIT_INTERNAL, "a check failed: it is false in the result");
	return report_close(options, &verdict);
}
