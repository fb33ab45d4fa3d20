/* Finding a function in the vDSO: a walk over the dynamic section of a small ELF image. */
#include "vdso.h"

#include <stdint.h>

#include "text.h"

enum { SEGMENT_LOAD = 1, SEGMENT_DYNAMIC = 2 };
enum { DYNAMIC_END = 0, DYNAMIC_HASH = 4, DYNAMIC_STRINGS = 5, DYNAMIC_SYMBOLS = 6 };

#if UINTPTR_MAX > 0xffffffffu
struct header {
	unsigned char ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t size, segment_size, segment_count;
};
struct segment {
	uint32_t type, flags;
	uint64_t offset, address, physical, file_size, memory_size, align;
};
struct symbol {
	uint32_t name;
	uint8_t info, other;
	uint16_t section;
	uint64_t value, size;
};
#else
struct header {
	unsigned char ident[16];
	uint16_t type, machine;
	uint32_t version, entry, segments, sections, flags;
	uint16_t size, segment_size, segment_count;
};
struct segment {
	uint32_t type, offset, address, physical, file_size, memory_size, flags, align;
};
struct symbol {
	uint32_t name, value, size;
	uint8_t info, other;
	uint16_t section;
};
#endif

struct dynamic {
	long tag;
	unsigned long value;
};

void *vdso_find(unsigned long base, const char *name)
{
	const struct header *header = (const struct header *)base;
	const struct dynamic *dynamic = NULL;
	const char *strings = NULL;
	const struct symbol *symbols = NULL;
	const uint32_t *hash = NULL;
	unsigned long moved = base;

	for (int i = 0; i < header->segment_count; i++) {
		const struct segment *segment =
			(const struct segment *)(base + header->segments
						 + (unsigned long)i * header->segment_size);

		if (segment->type == SEGMENT_LOAD)
			moved = base + segment->offset - segment->address;
		else if (segment->type == SEGMENT_DYNAMIC)
			dynamic = (const struct dynamic *)(base + segment->offset);
	}
	for (; dynamic && dynamic->tag != DYNAMIC_END; dynamic++) {
		unsigned long at = moved + dynamic->value;

		if (dynamic->tag == DYNAMIC_STRINGS)
			strings = (const char *)at;
		else if (dynamic->tag == DYNAMIC_SYMBOLS)
			symbols = (const struct symbol *)at;
		else if (dynamic->tag == DYNAMIC_HASH)
			hash = (const uint32_t *)at;
	}
	if (!strings || !symbols || !hash)
		return NULL;
	/* the second word of the hash table is the number of symbols */
	for (uint32_t i = 0; i < hash[1]; i++)
		if (symbols[i].section && text_equal(strings + symbols[i].name, name))
			return (void *)(moved + symbols[i].value);
	return NULL;
}
