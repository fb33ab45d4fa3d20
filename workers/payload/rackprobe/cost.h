/* What a measurement cost the host: context switches, interrupts, CPU time. */
#ifndef COST_H
#define COST_H

#include "host.h"
#include "sys.h"

struct reading {
	struct counters host;
	int retransmits_known;
	uint64_t retransmits;
	struct moment at;
};

struct reading cost_read(void);

#endif
