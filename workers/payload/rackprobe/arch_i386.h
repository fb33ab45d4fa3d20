/* System calls of 32-bit x86, by int 0x80: the one way that every kernel since 2.6.0 knows.
 *
 * Time is in 32-bit structures (clock_gettime, not clock_gettime64): old kernels know no other.
 * Nothing here takes six arguments, so ebp stays free: mmap is the old call, which takes a block
 * in memory, and sockets go through socketcall.
 */
#ifndef ARCH_I386_H
#define ARCH_I386_H

#define SYS_fork 2
#define SYS_read 3
#define SYS_write 4
#define SYS_open 5
#define SYS_close 6
#define SYS_getpid 20
#define SYS_kill 37
#define SYS_pipe 42
#define SYS_getppid 64
#define SYS_getrusage 77
#define SYS_gettimeofday 78
#define SYS_old_mmap 90
#define SYS_socketcall 102
#define SYS_setitimer 104
#define SYS_wait4 114
#define SYS_uname 122
#define SYS_mlockall 152
#define SYS_munlockall 153
#define SYS_sched_setscheduler 156
#define SYS_sched_getscheduler 157
#define SYS_nanosleep 162
#define SYS_prctl 172
#define SYS_rt_sigaction 174
#define SYS_rt_sigprocmask 175
#define SYS_rt_sigtimedwait 177
#define SYS_sched_setaffinity 241
#define SYS_sched_getaffinity 242
#define SYS_exit_group 252
#define SYS_clock_gettime 265
#define SYS_clock_getres 266
#define SYS_clock_nanosleep 267
/* kernels built without the 32-bit time calls (since 5.1) have these instead */
#define SYS_clock_gettime64 403
#define SYS_clock_getres_time64 406
#define SYS_clock_nanosleep_time64 407
#define SYS_rt_sigtimedwait_time64 421

#define VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

static inline long sys_call(long n, long a, long b, long c, long d, long e)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return result;
}

static inline long sys_mmap(unsigned long size, long prot, long flags)
{
	long block[6] = {0, (long)size, prot, flags, -1, 0};

	return sys_call(SYS_old_mmap, (long)block, 0, 0, 0, 0);
}

#define ENTRY                                                                                      \
	__asm__(".globl _start\n"                                                                  \
		"_start:\n"                                                                        \
		"	xor %ebp, %ebp\n"                                                          \
		"	mov %esp, %eax\n"                                                          \
		"	and $-16, %esp\n"                                                          \
		"	sub $12, %esp\n"                                                           \
		"	push %eax\n"                                                               \
		"	call enter\n")

#endif
