/* How a call ended: exit status, the status and error of the JSON document, and its flags. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdint.h>

enum exit_code {
	EXIT_OK = 0,
	EXIT_USAGE = 2,
	EXIT_UNSUPPORTED = 3,
	EXIT_PERMISSION = 4,
	EXIT_ENVIRONMENT = 5,
	EXIT_INVALID = 6,
	EXIT_INTERRUPTED = 7,
	EXIT_WATCHDOG = 8,
	EXIT_INTERNAL = 70,
};

enum { FLAGS_MAX = 16 };

struct verdict {
	enum exit_code code;
	/* one sentence; NULL when all went well */
	const char *text;
	const char *flag[FLAGS_MAX];
	uint32_t flags;
};

/* The first reason stays. */
void verdict_end(struct verdict *verdict, enum exit_code code, const char *text);
void verdict_flag(struct verdict *verdict, const char *flag);
const char *verdict_status(const struct verdict *verdict);
const char *verdict_error(const struct verdict *verdict);

#endif
