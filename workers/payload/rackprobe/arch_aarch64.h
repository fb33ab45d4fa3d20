/* System calls of 64-bit ARM: numbers, how to make one, and the entry point. */
#ifndef ARCH_AARCH64_H
#define ARCH_AARCH64_H

#define SYS_openat 56
#define SYS_close 57
#define SYS_pipe2 59
#define SYS_read 63
#define SYS_write 64
#define SYS_exit_group 94
#define SYS_nanosleep 101
#define SYS_setitimer 103
#define SYS_clock_gettime 113
#define SYS_clock_getres 114
#define SYS_clock_nanosleep 115
#define SYS_sched_setscheduler 119
#define SYS_sched_getscheduler 120
#define SYS_sched_setaffinity 122
#define SYS_sched_getaffinity 123
#define SYS_kill 129
#define SYS_rt_sigaction 134
#define SYS_rt_sigprocmask 135
#define SYS_rt_sigtimedwait 137
#define SYS_uname 160
#define SYS_getrusage 165
#define SYS_prctl 167
#define SYS_gettimeofday 169
#define SYS_getpid 172
#define SYS_getppid 173
#define SYS_socket 198
#define SYS_socketpair 199
#define SYS_bind 200
#define SYS_listen 201
#define SYS_accept 202
#define SYS_connect 203
#define SYS_getsockname 204
#define SYS_setsockopt 208
#define SYS_getsockopt 209
#define SYS_clone 220
#define SYS_mmap 222
#define SYS_mlockall 230
#define SYS_munlockall 231
#define SYS_wait4 260

#define VDSO_CLOCK_GETTIME "__kernel_clock_gettime"

static inline long sys_call(long n, long a, long b, long c, long d, long e)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

static inline long sys_mmap(unsigned long size, long prot, long flags)
{
	register long x8 __asm__("x8") = SYS_mmap;
	register long x0 __asm__("x0") = 0;
	register long x1 __asm__("x1") = (long)size;
	register long x2 __asm__("x2") = prot;
	register long x3 __asm__("x3") = flags;
	register long x4 __asm__("x4") = -1;
	register long x5 __asm__("x5") = 0;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#define ENTRY                                                                                      \
	__asm__(".globl _start\n"                                                                  \
		"_start:\n"                                                                        \
		"	mov x29, #0\n"                                                             \
		"	mov x0, sp\n"                                                              \
		"	bl enter\n")

#endif
