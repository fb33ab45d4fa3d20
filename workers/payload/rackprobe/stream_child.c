/* The two ends of a stream. They send or receive without a pause, and never outlast the window. */
#include "net.h"
#include "rights.h"
#include "stream.h"
#include "sys.h"

static _Noreturn void fail(struct field *field, enum exit_code code, const char *text)
{
	/* the other end breaks next, and shall not hide the reason */
	if (field->code == EXIT_OK) {
		field->text = text;
		field->code = code;
	}
	sys_exit(1);
}

/* Keeps one descriptor, closes every other one, and waits until the parent lets go. */
static void get_ready(struct field *field, int (*ends)[2], int keep, const int go[2], int64_t cpu)
{
	char none;

	for (uint32_t i = 0; i < field->streams; i++)
		for (int side = 0; side < 2; side++)
			if (ends[i][side] != keep)
				sys_close(ends[i][side]);
	sys_close(go[1]);
	if (cpu != NOT_GIVEN && !rights_bind((int)cpu))
		fail(field, EXIT_PERMISSION, "a process may not use the CPU that was asked for");
	while (sys_read(go[0], &none, 1) == -E_INTR)
		;
	sys_close(go[0]);
}

/* A block of its own for each process, mapped before the start. */
static char *make_block(struct field *field, size_t size)
{
	char *block = sys_shared_memory(size);

	if (!block)
		fail(field, EXIT_ENVIRONMENT, "no memory for a block");
	for (size_t i = 0; i < size; i++)
		block[i] = (char)i;
	return block;
}

static int is_before(struct moment a, struct moment b)
{
	return a.s < b.s || (a.s == b.s && a.ns < b.ns);
}

_Noreturn void stream_receive(struct field *field, const struct options *options, uint32_t number,
			      int (*ends)[2], const int go[2])
{
	int fd = ends[number][PAIR_RX];
	char *block = make_block(field, (size_t)options->block);
	uint64_t *interval = field->bytes + (size_t)number * field->intervals;
	uint64_t *last = interval + field->intervals - 1;
	struct moment border;

	get_ready(field, ends, fd, go, options->cpu_rx);
	border = clock_after(field->from, field->interval);
	for (;;) {
		long n = sys_read(fd, block, (size_t)options->block);
		struct moment now = clock_now();

		if (n == -E_INTR)
			continue;
		if (!is_before(now, field->until))
			sys_exit(0);
		if (n <= 0)
			fail(field, EXIT_ENVIRONMENT, "a stream broke before the end");
		if (is_before(now, field->from))
			continue;
		for (; interval < last && !is_before(now, border); interval++)
			border = clock_after(border, field->interval);
		*interval += (uint64_t)n;
	}
}

_Noreturn void stream_send(struct field *field, const struct options *options, uint32_t number,
			   int (*ends)[2], const int go[2])
{
	int fd = ends[number][PAIR_TX];
	char *block = make_block(field, (size_t)options->block);
	long n;

	/* the receiver's end is the sign to stop */
	sys_ignore_signal(SIG_PIPE, 1);
	get_ready(field, ends, fd, go, options->cpu_tx);
	do
		n = sys_write(fd, block, (size_t)options->block);
	while (n > 0 || n == -E_INTR);
	if (is_before(clock_now(), field->until))
		fail(field, EXIT_ENVIRONMENT, "a stream broke before the end");
	field->retransmits[number] = net_retransmits(fd);
	sys_exit(0);
}
