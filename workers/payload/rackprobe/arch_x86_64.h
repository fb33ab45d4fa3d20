/* System calls of x86-64: numbers, how to make one, and the entry point. */
#ifndef ARCH_X86_64_H
#define ARCH_X86_64_H

#define SYS_read 0
#define SYS_write 1
#define SYS_open 2
#define SYS_close 3
#define SYS_mmap 9
#define SYS_rt_sigaction 13
#define SYS_rt_sigprocmask 14
#define SYS_pipe 22
#define SYS_nanosleep 35
#define SYS_setitimer 38
#define SYS_getpid 39
#define SYS_socket 41
#define SYS_connect 42
#define SYS_accept 43
#define SYS_bind 49
#define SYS_listen 50
#define SYS_getsockname 51
#define SYS_socketpair 53
#define SYS_setsockopt 54
#define SYS_getsockopt 55
#define SYS_fork 57
#define SYS_wait4 61
#define SYS_kill 62
#define SYS_uname 63
#define SYS_gettimeofday 96
#define SYS_getrusage 98
#define SYS_getppid 110
#define SYS_rt_sigtimedwait 128
#define SYS_sched_setscheduler 144
#define SYS_sched_getscheduler 145
#define SYS_mlockall 151
#define SYS_munlockall 152
#define SYS_prctl 157
#define SYS_sched_setaffinity 203
#define SYS_sched_getaffinity 204
#define SYS_clock_gettime 228
#define SYS_clock_getres 229
#define SYS_clock_nanosleep 230
#define SYS_exit_group 231

#define VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

static inline long sys_call(long n, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long sys_mmap(unsigned long size, long prot, long flags)
{
	register long r10 __asm__("r10") = flags;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"((long)SYS_mmap), "D"(0L), "S"(size), "d"(prot), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* The kernel enters with the stack holding argc, argv, the environment and the auxiliary vector. */
#define ENTRY                                                                                      \
	__asm__(".globl _start\n"                                                                  \
		"_start:\n"                                                                        \
		"	xor %ebp, %ebp\n"                                                          \
		"	mov %rsp, %rdi\n"                                                          \
		"	and $-16, %rsp\n"                                                          \
		"	call enter\n")

#endif
