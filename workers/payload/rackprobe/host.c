/* Reading /proc and /sys. */
#include "host.h"

#include "sys.h"
#include "text.h"

/* /proc/stat of a machine with some hundred CPUs fits */
static char content[65536];

const char *host_file(const char *path)
{
	long fd = sys_open(path, OPEN_READ);
	size_t used = 0;

	if (fd >= 0) {
		while (used < sizeof content - 1) {
			long n = sys_read((int)fd, content + used, sizeof content - 1 - used);

			if (n == -E_INTR)
				continue;
			if (n <= 0)
				break;
			used += (size_t)n;
		}
		sys_close((int)fd);
	}
	content[used] = '\0';
	return content;
}

/* The text behind a key that begins a line, or NULL. */
static const char *behind(const char *text, const char *key)
{
	while (text) {
		if (text_begins(text, key))
			return text + text_length(key);
		text = text_find(text, "\n");
		if (text)
			text++;
	}
	return NULL;
}

int host_number(const char *text, const char *key, uint64_t *number)
{
	const char *at = behind(text, key);

	if (!at)
		return 0;
	if (*at == ':')
		at++;
	*number = text_take_number(&at);
	return 1;
}

int host_file_number(const char *path, int64_t *number)
{
	const char *text = host_file(path);
	int negative = *text == '-';

	text += negative;
	if (*text < '0' || *text > '9')
		return 0;
	*number = (int64_t)text_take_number(&text);
	if (negative)
		*number = -*number;
	return 1;
}

uint32_t host_cpus(void)
{
	uint32_t n = 0;

	for (const char *at = host_file("/proc/stat"); (at = text_find(at, "\ncpu")); at++)
		n++;
	return n ? n : 1;
}

struct counters host_counters(void)
{
	struct counters now = {0};
	const char *text = host_file("/proc/stat"), *at = behind(text, "cpu ");

	if (!at || !host_number(text, "ctxt", &now.switches))
		return now;
	host_number(text, "intr", &now.interrupts);
	now.user = text_take_number(&at);
	now.nice = text_take_number(&at);
	now.system = text_take_number(&at);
	now.idle = text_take_number(&at);
	/* kernels before 2.6 end here, before 2.6.11 before steal; what is not there reads as 0 */
	now.iowait = text_take_number(&at);
	now.irq = text_take_number(&at);
	now.softirq = text_take_number(&at);
	now.steal = text_take_number(&at);
	now.known = 1;
	return now;
}

int host_retransmits(uint64_t *segments)
{
	const char *names = behind(host_file("/proc/net/snmp"), "Tcp:");
	const char *values = names ? behind(names, "Tcp:") : NULL;

	if (!values)
		return 0;
	/* the names stand in one line and the values in the next: count along both */
	while (*names == ' ') {
		names++;
		*segments = 0;
		while (*values == ' ')
			values++;
		if (*values == '-')
			values++;
		*segments = text_take_number(&values);
		if (text_begins(names, "RetransSegs"))
			return 1;
		while (*names && *names != ' ' && *names != '\n')
			names++;
	}
	return 0;
}
