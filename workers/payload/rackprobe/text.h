/* Words, numbers and 64-bit division without a libc. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

size_t text_length(const char *text);
int text_equal(const char *a, const char *b);
int text_begins(const char *text, const char *with);
/* first place of part in text, or NULL */
const char *text_find(const char *text, const char *part);
/* Decimal digits only, at least one, up to 18 of them; returns 0 when text is anything else. */
int text_number(const char *text, uint64_t *number);
/* Seconds with up to three decimals ("0.5"), as milliseconds. */
int text_milliseconds(const char *text, uint64_t *ms);
/* Digits of number into out (at least 20 bytes, not terminated); their count. */
size_t text_digits(uint64_t number, char *out);
/* The number that begins at text, after blanks; *text moves behind it. */
uint64_t text_take_number(const char **text);

uint64_t divide(uint64_t n, uint64_t by, uint64_t *rest);

#endif
