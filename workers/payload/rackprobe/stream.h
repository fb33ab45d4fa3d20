/* stream: how many bytes P pairs of processes move in a common window of time. */
#ifndef STREAM_H
#define STREAM_H

#include "clock.h"
#include "cost.h"
#include "options.h"
#include "verdict.h"

/* Memory that parent and children share. Each receiver writes its own row of bytes only. */
struct field {
	/* set before the go */
	struct moment from, until, interval;
	uint32_t streams, intervals;
	/* set by a child that cannot go on */
	volatile enum exit_code code;
	const char *text;
	/* of each sender, when it has ended; -1: unknown */
	int64_t retransmits[STREAMS_MAX];
	/* of all streams, set by the parent at the end of each interval */
	struct mark {
		struct moment at;
		uint64_t switches;
		int known;
	} mark[INTERVALS_MAX + 1];
	/* bytes[stream * intervals + interval] */
	uint64_t bytes[];
};

/* One end of a pair, in its own process. ends: all pairs, of which all but one are closed. go: what
 * to read from until it ends. */
_Noreturn void stream_receive(struct field *field, const struct options *options, uint32_t number,
			      int (*ends)[2], const int go[2]);
_Noreturn void stream_send(struct field *field, const struct options *options, uint32_t number,
			   int (*ends)[2], const int go[2]);

/* What is known of the pairs before the children get them. */
struct pair_facts {
	int sndbuf, rcvbuf;
	char congestion[16];
};

/* Reports the first done > 0 intervals; fewer than planned after an interruption. */
void stream_report(const struct field *field, const struct options *options,
		   const struct pair_facts *facts, uint32_t done, struct verdict *verdict);

int stream(const struct options *options);

#endif
