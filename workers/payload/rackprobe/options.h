/* The command line. Whatever is wrong with it is said before anything is measured. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

enum command { INFO = 1, LATENCY = 2, STREAM = 4, SELFTEST = 8 };
enum method { METHOD_DEFAULT, TIMER_ABS, PIPE };
enum policy { POLICY_ASK_AUTO, POLICY_ASK_FIFO, POLICY_ASK_RR, POLICY_ASK_OTHER };
enum raw { RAW_DEFAULT, RAW_NONE, RAW_DELTA };
enum proto { PROTO_TCP, PROTO_UNIX, PROTO_PIPE };

enum { SAMPLES_MAX = 1000000, SAMPLES_RAW_MAX = 65536, STREAMS_MAX = 64, INTERVALS_MAX = 3600 };
enum { NOT_GIVEN = -1 };

/* All numbers in one form; those that were not given hold the default, or NOT_GIVEN. */
struct options {
	enum command command;
	int argc;
	char **argv;
	const char *nonce, *label;
	/* enumerations of the words above */
	int64_t method, policy, raw, proto;
	int64_t samples, period_us, prio, cpu, cpu2, warmup;
	int64_t no_dma_latency, nodelay, quick;
	int64_t streams, block, sndbuf, rcvbuf, cpu_tx, cpu_rx;
	/* given in seconds, or milliseconds for the interval */
	int64_t duration_ms, warmup_ms, interval_ms, timeout_ms;
};

extern const char *const method_names[], *const policy_names[], *const proto_names[];

/* 0 after a sentence on standard error. */
int options_parse(struct options *options, int argc, char **argv);

#endif
