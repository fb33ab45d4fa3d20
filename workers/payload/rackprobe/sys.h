/* What the kernel offers, as small functions. There is no libc: each is one raw system call.
 *
 * A negative result is -errno, as the kernel gives it.
 */
#ifndef SYS_H
#define SYS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "arch_x86_64.h"
#elif defined(__i386__)
#include "arch_i386.h"
#elif defined(__aarch64__)
#include "arch_aarch64.h"
#else
#error "rackprobe knows x86_64, i386 and aarch64"
#endif

enum { E_PERM = 1, E_INTR = 4, E_AGAIN = 11, E_ACCES = 13, E_PIPE = 32, E_NOSYS = 38 };
enum { SIG_HUP = 1, SIG_INT = 2, SIG_KILL = 9, SIG_PIPE = 13, SIG_TERM = 15, SIG_CHLD = 17 };
enum { OPEN_READ = 0, OPEN_WRITE = 1, OPEN_BOTH = 2 };
enum { POLICY_OTHER = 0, POLICY_FIFO = 1, POLICY_RR = 2 };
enum { CLOCK_WALL = 0, CLOCK_MONO = 1 };

/* A time or a span in the kernel's own form; on 32-bit machines both parts have 32 bits. */
struct moment {
	long s;
	long ns;
};

struct usage {
	struct { long s, us; } user, system;
	long max_rss, ix_rss, id_rss, is_rss;
	long minor_faults, major_faults;
	long swaps, in_block, out_block, sent, received, signals;
	long voluntary, involuntary;
};

struct names {
	char system[65], node[65], release[65], version[65], machine[65], domain[65];
};

typedef uint64_t signal_set;
#define SIGNAL_BIT(n) ((signal_set)1 << ((n) - 1))

enum { CPU_WORDS = 1024 / (8 * sizeof(unsigned long)) };
struct cpu_set {
	unsigned long word[CPU_WORDS];
};

long sys_read(int fd, void *buffer, size_t size);
long sys_write(int fd, const void *buffer, size_t size);
long sys_open(const char *path, int how);
long sys_close(int fd);
long sys_pipe(int ends[2]);
long sys_fork(void);
long sys_wait(int pid, int *status, int no_hang, struct usage *usage);
long sys_kill(int pid, int signal);
int sys_pid(void);
int sys_parent(void);
_Noreturn void sys_exit(int code);
long sys_uname(struct names *names);
long sys_usage(struct usage *usage);
long sys_alarm(long seconds);
long sys_lock_memory(void);
long sys_unlock_memory(void);
long sys_die_with_parent(void);
/* Sleeps that end when they are due, not up to 50 us later; older kernels know no slack. */
long sys_no_slack(void);
long sys_set_policy(int policy, int priority);
long sys_get_policy(void);
long sys_set_cpus(const struct cpu_set *set);
long sys_get_cpus(struct cpu_set *set);
/* ignore: 1 ignores the signal, 0 gives it back its default */
long sys_ignore_signal(int signal, int ignore);
int sys_signal_ignored(int signal);
long sys_block_signals(signal_set set);
long sys_unblock_signals(signal_set set);
/* waits for one of the signals: its number, or -E_AGAIN when the span has passed */
long sys_wait_signal(signal_set set, struct moment span);
/* zeroed memory that children share; NULL when there is none left */
void *sys_shared_memory(size_t size);

#endif
