/* The clock and the timer: which calls work here, and how good they are. */
#include "clock.h"

#include "stats.h"
#include "text.h"
#include "vdso.h"

enum { AUXILIARY_END = 0, AUXILIARY_VDSO = 33 };
enum { SLEEP_ABSOLUTE = 1 };
enum { READS = 2000, BATCHES = 32, SLEEPS = 32 };
/* the coarsest timer that still counts as bound to no tick, ns */
enum { HIGHRES_QUANTUM = 200000 };

typedef int vdso_clock(int clock, struct moment *now);

struct wide {
	int64_t s, ns;
};

static enum { BY_VDSO, BY_CALL, BY_WIDE_CALL, BY_TIMEOFDAY } way = BY_CALL;
static vdso_clock *vdso;

void clock_open(const unsigned long *auxiliary)
{
	struct moment now;

	for (; auxiliary[0] != AUXILIARY_END; auxiliary += 2)
		if (auxiliary[0] == AUXILIARY_VDSO)
			vdso = (vdso_clock *)vdso_find(auxiliary[1], VDSO_CLOCK_GETTIME);
	if (vdso && vdso(CLOCK_MONO, &now) == 0) {
		way = BY_VDSO;
		return;
	}
	if (sys_call(SYS_clock_gettime, CLOCK_MONO, (long)&now, 0, 0, 0) != -E_NOSYS)
		return;
	way = BY_TIMEOFDAY;
#ifdef SYS_clock_gettime64
	struct wide wide;

	if (sys_call(SYS_clock_gettime64, CLOCK_MONO, (long)&wide, 0, 0, 0) == 0)
		way = BY_WIDE_CALL;
#endif
}

static struct moment read_clock(int clock)
{
	struct moment now = {0, 0};

	switch (way) {
	case BY_VDSO:
		vdso(clock, &now);
		break;
	case BY_CALL:
		sys_call(SYS_clock_gettime, clock, (long)&now, 0, 0, 0);
		break;
	case BY_WIDE_CALL: {
#ifdef SYS_clock_gettime64
		struct wide wide = {0, 0};

		sys_call(SYS_clock_gettime64, clock, (long)&wide, 0, 0, 0);
		now = (struct moment){(long)wide.s, (long)wide.ns};
#endif
		break;
	}
	case BY_TIMEOFDAY:
		sys_call(SYS_gettimeofday, (long)&now, 0, 0, 0, 0);
		now.ns *= 1000;
	}
	return now;
}

struct moment clock_now(void)
{
	return read_clock(CLOCK_MONO);
}

long clock_wall(void)
{
	return read_clock(CLOCK_WALL).s;
}

/* The oldest way: a relative sleep for what is left. */
static long sleep_rest(struct moment when)
{
	int64_t rest = clock_between(clock_now(), when);
	struct moment span;

	if (rest <= 0)
		return 0;
	span = clock_span((uint64_t)rest);
	return sys_call(SYS_nanosleep, (long)&span, 0, 0, 0, 0);
}

long clock_sleep_until(struct moment when)
{
	long result;

	do {
		if (way == BY_TIMEOFDAY) {
			result = sleep_rest(when);
		} else {
			result = sys_call(SYS_clock_nanosleep, CLOCK_MONO, SLEEP_ABSOLUTE,
					  (long)&when, 0, 0);
#ifdef SYS_clock_nanosleep_time64
			if (result == -E_NOSYS) {
				struct wide wide = {when.s, when.ns};

				result = sys_call(SYS_clock_nanosleep_time64, CLOCK_MONO,
						  SLEEP_ABSOLUTE, (long)&wide, 0, 0);
			}
#endif
		}
	} while (result == -E_INTR);
	return result;
}

struct moment clock_span(uint64_t ns)
{
	uint64_t rest, s = divide(ns, NS_PER_S, &rest);

	return (struct moment){(long)s, (long)rest};
}

struct moment clock_after(struct moment when, struct moment span)
{
	when.s += span.s;
	when.ns += span.ns;
	if (when.ns >= NS_PER_S) {
		when.s++;
		when.ns -= NS_PER_S;
	}
	return when;
}

int64_t clock_between(struct moment earlier, struct moment later)
{
	return (int64_t)(later.s - earlier.s) * NS_PER_S + (later.ns - earlier.ns);
}

static int64_t claimed_resolution(void)
{
	struct moment resolution = {0, 0};

	if (way == BY_TIMEOFDAY)
		return -1;
	if (sys_call(SYS_clock_getres, CLOCK_MONO, (long)&resolution, 0, 0, 0) == 0)
		return (int64_t)resolution.s * NS_PER_S + resolution.ns;
#ifdef SYS_clock_getres_time64
	struct wide wide;

	if (sys_call(SYS_clock_getres_time64, CLOCK_MONO, (long)&wide, 0, 0, 0) == 0)
		return wide.s * NS_PER_S + wide.ns;
#endif
	return -1;
}

/* Smallest step and number of back steps in reads that follow each other at once. */
static void measure_step(struct clock_facts *facts)
{
	struct moment before = clock_now();

	facts->step = UINT32_MAX;
	for (int i = 0; i < READS; i++) {
		struct moment now = clock_now();
		int64_t step = clock_between(before, now);

		if (step < 0)
			facts->backsteps++;
		else if (step > 0 && step < facts->step)
			facts->step = (uint32_t)step;
		before = now;
	}
}

static uint32_t cost_of_read(void)
{
	uint32_t batch[BATCHES];
	uint64_t rest;

	for (int i = 0; i < BATCHES; i++) {
		struct moment start = clock_now();

		for (int j = 1; j < BATCHES; j++)
			clock_now();
		batch[i] = (uint32_t)divide((uint64_t)clock_between(start, clock_now()), BATCHES, &rest);
	}
	stats_sort(batch, BATCHES);
	return batch[BATCHES / 2];
}

static uint32_t shortest_sleep(void)
{
	const struct moment least = {0, 1};
	uint32_t spacing[SLEEPS];
	struct moment before = clock_now();

	for (int i = 0; i < SLEEPS; i++) {
		clock_sleep_until(clock_after(clock_now(), least));

		struct moment now = clock_now();
		int64_t step = clock_between(before, now);

		spacing[i] = step < 0 ? 0 : step > UINT32_MAX ? UINT32_MAX : (uint32_t)step;
		before = now;
	}
	stats_sort(spacing, SLEEPS);
	return spacing[SLEEPS / 2];
}

/* The usual rate that a tick of this length belongs to, else the measured one. */
static uint32_t ticks_per_second(uint32_t quantum)
{
	static const uint16_t usual[] = {100, 250, 300, 1000, 1024};
	uint32_t measured = NS_PER_S / (quantum ? quantum : 1);

	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		uint32_t off = measured > usual[i] ? measured - usual[i] : usual[i] - measured;

		if (off * 50 <= usual[i])
			return usual[i];
	}
	return measured;
}

struct clock_facts clock_measure(void)
{
	static const char *const calls[] = {"vdso", "sys", "sys64", "gettimeofday"};
	struct clock_facts facts = {
		.name = way == BY_TIMEOFDAY ? "CLOCK_REALTIME" : "CLOCK_MONOTONIC",
		.call = calls[way],
		.getres = claimed_resolution(),
	};

	measure_step(&facts);
	facts.read = cost_of_read();
	facts.quantum = shortest_sleep();
	facts.highres = facts.quantum < HIGHRES_QUANTUM && facts.getres == 1;
	if (!facts.highres)
		facts.hz = ticks_per_second(facts.quantum);
	return facts;
}
