/* Statistics of samples, in integers, computed after the measurement. */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>

enum { PERCENTILES = 6, TOPS = 16 };

/* A percentile that so few samples do not reach has no value. */
struct percentile {
	const char *name;
	/* in ten-thousandths */
	uint32_t p;
	int attainable;
	uint32_t value;
};

struct top {
	uint32_t index, value;
};

struct stats {
	uint32_t n, min, max;
	/* rounded down */
	uint32_t mean, stddev;
	struct percentile percentile[PERCENTILES];
	/* the largest samples, in order of size */
	uint32_t tops;
	struct top top[TOPS];
};

/* In place, ascending, without recursion. */
void stats_sort(uint32_t *value, size_t n);
/* sorted: room for n values; holds the samples in order afterwards. */
struct stats stats_of(const uint32_t *sample, uint32_t n, uint32_t *sorted);
/* Smallest value such that at least p ten-thousandths of n > 0 sorted values are not above it. */
uint32_t stats_rank(const uint32_t *sorted, uint32_t n, uint32_t p);
/* At least ten samples must lie beyond a percentile for it to mean something. */
int stats_attainable(uint32_t n, uint32_t p);

#endif
