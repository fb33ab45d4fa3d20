/* The clock: the same one for what was expected and for what was seen, and what is known of it. */
#ifndef CLOCK_H
#define CLOCK_H

#include "sys.h"

enum { NS_PER_S = 1000000000 };

/* Chooses the cheapest call that works. auxiliary: the vector that the kernel left on the stack. */
void clock_open(const unsigned long *auxiliary);

struct moment clock_now(void);
/* Wall time in seconds; printed, never used to measure. */
long clock_wall(void);
/* Sleeps until the clock shows a moment. 0, or -errno. */
long clock_sleep_until(struct moment when);

/* A span of ns as the kernel's pair. Divides: not for use while measuring. */
struct moment clock_span(uint64_t ns);
struct moment clock_after(struct moment when, struct moment span);
/* later - earlier in ns; negative when the clock stepped back */
int64_t clock_between(struct moment earlier, struct moment later);

/* What was measured of the clock and of its timer, in ns unless said otherwise. */
struct clock_facts {
	const char *name, *call;
	/* what the kernel claims; -1 when it does not say */
	int64_t getres;
	/* smallest difference between two reads that are not equal, and the cost of one read */
	uint32_t step, read;
	/* how often a read was before the one that preceded it */
	uint32_t backsteps;
	/* median distance of the shortest possible sleeps */
	uint32_t quantum;
	/* timers come when they are due, not with the next tick */
	int highres;
	/* ticks a second; 0 where the timer is not bound to ticks */
	uint32_t hz;
};

/* Takes up to a second on a kernel with a slow tick. */
struct clock_facts clock_measure(void);

#endif
