/* The JSON of a throughput measurement. */
#include "host.h"
#include "net.h"
#include "out.h"
#include "rights.h"
#include "stream.h"
#include "text.h"

static uint64_t bytes_of_stream(const struct field *field, uint32_t stream, uint32_t done)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < done; i++)
		bytes += field->bytes[(size_t)stream * field->intervals + i];
	return bytes;
}

static uint64_t bytes_of_interval(const struct field *field, uint32_t interval)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < field->streams; i++)
		bytes += field->bytes[(size_t)i * field->intervals + interval];
	return bytes;
}

static uint64_t bits_per_second(uint64_t bytes, uint64_t ms)
{
	uint64_t rest;

	return divide(bytes * 8 * 1000, ms, &rest);
}

static const char *cpu_pattern(const struct options *options)
{
	if (options->cpu_tx == NOT_GIVEN && options->cpu_rx == NOT_GIVEN)
		return "free";
	if (options->cpu_tx == options->cpu_rx)
		return "same";
	if (options->cpu_tx == NOT_GIVEN)
		return "rx";
	return options->cpu_rx == NOT_GIVEN ? "tx" : "cross";
}

static void report_size(const char *key, int64_t size)
{
	if (size < 0)
		out_null(key);
	else
		out_signed(key, size);
}

static void report_streams(const struct field *field, uint32_t done, uint64_t window_ms)
{
	uint64_t least = UINT64_MAX, most = 0, rest;

	out_array("per_stream");
	for (uint32_t i = 0; i < field->streams; i++) {
		uint64_t bytes = bytes_of_stream(field, i, done);

		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
		out_object(NULL);
		out_number("bytes", bytes);
		out_number("bits_per_second", bits_per_second(bytes, window_ms));
		report_size("retransmits", field->retransmits[i]);
		out_close();
	}
	out_close();
	out_thousandths("fairness", most ? divide(least * 1000, most, &rest) : 0);
}

static void report_intervals(const struct field *field, const struct options *options,
			     uint32_t done)
{
	uint64_t start = 0, length = (uint64_t)options->interval_ms;

	out_array("intervals");
	for (uint32_t i = 0; i < done; i++) {
		uint64_t end = start + length;
		const struct mark *a = &field->mark[i], *b = &field->mark[i + 1];

		if (end > (uint64_t)options->duration_ms)
			end = (uint64_t)options->duration_ms;
		out_object(NULL);
		out_number("t_ms", end);
		out_number("span_ms", end - start);
		out_number("bytes", bytes_of_interval(field, i));
		if (a->known && b->known)
			out_number("ctxt", b->switches - a->switches);
		else
			out_null("ctxt");
		out_close();
		start = end;
	}
	out_close();
}

void stream_report(const struct field *field, const struct options *options,
		   const struct pair_facts *facts, uint32_t done, struct verdict *verdict)
{
	uint64_t window_ms = (uint64_t)done * (uint64_t)options->interval_ms, bytes = 0;
	int64_t mtu;

	if (window_ms > (uint64_t)options->duration_ms)
		window_ms = (uint64_t)options->duration_ms;
	for (uint32_t i = 0; i < done; i++)
		bytes += bytes_of_interval(field, i);
	if (bytes == 0)
		verdict_end(verdict, EXIT_INVALID, "nothing was received");
	out_object("stream");
	out_text("proto", proto_names[options->proto]);
	out_number("streams", field->streams);
	out_signed("block_bytes", options->block);
	report_size("sndbuf_bytes", facts->sndbuf);
	report_size("rcvbuf_bytes", facts->rcvbuf);
	out_bool("nodelay", options->nodelay != 0);
	if (facts->congestion[0])
		out_text("congestion", facts->congestion);
	else
		out_null("congestion");
	if (!host_file_number("/sys/class/net/lo/mtu", &mtu))
		mtu = -1;
	report_size("lo_mtu", mtu);
	out_text("cpu_pattern", cpu_pattern(options));
	report_size("cpu_tx", options->cpu_tx);
	report_size("cpu_rx", options->cpu_rx);
	out_signed("warmup_ms", options->warmup_ms);
	out_number("window_ms", window_ms);
	out_number("bytes", bytes);
	out_number("bits_per_second", bits_per_second(bytes, window_ms));
	report_streams(field, done, window_ms);
	report_intervals(field, options, done);
	out_close();
}
