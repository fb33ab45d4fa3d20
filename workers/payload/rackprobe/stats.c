/* Statistics of samples, in integers, computed after the measurement. */
#include "stats.h"

#include "text.h"

enum { WHOLE = 10000, BEYOND = 10 };

static void sift(uint32_t *heap, size_t root, size_t n)
{
	uint32_t value = heap[root];

	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			break;
		if (child + 1 < n && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= value)
			break;
		heap[root] = heap[child];
		root = child;
	}
	heap[root] = value;
}

void stats_sort(uint32_t *value, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(value, i, n);
	for (size_t end = n; end-- > 1;) {
		uint32_t largest = value[0];

		value[0] = value[end];
		value[end] = largest;
		sift(value, 0, end);
	}
}

int stats_attainable(uint32_t n, uint32_t p)
{
	return (uint64_t)n * (WHOLE - p) >= (uint64_t)BEYOND * WHOLE;
}

uint32_t stats_rank(const uint32_t *sorted, uint32_t n, uint32_t p)
{
	uint64_t rest;

	return sorted[divide((uint64_t)n * p + WHOLE - 1, WHOLE, &rest) - 1];
}

static uint32_t square_root(uint64_t n)
{
	uint64_t root = 0;

	for (int bit = 31; bit >= 0; bit--) {
		uint64_t larger = root | (uint64_t)1 << bit;

		if (larger * larger <= n)
			root = larger;
	}
	return (uint32_t)root;
}

/* Root of the mean square distance from the mean. A sum of squares would not fit into 64 bits, so
 * the quotients and the remainders of each square by n are added up apart.
 */
static uint32_t deviation(const uint32_t *sample, uint32_t n, uint32_t mean)
{
	uint64_t variance = 0, left = 0, rest;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t distance = sample[i] > mean ? sample[i] - mean : mean - sample[i];

		variance += divide(distance * distance, n, &rest);
		left += rest;
		if (left >= n) {
			left -= n;
			variance++;
		}
	}
	return square_root(variance);
}

static void find_tops(struct stats *stats, const uint32_t *sample)
{
	for (uint32_t i = 0; i < stats->n; i++) {
		uint32_t at = stats->tops;

		while (at > 0 && stats->top[at - 1].value < sample[i])
			at--;
		if (at == TOPS)
			continue;
		if (stats->tops < TOPS)
			stats->tops++;
		for (uint32_t j = stats->tops - 1; j > at; j--)
			stats->top[j] = stats->top[j - 1];
		stats->top[at] = (struct top){i, sample[i]};
	}
}

struct stats stats_of(const uint32_t *sample, uint32_t n, uint32_t *sorted)
{
	struct stats stats = {
		.n = n,
		.percentile = {
			{.name = "p50", .p = 5000},
			{.name = "p90", .p = 9000},
			{.name = "p95", .p = 9500},
			{.name = "p99", .p = 9900},
			{.name = "p99.9", .p = 9990},
			{.name = "p99.99", .p = 9999},
		},
	};
	uint64_t sum = 0, rest;

	if (n == 0)
		return stats;
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = sample[i];
		sum += sample[i];
	}
	stats_sort(sorted, n);
	stats.min = sorted[0];
	stats.max = sorted[n - 1];
	stats.mean = (uint32_t)divide(sum, n, &rest);
	stats.stddev = deviation(sample, n, stats.mean);
	for (int i = 0; i < PERCENTILES; i++) {
		struct percentile *percentile = &stats.percentile[i];

		percentile->attainable = stats_attainable(n, percentile->p);
		if (percentile->attainable)
			percentile->value = stats_rank(sorted, n, percentile->p);
	}
	find_tops(&stats, sample);
	return stats;
}
