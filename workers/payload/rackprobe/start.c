/* Where the kernel enters, and the two functions that compilers call without being asked. */
#include "clock.h"
#include "main.h"
#include "sys.h"

ENTRY;

/* stack: argc, argv, NULL, environment, NULL, auxiliary vector */
_Noreturn __attribute__((used)) void enter(long *stack)
{
	char **argv = (char **)(stack + 1);
	long *auxiliary = stack + 1 + stack[0] + 1;

	while (*auxiliary++)
		;
	clock_open((const unsigned long *)auxiliary);
	sys_exit(rackprobe((int)stack[0], argv));
}

__attribute__((used, no_builtin)) void *memset(void *to, int byte, size_t n)
{
	for (unsigned char *p = to; n--; p++)
		*p = (unsigned char)byte;
	return to;
}

__attribute__((used, no_builtin)) void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *p = to;

	for (const unsigned char *q = from; n--;)
		*p++ = *q++;
	return to;
}
