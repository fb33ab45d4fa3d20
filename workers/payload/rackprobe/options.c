/* The command line: one table of options, one of commands. */
#include "options.h"

#include <stddef.h>

#include "out.h"
#include "text.h"

const char *const method_names[] = {"default", "timer_abs", "pipe", NULL};
const char *const policy_names[] = {"auto", "fifo", "rr", "other", NULL};
const char *const proto_names[] = {"tcp", "unix", "pipe", NULL};
static const char *const raw_names[] = {"default", "none", "delta", NULL};

static const struct {
	const char *name;
	enum command command;
} commands[] = {{"info", INFO}, {"latency", LATENCY}, {"stream", STREAM}, {"selftest", SELFTEST}};

enum kind { FLAG, NUMBER, SECONDS, WORD, LABEL_TEXT, NONCE_TEXT };

#define ALL (INFO | LATENCY | STREAM | SELFTEST)
#define AT(field) offsetof(struct options, field)

static const struct option {
	const char *name;
	int commands;
	enum kind kind;
	size_t at;
	/* numbers: the range, in the unit of the field; words: the first that may be given */
	uint64_t least, most;
	const char *const *words;
} table[] = {
	{"--nonce", ALL, NONCE_TEXT, AT(nonce), 0, 0, NULL},
	{"--label", ALL, LABEL_TEXT, AT(label), 0, 0, NULL},
	{"--timeout", ALL, SECONDS, AT(timeout_ms), 1000, 864000000, NULL},
	{"--method", LATENCY, WORD, AT(method), 1, 0, method_names},
	{"--samples", LATENCY, NUMBER, AT(samples), 1, SAMPLES_MAX, NULL},
	{"--duration", LATENCY | STREAM, SECONDS, AT(duration_ms), 100, 86400000, NULL},
	{"--period", LATENCY, NUMBER, AT(period_us), 50, 10000000, NULL},
	{"--prio", LATENCY, NUMBER, AT(prio), 2, 98, NULL},
	{"--policy", LATENCY, WORD, AT(policy), 0, 0, policy_names},
	{"--cpu", LATENCY, NUMBER, AT(cpu), 0, 1023, NULL},
	{"--cpu2", LATENCY, NUMBER, AT(cpu2), 0, 1023, NULL},
	{"--warmup", LATENCY, NUMBER, AT(warmup), 0, SAMPLES_MAX, NULL},
	{"--no-dma-latency", LATENCY, FLAG, AT(no_dma_latency), 0, 0, NULL},
	{"--raw", LATENCY, WORD, AT(raw), 1, 0, raw_names},
	{"--proto", STREAM, WORD, AT(proto), 0, 0, proto_names},
	{"--streams", STREAM, NUMBER, AT(streams), 1, STREAMS_MAX, NULL},
	{"--warmup", STREAM, SECONDS, AT(warmup_ms), 0, 60000, NULL},
	{"--block", STREAM, NUMBER, AT(block), 1, 1048576, NULL},
	{"--sndbuf", STREAM, NUMBER, AT(sndbuf), 1024, 67108864, NULL},
	{"--rcvbuf", STREAM, NUMBER, AT(rcvbuf), 1024, 67108864, NULL},
	{"--cpu-tx", STREAM, NUMBER, AT(cpu_tx), 0, 1023, NULL},
	{"--cpu-rx", STREAM, NUMBER, AT(cpu_rx), 0, 1023, NULL},
	{"--interval", STREAM, NUMBER, AT(interval_ms), 100, 60000, NULL},
	{"--nodelay", STREAM, FLAG, AT(nodelay), 0, 0, NULL},
	{"--quick", SELFTEST, FLAG, AT(quick), 0, 0, NULL},
};

static int is_nonce(const char *text)
{
	size_t n = text_length(text);

	for (const char *p = text; *p; p++)
		if (!((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')))
			return 0;
	return n >= 1 && n <= 64;
}

static int refuse_word(const struct option *option, const char *given)
{
	char known[128];
	size_t n = 0;

	for (size_t i = option->least; option->words[i]; i++) {
		known[n++] = ' ';
		for (const char *p = option->words[i]; *p; p++)
			known[n++] = *p;
	}
	known[n] = '\0';
	COMPLAIN("unknown word '", given, "' for ", option->name, "; known are:", known);
	return 0;
}

static int refuse_number(const struct option *option, const char *given)
{
	char least[24], most[24];
	uint64_t rest, scale = option->kind == SECONDS ? 1000 : 1;

	/* seconds that are no whole number are rounded up at the low end, for the sentence only */
	least[text_digits(divide(option->least + scale - 1, scale, &rest), least)] = '\0';
	most[text_digits(divide(option->most, scale, &rest), most)] = '\0';
	COMPLAIN(option->name, " takes a number from ", least, " to ", most, ", not '", given, "'");
	return 0;
}

static int set_value(struct options *options, const struct option *option, const char *given)
{
	void *field = (char *)options + option->at;
	uint64_t number;
	size_t i;

	switch (option->kind) {
	case FLAG:
		*(int64_t *)field = 1;
		return 1;
	case NUMBER:
	case SECONDS:
		if (!(option->kind == SECONDS ? text_milliseconds(given, &number)
					      : text_number(given, &number))
		    || number < option->least || number > option->most)
			return refuse_number(option, given);
		*(int64_t *)field = (int64_t)number;
		return 1;
	case WORD:
		for (i = option->least; option->words[i]; i++)
			if (text_equal(option->words[i], given)) {
				*(int64_t *)field = (int64_t)i;
				return 1;
			}
		return refuse_word(option, given);
	case LABEL_TEXT:
		if (text_length(given) > TEXT_MAX) {
			COMPLAIN(option->name, " takes at most 120 characters");
			return 0;
		}
		break;
	case NONCE_TEXT:
		if (!is_nonce(given)) {
			COMPLAIN(option->name, " takes 1 to 64 hexadecimal digits, not '", given, "'");
			return 0;
		}
	}
	*(const char **)field = given;
	return 1;
}

static const struct option *find_option(enum command command, const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if ((table[i].commands & (int)command) && text_equal(table[i].name, name))
			return &table[i];
	return NULL;
}

/* What no single option can tell. */
static int check_together(const struct options *options)
{
	if (options->command == LATENCY && options->samples != NOT_GIVEN
	    && options->duration_ms != NOT_GIVEN) {
		COMPLAIN("--samples and --duration exclude each other");
		return 0;
	}
	if (options->interval_ms != NOT_GIVEN
	    && options->duration_ms > INTERVALS_MAX * options->interval_ms) {
		COMPLAIN("--duration holds more than 3600 times --interval");
		return 0;
	}
	if (options->cpu2 != NOT_GIVEN && options->method != PIPE) {
		COMPLAIN("--cpu2 goes with --method pipe only");
		return 0;
	}
	return 1;
}

int options_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){
		.argc = argc,
		.argv = argv,
		.nonce = "0",
		.label = "",
		.samples = NOT_GIVEN,
		.period_us = NOT_GIVEN,
		.prio = 80,
		.cpu = NOT_GIVEN,
		.cpu2 = NOT_GIVEN,
		.warmup = NOT_GIVEN,
		.streams = 1,
		.block = NOT_GIVEN,
		.sndbuf = NOT_GIVEN,
		.rcvbuf = NOT_GIVEN,
		.cpu_tx = NOT_GIVEN,
		.cpu_rx = NOT_GIVEN,
		.duration_ms = NOT_GIVEN,
		.warmup_ms = 200,
		.interval_ms = NOT_GIVEN,
		.timeout_ms = NOT_GIVEN,
	};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (text_equal(argv[1], commands[i].name))
			options->command = commands[i].command;
	if (!options->command) {
		COMPLAIN("the first word is one of: info latency stream selftest");
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		const struct option *option = find_option(options->command, argv[i]);
		const char *value = "";

		if (!option) {
			COMPLAIN("unknown option '", argv[i], "' of ", argv[1]);
			return 0;
		}
		if (option->kind != FLAG) {
			if (++i == argc) {
				COMPLAIN(option->name, " needs a value");
				return 0;
			}
			value = argv[i];
		}
		if (!set_value(options, option, value))
			return 0;
	}
	return check_together(options);
}
