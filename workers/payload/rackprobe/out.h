/* The one JSON document of a call, and the frame that tells it from whatever else is printed.
 *
 * Values are appended in order; commas and line breaks come by themselves. Everything is ASCII,
 * lines have at most 200 characters. Nothing is written before out_send.
 */
#ifndef OUT_H
#define OUT_H

#include <stddef.h>
#include <stdint.h>

/* A longer text is cut, so that it fits a line. */
enum { TEXT_MAX = 120 };

/* Room for about size bytes of document. 0 when there is no memory for it. */
int out_open(size_t size);

/* A key of NULL: an element of an array. */
void out_object(const char *key);
void out_array(const char *key);
void out_close(void);
void out_text(const char *key, const char *text);
void out_number(const char *key, uint64_t number);
void out_signed(const char *key, int64_t number);
/* thousandths as a decimal fraction: 1234 is 1.234 */
void out_thousandths(const char *key, uint64_t thousandths);
void out_bool(const char *key, int truth);
void out_null(const char *key);

uint32_t out_crc32(const void *data, size_t size);
/* Writes the document in its frame to standard output. 0 when it did not fit or was not taken. */
int out_send(const char *nonce);
/* A sentence on standard error. */
void out_complain(const char *const *part, size_t parts);
#define COMPLAIN(...)                                                                              \
	out_complain((const char *const[]){__VA_ARGS__},                                           \
		     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#endif
