/* selftest: whether this binary computes rightly and this host can be measured. */
#ifndef SELFTEST_H
#define SELFTEST_H

#include "options.h"

int selftest(const struct options *options);

#endif
