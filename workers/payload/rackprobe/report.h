/* The parts of the JSON document that all commands share. */
#ifndef REPORT_H
#define REPORT_H

#include "clock.h"
#include "cost.h"
#include "options.h"
#include "verdict.h"

/* Opens the document and room for it; first of all calls. 0 when there is no memory. */
int report_open(const struct options *options, size_t size);
void report_host(void);
void report_clock(const struct clock_facts *facts);
/* usage: of the processes that measured; NULL leaves it out */
void report_cost(const struct reading *before, const struct reading *after,
		 const struct usage *usage);
/* Status, error and flags; closes the document and sends it. Returns the exit status. */
int report_close(const struct options *options, const struct verdict *verdict);
/* The watchdog bit: a sentence, no document. Returns the exit status. */
int report_overdue(void);

#endif
