/* stream: the pairs, their window, and what is believed of it. */
#include "stream.h"

#include "family.h"
#include "net.h"
#include "report.h"
#include "text.h"

enum { DEFAULT_BLOCK = 131072, DEFAULT_DURATION_MS = 10000, DEFAULT_INTERVAL_MS = 1000 };
/* seconds beyond the expected time after which the watchdog bites, and after which a child that
 * has not ended with the window is ended */
enum { PATIENCE_S = 30, LINGER_S = 2 };

/* all pairs, until the children have them */
static int ends[STREAMS_MAX][2];

static struct moment span_of(int64_t ms)
{
	return clock_span((uint64_t)ms * 1000000);
}

static void close_pairs(uint32_t pairs)
{
	for (uint32_t i = 0; i < pairs; i++) {
		sys_close(ends[i][PAIR_TX]);
		sys_close(ends[i][PAIR_RX]);
	}
}

/* NULL when all children wait for the go. */
static const char *start_children(struct field *field, const struct options *options, int go[2])
{
	for (uint32_t i = 0; i < field->streams; i++) {
		long pid = family_fork();

		if (pid == 0)
			stream_receive(field, options, i, ends, go);
		if (pid > 0)
			pid = family_fork();
		if (pid == 0)
			stream_send(field, options, i, ends, go);
		if (pid < 0)
			return "no process could be made";
	}
	return NULL;
}

static struct mark take_mark(void)
{
	struct counters now = host_counters();

	return (struct mark){clock_now(), now.switches, now.known};
}

/* Lets the children go and waits from border to border. done: the intervals that passed. */
static enum event watch(struct field *field, const struct options *options, int go[2],
			struct reading *before, struct reading *after, uint32_t *done)
{
	enum event event;
	struct moment border;

	field->from = clock_after(clock_now(), span_of(options->warmup_ms));
	field->until = clock_after(field->from, span_of(options->duration_ms));
	sys_close(go[0]);
	sys_close(go[1]);
	event = family_wait(&field->from);
	*before = cost_read();
	*after = *before;
	field->mark[0] = take_mark();
	border = field->from;
	for (*done = 0; event == TIME_REACHED && *done < field->intervals;) {
		border = clock_after(border, field->interval);
		if (clock_between(border, field->until) < 0)
			border = field->until;
		event = family_wait(&border);
		/* the receivers end with the window, perhaps before we have looked */
		if (event == ALL_GONE && *done + 1 == field->intervals && field->code == EXIT_OK)
			event = TIME_REACHED;
		field->mark[*done + 1] = take_mark();
		if (event == TIME_REACHED)
			++*done;
	}
	*after = cost_read();
	if (event == TIME_REACHED) {
		border = clock_after(field->until, (struct moment){LINGER_S, 0});
		event = family_wait(&border);
		/* a receiver that gets nothing any more does not see the end: that is no failure */
		if (event == TIME_REACHED)
			event = ALL_GONE;
	}
	return event;
}

static uint32_t patience(const struct options *options)
{
	uint64_t rest, expected = (uint64_t)(options->warmup_ms + options->duration_ms);

	if (options->timeout_ms != NOT_GIVEN)
		return (uint32_t)divide((uint64_t)options->timeout_ms + 999, 1000, &rest);
	return (uint32_t)divide(expected, 1000, &rest) + PATIENCE_S;
}

/* Makes the pairs and reports what they are like. NULL, or why that cannot be. */
static const char *make_pairs(const struct field *field, const struct options *options,
			      struct pair_facts *facts)
{
	for (uint32_t i = 0; i < field->streams; i++) {
		const char *refused = net_pair(options, ends[i]);

		if (refused)
			return refused;
	}
	facts->sndbuf = net_send_buffer(ends[0][PAIR_TX]);
	facts->rcvbuf = net_receive_buffer(ends[0][PAIR_RX]);
	net_congestion(ends[0][PAIR_TX], facts->congestion);
	return NULL;
}

/* Everything from the first process to the last. 0 when the watchdog bit. */
static int carry_out(struct field *field, const struct options *options, struct verdict *verdict)
{
	struct reading before, after;
	struct pair_facts facts;
	struct usage usage;
	uint32_t done = 0;
	enum event event;
	int go[2];
	const char *refused = make_pairs(field, options, &facts);

	if (!refused && sys_pipe(go) < 0)
		refused = "no pipe could be made";
	if (refused) {
		verdict_end(verdict, EXIT_ENVIRONMENT, refused);
		return 1;
	}
	family_open(patience(options));
	refused = start_children(field, options, go);
	close_pairs(field->streams);
	if (refused) {
		family_end();
		verdict_end(verdict, EXIT_ENVIRONMENT, refused);
		return 1;
	}
	event = watch(field, options, go, &before, &after, &done);
	family_end();
	if (event == OVERDUE)
		return 0;
	usage = family_usage();
	if (event == INTERRUPTED)
		verdict_end(verdict, EXIT_INTERRUPTED, "interrupted by a signal");
	else if (field->code != EXIT_OK)
		verdict_end(verdict, field->code, field->text);
	else if (done < field->intervals)
		verdict_end(verdict, EXIT_INTERNAL, "a process ended before it was done");
	if (done) {
		stream_report(field, options, &facts, done, verdict);
		report_cost(&before, &after, &usage);
	}
	return 1;
}

/* What was asked for, with the defaults filled in. */
static struct options complete(const struct options *asked)
{
	struct options options = *asked;

	if (options.duration_ms == NOT_GIVEN)
		options.duration_ms = DEFAULT_DURATION_MS;
	if (options.block == NOT_GIVEN)
		options.block = DEFAULT_BLOCK;
	if (options.interval_ms == NOT_GIVEN) {
		options.interval_ms = DEFAULT_INTERVAL_MS;
		while (options.duration_ms > INTERVALS_MAX * options.interval_ms)
			options.interval_ms *= 2;
	}
	return options;
}

int stream(const struct options *asked)
{
	struct verdict verdict = {.code = EXIT_OK};
	struct options options = complete(asked);
	struct clock_facts clock = clock_measure();
	uint64_t rest, count;
	struct field *field;

	count = divide((uint64_t)(options.duration_ms + options.interval_ms - 1),
		       (uint64_t)options.interval_ms, &rest);
	if (!report_open(&options, 65536 + (size_t)count * 128))
		return EXIT_ENVIRONMENT;
	report_host();
	report_clock(&clock);
	field = sys_shared_memory(sizeof *field
				  + (size_t)count * (size_t)options.streams * sizeof(uint64_t));
	if (!field) {
		verdict_end(&verdict, EXIT_ENVIRONMENT, "no memory for the counters");
		return report_close(&options, &verdict);
	}
	field->streams = (uint32_t)options.streams;
	field->intervals = (uint32_t)count;
	field->interval = span_of(options.interval_ms);
	for (uint32_t i = 0; i < field->streams; i++)
		field->retransmits[i] = -1;
	if (!carry_out(field, &options, &verdict))
		return report_overdue();
	return report_close(&options, &verdict);
}
