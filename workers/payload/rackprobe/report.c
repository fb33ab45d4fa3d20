/* The parts of the JSON document that all commands share. */
#include "report.h"

#include "host.h"
#include "out.h"
#include "sys.h"
#include "text.h"

#ifndef RACKPROBE_BUILD
#define RACKPROBE_BUILD "unknown"
#endif
#ifndef RACKPROBE_TARGET
#define RACKPROBE_TARGET "unknown"
#endif

static const char version[] = "1.0.0";
static struct moment started;

int report_open(const struct options *options, size_t size)
{
	started = clock_now();
	if (!out_open(size)) {
		COMPLAIN("no memory for the result");
		return 0;
	}
	out_object(NULL);
	out_text("schema", "rackprobe/1");
	out_text("tool_version", version);
	out_text("build_target", RACKPROBE_TARGET);
	out_text("build_id", RACKPROBE_BUILD);
	out_array("command");
	for (int i = 0; i < options->argc; i++)
		out_text(NULL, options->argv[i]);
	out_close();
	out_text("nonce", options->nonce);
	out_text("label", options->label);
	out_signed("start_wall_s", clock_wall());
	out_signed("start_mono_ns", clock_between((struct moment){0, 0}, started));
	return 1;
}

static void report_memory(const char *name, const char *key)
{
	uint64_t kib;

	if (host_number(host_file("/proc/meminfo"), key, &kib))
		out_number(name, kib);
	else
		out_null(name);
}

/* "0.42 ..." as thousandths */
static void report_load(void)
{
	const char *at = host_file("/proc/loadavg");
	uint64_t whole, hundredths;

	if (*at < '0' || *at > '9') {
		out_null("load1_before");
		return;
	}
	whole = text_take_number(&at);
	at += *at == '.';
	hundredths = text_take_number(&at);
	out_thousandths("load1_before", whole * 1000 + hundredths * 10);
}

void report_host(void)
{
	struct names names = {{0}};

	sys_uname(&names);
	out_object("host");
	out_text("nodename", names.node);
	out_text("machine", names.machine);
	out_text("release", names.release);
	out_text("version", names.version);
	out_number("cpus_online", host_cpus());
	report_memory("mem_total_kb", "MemTotal");
	report_memory("mem_free_kb", "MemFree");
	report_load();
	out_close();
}

/* Name of the clock source, without its line end, or null. */
static void report_source(void)
{
	const char *text = host_file(
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	char name[32];
	size_t n = 0;

	while (text[n] > ' ' && n < sizeof name - 1) {
		name[n] = text[n];
		n++;
	}
	name[n] = '\0';
	if (n)
		out_text("source", name);
	else
		out_null("source");
}

void report_clock(const struct clock_facts *facts)
{
	const char *flags = text_find(host_file("/proc/cpuinfo"), "\nflags");

	out_bool("cpu_tsc", flags && text_find(flags, " tsc "));
	out_object("clock");
	out_text("name", facts->name);
	out_text("call", facts->call);
	if (facts->getres >= 0)
		out_signed("getres_ns", facts->getres);
	else
		out_null("getres_ns");
	out_number("step_ns", facts->step);
	out_number("read_ns", facts->read);
	out_number("backsteps", facts->backsteps);
	report_source();
	out_close();
	out_object("timer");
	out_number("quantum_ns", facts->quantum);
	out_text("class", facts->highres ? "highres" : "tick");
	if (facts->highres)
		out_null("hz_estimate");
	else
		out_number("hz_estimate", facts->hz);
	out_close();
}

/* us may be negative where the pair is a difference */
static uint64_t milliseconds(long s, long us)
{
	uint64_t rest;

	return divide((uint64_t)((int64_t)s * 1000000 + us), 1000, &rest);
}

static void report_usage(const struct usage *usage)
{
	out_signed("ctxt_voluntary", usage->voluntary);
	out_signed("ctxt_involuntary", usage->involuntary);
	out_number("user_ms", milliseconds(usage->user.s, usage->user.us));
	out_number("system_ms", milliseconds(usage->system.s, usage->system.us));
}

/* The share of CPU time that was not idle, in thousandths. */
static uint64_t busy(const struct counters *before, const struct counters *after)
{
	uint64_t idle = after->idle - before->idle + after->iowait - before->iowait;
	uint64_t work = after->user - before->user + after->nice - before->nice + after->system
			- before->system + after->irq - before->irq + after->softirq
			- before->softirq + after->steal - before->steal;
	uint64_t rest;

	return idle + work ? divide(work * 1000, idle + work, &rest) : 0;
}

void report_cost(const struct reading *before, const struct reading *after,
		 const struct usage *usage)
{
	const struct counters *a = &before->host, *b = &after->host;
	uint64_t rest;

	out_object("cost");
	out_number("span_ms",
		   divide((uint64_t)clock_between(before->at, after->at), 1000000, &rest));
	if (a->known && b->known) {
		out_number("ctxt_system", b->switches - a->switches);
		out_number("interrupts", b->interrupts - a->interrupts);
		out_number("idle_ms", (b->idle - a->idle) * 10);
		out_thousandths("busy_ratio", busy(a, b));
	} else {
		out_null("ctxt_system");
		out_null("interrupts");
		out_null("idle_ms");
		out_null("busy_ratio");
	}
	if (usage)
		report_usage(usage);
	if (before->retransmits_known && after->retransmits_known)
		out_number("retrans_segs", after->retransmits - before->retransmits);
	else
		out_null("retrans_segs");
	out_close();
}

int report_overdue(void)
{
	COMPLAIN("the time that the watchdog allows (--timeout) is over");
	return EXIT_WATCHDOG;
}

int report_close(const struct options *options, const struct verdict *verdict)
{
	out_signed("duration_ns", clock_between(started, clock_now()));
	out_text("status", verdict_status(verdict));
	if (verdict->code == EXIT_OK) {
		out_null("error");
	} else {
		out_object("error");
		out_text("code", verdict_error(verdict));
		out_text("text", verdict->text);
		out_close();
		COMPLAIN(verdict->text);
	}
	out_array("flags");
	for (uint32_t i = 0; i < verdict->flags; i++)
		out_text(NULL, verdict->flag[i]);
	out_close();
	out_close();
	if (!out_send(options->nonce)) {
		COMPLAIN("the result could not be written");
		return EXIT_INTERNAL;
	}
	return (int)verdict->code;
}
