/* Taking samples. */
#include "latency.h"

void tally_take(struct tally *tally, int64_t late)
{
	uint32_t sample;

	if (late < 0) {
		tally->negative++;
		return;
	}
	sample = late < UINT32_MAX ? (uint32_t)late : UINT32_MAX;
	if (sample == UINT32_MAX)
		tally->saturated++;
	if (sample > tally->max)
		tally->max = sample;
	if (tally->sample)
		tally->sample[tally->n] = sample;
	tally->n++;
}

struct moment tally_next(struct tally *tally, struct moment due, struct moment now,
			 struct moment period)
{
	due = clock_after(due, period);
	/* one long hole is one late sample, not a row of them */
	while (clock_between(due, now) >= 0) {
		due = clock_after(due, period);
		tally->overruns++;
	}
	return due;
}
