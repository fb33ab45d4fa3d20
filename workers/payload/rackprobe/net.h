/* Connected pairs of descriptors, by TCP over 127.0.0.1, local socket or pipe. */
#ifndef NET_H
#define NET_H

#include "options.h"

enum { PAIR_TX = 0, PAIR_RX = 1 };

/* ends[PAIR_TX] is written to, ends[PAIR_RX] read from. NULL, or the sentence that says why not. */
const char *net_pair(const struct options *options, int ends[2]);

/* Effective sizes of the socket buffers; the kernel doubles what is asked for. -1: no socket. */
int net_send_buffer(int fd);
int net_receive_buffer(int fd);
/* Segments that a TCP socket has sent again, or -1. */
int64_t net_retransmits(int fd);
/* Name of a TCP socket's congestion control into name[16]; "" when there is none. */
void net_congestion(int fd, char name[16]);

#endif
