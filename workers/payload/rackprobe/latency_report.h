/* The JSON of a latency measurement. */
#ifndef LATENCY_REPORT_H
#define LATENCY_REPORT_H

#include "latency.h"

void latency_report(const struct run *run, const struct plan *plan,
		    const struct clock_facts *clock, const struct dma_latency *dma,
		    struct verdict *verdict);

#endif
