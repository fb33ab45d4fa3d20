/* Readings of the host's counters, to be subtracted later. */
#include "cost.h"

#include "clock.h"

struct reading cost_read(void)
{
	struct reading reading = {.host = host_counters()};

	reading.retransmits_known = host_retransmits(&reading.retransmits);
	reading.at = clock_now();
	return reading;
}
