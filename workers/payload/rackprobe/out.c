/* Writing JSON into memory, and sending it in a frame. */
#include "out.h"

#include "sys.h"
#include "text.h"

enum { LINE_MAX = 190, DEPTH_MAX = 8 };

static struct {
	char *at;
	size_t used, size;
	/* characters of the current line */
	size_t column;
	/* a value stands before: the next one needs a comma */
	int follows;
	char closing[DEPTH_MAX];
	int depth;
	int overflow;
} document;

int out_open(size_t size)
{
	document.at = sys_shared_memory(size);
	document.size = size;
	return document.at != NULL;
}

static void put(const char *text, size_t n)
{
	if (n > document.size - document.used) {
		document.overflow = 1;
		return;
	}
	for (size_t i = 0; i < n; i++)
		document.at[document.used++] = text[i];
	document.column += n;
}

/* Breaks the line unless n more characters fit. */
static void make_room(size_t n)
{
	if (document.column > 0 && document.column + n > LINE_MAX) {
		put("\n", 1);
		document.column = 0;
	}
}

static void put_quoted(const char *text)
{
	static const char hex[] = "0123456789abcdef";

	put("\"", 1);
	for (size_t n = 0; *text && n < TEXT_MAX; text++, n++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\') {
			put("\\", 1);
			put(text, 1);
		} else if (c < 0x20 || c > 0x7e) {
			put("\\u00", 4);
			put(&hex[c >> 4], 1);
			put(&hex[c & 15], 1);
			n += 5;
		} else {
			put(text, 1);
		}
	}
	put("\"", 1);
}

/* Comma and key of a value that takes up to n characters. */
static void begin(const char *key, size_t n)
{
	if (document.follows)
		put(",", 1);
	make_room(n + (key ? text_length(key) + 3 : 0));
	if (key) {
		put_quoted(key);
		put(":", 1);
	}
	document.follows = 1;
}

static void open_group(const char *key, const char *opening, char closing)
{
	begin(key, 1);
	put(opening, 1);
	if (document.depth == DEPTH_MAX) {
		document.overflow = 1;
		return;
	}
	document.closing[document.depth++] = closing;
	document.follows = 0;
}

void out_object(const char *key)
{
	open_group(key, "{", '}');
}

void out_array(const char *key)
{
	open_group(key, "[", ']');
}

void out_close(void)
{
	put(&document.closing[--document.depth], 1);
	document.follows = 1;
}

void out_text(const char *key, const char *text)
{
	size_t escaped = 6 * text_length(text) + 2, cut = TEXT_MAX + 8;

	begin(key, escaped < cut ? escaped : cut);
	put_quoted(text);
}

void out_number(const char *key, uint64_t number)
{
	char digits[20];
	size_t n = text_digits(number, digits);

	begin(key, n);
	put(digits, n);
}

void out_signed(const char *key, int64_t number)
{
	char digits[21] = "-";
	size_t n;

	if (number >= 0) {
		out_number(key, (uint64_t)number);
		return;
	}
	n = 1 + text_digits(-(uint64_t)number, digits + 1);
	begin(key, n);
	put(digits, n);
}

void out_thousandths(const char *key, uint64_t thousandths)
{
	char digits[24];
	uint64_t rest, whole = divide(thousandths, 1000, &rest);
	size_t n = text_digits(whole, digits);

	digits[n++] = '.';
	for (uint32_t unit = 100; unit; unit /= 10)
		digits[n++] = (char)('0' + (uint32_t)rest / unit % 10);
	begin(key, n);
	put(digits, n);
}

void out_bool(const char *key, int truth)
{
	begin(key, 5);
	put(truth ? "true" : "false", truth ? 4 : 5);
}

void out_null(const char *key)
{
	begin(key, 4);
	put("null", 4);
}

/* CRC-32 of IEEE 802.3, bit by bit: it is needed once. */
uint32_t out_crc32(const void *data, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (const unsigned char *byte = data; size--; byte++) {
		crc ^= *byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static int write_all(int fd, const char *text, size_t n)
{
	while (n) {
		long written = sys_write(fd, text, n);

		if (written == -E_INTR)
			continue;
		if (written <= 0)
			return 0;
		text += written;
		n -= (size_t)written;
	}
	return 1;
}

/* One line of the frame: what it is, the nonce, and the words in last. */
static int write_mark(const char *what, const char *nonce, const char *last, size_t n)
{
	char line[160];
	size_t used = 0;

	for (const char *p = what; *p; p++)
		line[used++] = *p;
	for (const char *p = nonce; *p; p++)
		line[used++] = *p;
	line[used++] = ' ';
	for (size_t i = 0; i < n; i++)
		line[used++] = last[i];
	line[used++] = '\n';
	return write_all(1, line, used);
}

int out_send(const char *nonce)
{
	char last[32], hex[8];
	uint32_t crc;
	size_t n;

	put("\n", 1);
	if (document.overflow || document.depth)
		return 0;
	n = text_digits(document.used, last);
	last[n++] = ' ';
	last[n++] = 'v';
	last[n++] = '1';
	crc = out_crc32(document.at, document.used);
	for (int i = 7; i >= 0; i--, crc >>= 4)
		hex[i] = "0123456789abcdef"[crc & 15];
	/* a new line first: whatever was printed before may not have ended its own */
	return write_all(1, "\n", 1) && write_mark("@@RACK BEGIN ", nonce, last, n)
	       && write_all(1, document.at, document.used)
	       && write_mark("@@RACK END ", nonce, hex, sizeof hex);
}

void out_complain(const char *const *part, size_t parts)
{
	write_all(2, "rackprobe: ", 11);
	for (size_t i = 0; i < parts; i++)
		write_all(2, part[i], text_length(part[i]));
	write_all(2, "\n", 1);
}
