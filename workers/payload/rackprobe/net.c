/* Sockets by raw system calls. */
#include "net.h"

#include "sys.h"

enum { FAMILY_UNIX = 1, FAMILY_INET = 2, TYPE_STREAM = 1 };
enum { LEVEL_SOCKET = 1, LEVEL_TCP = 6 };
enum { SEND_BUFFER = 7, RECEIVE_BUFFER = 8, TCP_NO_DELAY = 1, TCP_INFO = 11, TCP_CONGESTION = 13 };
/* where the kernel's tcp_info holds the total of retransmitted segments */
enum { TOTAL_RETRANSMITS = 100 };

struct address {
	uint16_t family, port;
	uint8_t ip[4], zero[8];
};

#ifdef SYS_socketcall
enum call { SOCKET = 1, BIND, CONNECT, LISTEN, ACCEPT, NAME, PAIR = 8, SET = 14, GET = 15 };

static long call(enum call which, long a, long b, long c, long d, long e)
{
	long arguments[] = {a, b, c, d, e};

	return sys_call(SYS_socketcall, which, (long)arguments, 0, 0, 0);
}
#else
enum call {
	SOCKET = SYS_socket,
	BIND = SYS_bind,
	CONNECT = SYS_connect,
	LISTEN = SYS_listen,
	ACCEPT = SYS_accept,
	NAME = SYS_getsockname,
	PAIR = SYS_socketpair,
	SET = SYS_setsockopt,
	GET = SYS_getsockopt,
};

static long call(enum call which, long a, long b, long c, long d, long e)
{
	return sys_call(which, a, b, c, d, e);
}
#endif

static void set_option(int fd, int level, int option, int value)
{
	call(SET, fd, level, option, (long)&value, sizeof value);
}

static int get_option(int fd, int level, int option)
{
	int value, size = sizeof value;

	if (call(GET, fd, level, option, (long)&value, (long)&size) < 0)
		return -1;
	return value;
}

static void set_buffers(const struct options *options, int fd)
{
	if (options->sndbuf != NOT_GIVEN)
		set_option(fd, LEVEL_SOCKET, SEND_BUFFER, (int)options->sndbuf);
	if (options->rcvbuf != NOT_GIVEN)
		set_option(fd, LEVEL_SOCKET, RECEIVE_BUFFER, (int)options->rcvbuf);
}

/* A listener on a port that the kernel chooses; its address comes back. */
static int listen_somewhere(const struct options *options, struct address *address)
{
	int size = sizeof *address;
	int fd = (int)call(SOCKET, FAMILY_INET, TYPE_STREAM, 0, 0, 0);

	*address = (struct address){.family = FAMILY_INET, .ip = {127, 0, 0, 1}};
	if (fd < 0)
		return fd;
	/* buffers decide the window that the handshake announces: they are set before it */
	set_buffers(options, fd);
	if (call(BIND, fd, (long)address, sizeof *address, 0, 0) == 0
	    && call(LISTEN, fd, 1, 0, 0, 0) == 0
	    && call(NAME, fd, (long)address, (long)&size, 0, 0) == 0)
		return fd;
	sys_close(fd);
	return -1;
}

static const char *tcp_pair(const struct options *options, int ends[2])
{
	struct address address;
	int listener = listen_somewhere(options, &address);

	if (listener < 0)
		return "no TCP port of 127.0.0.1 can be listened on";
	ends[PAIR_RX] = -1;
	ends[PAIR_TX] = (int)call(SOCKET, FAMILY_INET, TYPE_STREAM, 0, 0, 0);
	if (ends[PAIR_TX] >= 0) {
		set_buffers(options, ends[PAIR_TX]);
		if (options->nodelay)
			set_option(ends[PAIR_TX], LEVEL_TCP, TCP_NO_DELAY, 1);
		/* the handshake is the kernel's: nobody needs to be in accept yet */
		if (call(CONNECT, ends[PAIR_TX], (long)&address, sizeof address, 0, 0) == 0)
			ends[PAIR_RX] = (int)call(ACCEPT, listener, 0, 0, 0, 0);
	}
	sys_close(listener);
	return ends[PAIR_RX] < 0 ? "127.0.0.1 cannot be connected to" : NULL;
}

const char *net_pair(const struct options *options, int ends[2])
{
	int made[2];

	switch (options->proto) {
	case PROTO_TCP:
		return tcp_pair(options, ends);
	case PROTO_UNIX:
		if (call(PAIR, FAMILY_UNIX, TYPE_STREAM, 0, (long)ends, 0) < 0)
			return "no pair of local sockets could be made";
		set_buffers(options, ends[PAIR_TX]);
		set_buffers(options, ends[PAIR_RX]);
		return NULL;
	default:
		if (sys_pipe(made) < 0)
			return "no pipe could be made";
		ends[PAIR_TX] = made[1];
		ends[PAIR_RX] = made[0];
		return NULL;
	}
}

int net_send_buffer(int fd)
{
	return get_option(fd, LEVEL_SOCKET, SEND_BUFFER);
}

int net_receive_buffer(int fd)
{
	return get_option(fd, LEVEL_SOCKET, RECEIVE_BUFFER);
}

int64_t net_retransmits(int fd)
{
	uint32_t info[(TOTAL_RETRANSMITS + sizeof(uint32_t)) / sizeof(uint32_t)];
	int size = sizeof info;

	/* older kernels know a shorter structure */
	if (call(GET, fd, LEVEL_TCP, TCP_INFO, (long)info, (long)&size) < 0 || size < (int)sizeof info)
		return -1;
	return info[TOTAL_RETRANSMITS / sizeof(uint32_t)];
}

void net_congestion(int fd, char name[16])
{
	int size = 16;

	if (call(GET, fd, LEVEL_TCP, TCP_CONGESTION, (long)name, (long)&size) < 0)
		size = 0;
	name[size < 16 ? size : 15] = '\0';
}
