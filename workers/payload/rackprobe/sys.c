/* System calls as functions; the differences between machines end here. */
#include "sys.h"

#define CALL0(n) sys_call(n, 0, 0, 0, 0, 0)
#define CALL1(n, a) sys_call(n, (long)(a), 0, 0, 0, 0)
#define CALL2(n, a, b) sys_call(n, (long)(a), (long)(b), 0, 0, 0)
#define CALL3(n, a, b, c) sys_call(n, (long)(a), (long)(b), (long)(c), 0, 0)
#define CALL4(n, a, b, c, d) sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0)

enum { AT_CWD = -100, WAIT_NO_HANG = 1, LOCK_CURRENT_FUTURE = 3 };
enum { PARENT_DEATH_SIGNAL = 1, TIMER_SLACK = 29 };
enum { PROTECTION_READ_WRITE = 3, MAP_SHARED_ANONYMOUS = 0x21 };
enum { SIGNALS_BLOCK = 0, SIGNALS_UNBLOCK = 1 };

long sys_read(int fd, void *buffer, size_t size)
{
	return CALL3(SYS_read, fd, buffer, size);
}

long sys_write(int fd, const void *buffer, size_t size)
{
	return CALL3(SYS_write, fd, buffer, size);
}

long sys_open(const char *path, int how)
{
#ifdef SYS_open
	return CALL2(SYS_open, path, how);
#else
	return CALL3(SYS_openat, AT_CWD, path, how);
#endif
}

long sys_close(int fd)
{
	return CALL1(SYS_close, fd);
}

long sys_pipe(int ends[2])
{
#ifdef SYS_pipe
	return CALL1(SYS_pipe, ends);
#else
	return CALL2(SYS_pipe2, ends, 0);
#endif
}

long sys_fork(void)
{
#ifdef SYS_fork
	return CALL0(SYS_fork);
#else
	return CALL1(SYS_clone, SIG_CHLD);
#endif
}

long sys_wait(int pid, int *status, int no_hang, struct usage *usage)
{
	return CALL4(SYS_wait4, pid, status, no_hang ? WAIT_NO_HANG : 0, usage);
}

long sys_kill(int pid, int signal)
{
	return CALL2(SYS_kill, pid, signal);
}

int sys_pid(void)
{
	return (int)CALL0(SYS_getpid);
}

int sys_parent(void)
{
	return (int)CALL0(SYS_getppid);
}

_Noreturn void sys_exit(int code)
{
	for (;;)
		CALL1(SYS_exit_group, code);
}

long sys_uname(struct names *names)
{
	return CALL1(SYS_uname, names);
}

long sys_usage(struct usage *usage)
{
	return CALL2(SYS_getrusage, 0, usage);
}

long sys_alarm(long seconds)
{
	struct { long every_s, every_us, first_s, first_us; } timer = {0, 0, seconds, 0};

	return CALL3(SYS_setitimer, 0, &timer, 0);
}

long sys_lock_memory(void)
{
	return CALL1(SYS_mlockall, LOCK_CURRENT_FUTURE);
}

long sys_unlock_memory(void)
{
	return CALL0(SYS_munlockall);
}

long sys_die_with_parent(void)
{
	return CALL2(SYS_prctl, PARENT_DEATH_SIGNAL, SIG_KILL);
}

long sys_no_slack(void)
{
	return CALL2(SYS_prctl, TIMER_SLACK, 1);
}

/* Raw, because some libcs refuse this call whatever the kernel would say. */
long sys_set_policy(int policy, int priority)
{
	return CALL3(SYS_sched_setscheduler, 0, policy, &priority);
}

long sys_get_policy(void)
{
	return CALL1(SYS_sched_getscheduler, 0);
}

long sys_set_cpus(const struct cpu_set *set)
{
	return CALL3(SYS_sched_setaffinity, 0, sizeof *set, set);
}

long sys_get_cpus(struct cpu_set *set)
{
	return CALL3(SYS_sched_getaffinity, 0, sizeof *set, set);
}

/* The kernel's own form; without a handler there is nothing to return to. */
struct action {
	unsigned long handler, flags, restorer;
	signal_set mask;
};

long sys_ignore_signal(int signal, int ignore)
{
	struct action action = {ignore ? 1 : 0, 0, 0, 0};

	return CALL4(SYS_rt_sigaction, signal, &action, 0, sizeof(signal_set));
}

int sys_signal_ignored(int signal)
{
	struct action action = {0, 0, 0, 0};

	CALL4(SYS_rt_sigaction, signal, 0, &action, sizeof(signal_set));
	return action.handler == 1;
}

long sys_block_signals(signal_set set)
{
	return CALL4(SYS_rt_sigprocmask, SIGNALS_BLOCK, &set, 0, sizeof set);
}

long sys_unblock_signals(signal_set set)
{
	return CALL4(SYS_rt_sigprocmask, SIGNALS_UNBLOCK, &set, 0, sizeof set);
}

long sys_wait_signal(signal_set set, struct moment span)
{
	long result = CALL4(SYS_rt_sigtimedwait, &set, 0, &span, sizeof set);
#ifdef SYS_rt_sigtimedwait_time64
	if (result == -E_NOSYS) {
		struct { int64_t s, ns; } wide = {span.s, span.ns};

		result = CALL4(SYS_rt_sigtimedwait_time64, &set, 0, &wide, sizeof set);
	}
#endif
	return result;
}

void *sys_shared_memory(size_t size)
{
	unsigned long address =
		(unsigned long)sys_mmap(size, PROTECTION_READ_WRITE, MAP_SHARED_ANONYMOUS);

	return address > -4096UL ? NULL : (void *)address;
}
