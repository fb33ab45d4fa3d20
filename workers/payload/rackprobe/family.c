/* Forking, watching and ending the children. */
#include "family.h"

#include "clock.h"

/* seconds by which the last defence of a process outlives the watchdog */
enum { ALARM_MARGIN = 10 };

static struct family {
	int pid[CHILDREN_MAX];
	uint32_t born, gone;
	int failed, interrupted;
	struct usage usage;
	signal_set signals;
	struct moment deadline;
	uint32_t timeout_s;
} family;

void family_open(uint32_t timeout_s)
{
	static const int wishes[] = {SIG_HUP, SIG_INT, SIG_TERM};

	family = (struct family){.timeout_s = timeout_s};
	/* whoever ignored child signals would never be told of an end */
	sys_ignore_signal(SIG_CHLD, 0);
	family.signals = SIGNAL_BIT(SIG_CHLD);
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
		if (!sys_signal_ignored(wishes[i]))
			family.signals |= SIGNAL_BIT(wishes[i]);
	sys_block_signals(family.signals);
	family.deadline = clock_after(clock_now(), (struct moment){(long)timeout_s, 0});
	sys_alarm((long)timeout_s + ALARM_MARGIN);
}

long family_fork(void)
{
	int parent = sys_pid();
	long pid;

	if (family.born == CHILDREN_MAX)
		return -E_AGAIN;
	pid = sys_fork();
	if (pid > 0)
		family.pid[family.born++] = (int)pid;
	if (pid != 0)
		return pid;
	/* the parent may have died before it could be tied to us */
	if (sys_die_with_parent() < 0 || sys_parent() != parent)
		sys_exit(1);
	sys_unblock_signals(family.signals);
	sys_alarm((long)family.timeout_s + ALARM_MARGIN);
	return 0;
}

static void add(struct usage *sum, const struct usage *usage)
{
	sum->user.s += usage->user.s;
	sum->user.us += usage->user.us;
	sum->system.s += usage->system.s;
	sum->system.us += usage->system.us;
	sum->minor_faults += usage->minor_faults;
	sum->major_faults += usage->major_faults;
	sum->voluntary += usage->voluntary;
	sum->involuntary += usage->involuntary;
}

/* Collects the children that have ended; with hang, waits for all of them. */
static void collect(int hang)
{
	while (family.gone < family.born) {
		struct usage usage;
		int status;
		long pid = sys_wait(-1, &status, !hang, &usage);

		if (pid == -E_INTR)
			continue;
		if (pid <= 0)
			return;
		for (uint32_t i = 0; i < family.born; i++)
			if (family.pid[i] == pid)
				family.pid[i] = 0;
		family.gone++;
		add(&family.usage, &usage);
		int by = status & 0x7f;

		/* a signal to the whole group may reach a child before it reaches us */
		if (by == SIG_HUP || by == SIG_INT || by == SIG_TERM)
			family.interrupted = 1;
		else if (status)
			family.failed = 1;
	}
}

enum event family_wait(const struct moment *until)
{
	for (;;) {
		struct moment now = clock_now();
		int64_t left = clock_between(now, family.deadline);
		int64_t wanted = until ? clock_between(now, *until) : left;
		long signal;

		collect(0);
		if (family.interrupted)
			return INTERRUPTED;
		if (family.gone == family.born)
			return ALL_GONE;
		if (left <= 0)
			return OVERDUE;
		if (wanted <= 0)
			return TIME_REACHED;
		signal = sys_wait_signal(family.signals,
					 clock_span((uint64_t)(wanted < left ? wanted : left)));
		if (signal > 0 && signal != SIG_CHLD)
			return INTERRUPTED;
	}
}

void family_end(void)
{
	for (uint32_t i = 0; i < family.born; i++)
		if (family.pid[i])
			sys_kill(family.pid[i], SIG_KILL);
	collect(1);
	/* what follows is arithmetic and may take its time */
	sys_alarm(0);
}

struct usage family_usage(void)
{
	return family.usage;
}

int family_failed(void)
{
	return family.failed;
}
