/* What /proc and /sys say about the host. Missing is data: a file that is not there reads as "". */
#ifndef HOST_H
#define HOST_H

#include <stddef.h>
#include <stdint.h>

/* The file's beginning, terminated, in a buffer that the next call overwrites. */
const char *host_file(const char *path);
/* The number behind the key in a text of "key: number" or "key number" lines; 0 if there is none. */
int host_number(const char *text, const char *key, uint64_t *number);
/* A file that holds one number, perhaps negative. 0 if it does not. */
int host_file_number(const char *path, int64_t *number);
uint32_t host_cpus(void);

/* Counters of the whole host since boot; times in hundredths of a second. */
struct counters {
	int known;
	uint64_t switches, interrupts;
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
};

struct counters host_counters(void);
/* TCP segments sent again since boot; 0 if unknown. */
int host_retransmits(uint64_t *segments);

#endif
