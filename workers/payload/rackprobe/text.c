/* Words, numbers and 64-bit division without a libc. */
#include "text.h"

size_t text_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

int text_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int text_begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return 0;
	return 1;
}

const char *text_find(const char *text, const char *part)
{
	for (; *text; text++)
		if (text_begins(text, part))
			return text;
	return NULL;
}

int text_number(const char *text, uint64_t *number)
{
	uint64_t value = 0;
	size_t n;

	for (n = 0; text[n]; n++) {
		if (text[n] < '0' || text[n] > '9' || n == 18)
			return 0;
		value = value * 10 + (uint64_t)(text[n] - '0');
	}
	*number = value;
	return n > 0;
}

int text_milliseconds(const char *text, uint64_t *ms)
{
	uint64_t value = 0;
	size_t whole = 0;
	int decimals = 0;

	for (; *text >= '0' && *text <= '9' && whole < 9; text++, whole++)
		value = value * 10 + (uint64_t)(*text - '0');
	if (whole == 0)
		return 0;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9' && decimals < 3; text++, decimals++)
			value = value * 10 + (uint64_t)(*text - '0');
		if (decimals == 0)
			return 0;
	}
	for (; decimals < 3; decimals++)
		value *= 10;
	*ms = value;
	return *text == '\0';
}

size_t text_digits(uint64_t number, char *out)
{
	char reversed[20];
	size_t n = 0;

	do {
		uint64_t digit;

		number = divide(number, 10, &digit);
		reversed[n++] = (char)('0' + digit);
	} while (number);
	for (size_t i = 0; i < n; i++)
		out[i] = reversed[n - 1 - i];
	return n;
}

uint64_t text_take_number(const char **text)
{
	uint64_t value = 0;

	while (**text == ' ' || **text == '\t')
		++*text;
	for (; **text >= '0' && **text <= '9'; ++*text)
		value = value * 10 + (uint64_t)(**text - '0');
	return value;
}

/* On 32-bit machines `/` on 64 bits is a call into a compiler library that is not linked in (and
 * that may hold instructions a 486 lacks). Never used while measuring.
 */
uint64_t divide(uint64_t n, uint64_t by, uint64_t *rest)
{
#if UINTPTR_MAX > 0xffffffffu
	*rest = n % by;
	return n / by;
#else
	uint64_t quotient = 0, remainder = 0;

	for (int bit = 63; bit >= 0; bit--) {
		/* a remainder that loses its top bit by the shift exceeds any divisor */
		int over = (remainder >> 63) != 0;

		remainder = remainder << 1 | (n >> bit & 1);
		if (over || remainder >= by) {
			remainder -= by;
			quotient |= (uint64_t)1 << bit;
		}
	}
	*rest = remainder;
	return quotient;
#endif
}
