/* The children that measure, and the parent that watches over them.
 *
 * The parent never measures. It waits for signals instead of handling them, ends every child
 * before it ends itself, and each child dies with it.
 */
#ifndef FAMILY_H
#define FAMILY_H

#include "sys.h"

enum { CHILDREN_MAX = 128 };

enum event { ALL_GONE, TIME_REACHED, INTERRUPTED, OVERDUE };

/* Blocks the signals that family_wait looks at, and sets the watchdog. */
void family_open(uint32_t timeout_s);
/* As fork: 0 in the child, negative on failure. */
long family_fork(void);
/* Until all children are gone, a moment is reached (NULL: none), someone wants an end (a signal to
 * us, or one that killed a child), or the watchdog's time is over. */
enum event family_wait(const struct moment *until);
/* Kills and collects whoever is left. */
void family_end(void);
/* Resources of the children that are gone, added up. */
struct usage family_usage(void);
/* A child ended in another way than by exit status 0. */
int family_failed(void);

#endif
