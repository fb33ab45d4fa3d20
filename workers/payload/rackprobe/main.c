/* rackprobe: one static binary that measures a host from within, and needs nothing on it. */
#include "main.h"

#include "clock.h"
#include "latency.h"
#include "options.h"
#include "report.h"
#include "selftest.h"
#include "stream.h"
#include "verdict.h"

static int info(const struct options *options)
{
	struct verdict verdict = {.code = EXIT_OK};
	struct clock_facts clock = clock_measure();

	if (!report_open(options, 65536))
		return EXIT_ENVIRONMENT;
	report_host();
	report_clock(&clock);
	return report_close(options, &verdict);
}

int rackprobe(int argc, char **argv)
{
	struct options options;

	if (!options_parse(&options, argc, argv))
		return EXIT_USAGE;
	sys_no_slack();
	switch (options.command) {
	case INFO:
		return info(&options);
	case LATENCY:
		return latency(&options);
	case STREAM:
		return stream(&options);
	case SELFTEST:
		return selftest(&options);
	}
	return EXIT_INTERNAL;
}
