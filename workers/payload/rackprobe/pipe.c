/* Method pipe: one process sends a byte, the other looks at the clock when it has read it.
 *
 * The sender leaves its stamp in shared memory just before it writes. What is measured is wake-up,
 * switch and return from the system call, without any error of a timer; it works alike on kernels
 * with and without high-resolution timers.
 */
#include "family.h"
#include "latency.h"

/* what the receiver answers */
enum { GO_ON = 'g', BEGIN = 'b', END = 'e' };

static void send_one(struct run *run, int fd)
{
	struct moment now = clock_now();

	run->sent.s = now.s;
	run->sent.ns = now.ns;
	if (sys_write(fd, "x", 1) != 1)
		sys_exit(1);
}

static _Noreturn void send_all(struct run *run, const struct plan *plan, int to, int from)
{
	struct rights rights;
	/* one below the receiver, so that it runs at once on the same CPU */
	const char *refused = rights_take(&rights, plan->options, (int)plan->options->prio - 1,
					  plan->cpu2);
	struct tally skips = {0};
	struct moment due;

	if (refused)
		run_fail(run, EXIT_PERMISSION, refused);
	due = clock_after(clock_now(), plan->period);
	for (;;) {
		char answer;

		clock_sleep_until(due);
		send_one(run, to);
		if (sys_read(from, &answer, 1) != 1)
			sys_exit(1);
		if (answer == END)
			sys_exit(0);
		if (answer == BEGIN)
			skips = (struct tally){0};
		due = answer == BEGIN ? clock_after(clock_now(), plan->period)
				      : tally_next(&skips, due, clock_now(), plan->period);
		run->skipped = skips.overruns;
	}
}

static void receive(struct run *run, struct tally *tally, int fd)
{
	struct moment now, sent;
	char byte;

	if (sys_read(fd, &byte, 1) != 1)
		sys_exit(1);
	now = clock_now();
	sent.s = run->sent.s;
	sent.ns = run->sent.ns;
	tally_take(tally, clock_between(sent, now));
}

static void answer(int fd, char word)
{
	if (sys_write(fd, &word, 1) != 1)
		sys_exit(1);
}

static _Noreturn void receive_all(struct run *run, const struct plan *plan, int to, int from)
{
	const char *refused = rights_take(&run->rights, plan->options, (int)plan->options->prio,
					  plan->cpu);
	struct moment warm_until = clock_after(clock_now(), plan->warmup_span);

	if (refused)
		run_fail(run, EXIT_PERMISSION, refused);
	for (uint32_t i = 0; i < plan->samples; i++)
		run->sample[i] = 0;
	/* the first sample is always dropped: it holds the start of the sender */
	for (;;) {
		receive(run, &run->warm, from);
		if (tally_full(&run->warm) && clock_between(warm_until, clock_now()) >= 0)
			break;
		answer(to, GO_ON);
	}
	run->warm.overruns = run->skipped;
	run_begin(run);
	answer(to, BEGIN);
	for (;;) {
		receive(run, &run->measured, from);
		if (tally_full(&run->measured))
			break;
		answer(to, GO_ON);
	}
	run->measured.overruns = run->skipped;
	run_end(run);
	answer(to, END);
	sys_exit(0);
}

int pipe_start(struct run *run, const struct plan *plan)
{
	int forth[2], back[2];
	long pid;

	if (sys_pipe(forth) < 0 || sys_pipe(back) < 0)
		return 0;
	/* each process closes the ends that are not its own: a pipe ends only when all are closed */
	pid = family_fork();
	if (pid == 0) {
		sys_close(forth[1]);
		sys_close(back[0]);
		receive_all(run, plan, back[1], forth[0]);
	}
	if (pid > 0)
		pid = family_fork();
	if (pid == 0) {
		sys_close(forth[0]);
		sys_close(back[1]);
		send_all(run, plan, forth[1], back[0]);
	}
	for (int i = 0; i < 2; i++) {
		sys_close(forth[i]);
		sys_close(back[i]);
	}
	return pid > 0;
}
