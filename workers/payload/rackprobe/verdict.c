/* How a call ended. */
#include "verdict.h"

#include <stddef.h>

void verdict_end(struct verdict *verdict, enum exit_code code, const char *text)
{
	if (verdict->code == EXIT_OK) {
		verdict->code = code;
		verdict->text = text;
	}
}

void verdict_flag(struct verdict *verdict, const char *flag)
{
	if (verdict->flags < FLAGS_MAX)
		verdict->flag[verdict->flags++] = flag;
}

const char *verdict_status(const struct verdict *verdict)
{
	switch (verdict->code) {
	case EXIT_OK:
		return "ok";
	case EXIT_INTERRUPTED:
		return "partial";
	case EXIT_INVALID:
		return "invalid";
	default:
		return "failed";
	}
}

const char *verdict_error(const struct verdict *verdict)
{
	switch (verdict->code) {
	case EXIT_OK:
		return NULL;
	case EXIT_UNSUPPORTED:
		return "unsupported";
	case EXIT_PERMISSION:
		return "permission";
	case EXIT_ENVIRONMENT:
		return "environment";
	case EXIT_INVALID:
		return "invalid";
	case EXIT_INTERRUPTED:
		return "interrupted";
	default:
		return "internal";
	}
}
