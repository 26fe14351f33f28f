/* Little-endian numbers and texts from memory. A read past the end ends the checker. */
#ifndef CHECKER_READER_H
#define CHECKER_READER_H

#include "pool.h"

typedef struct {
    const uint8_t *at, *end;
} reader;

/* Ensures: `octets` octets, which the reader then stands behind. */
const uint8_t *read_octets(reader *from, uint64_t octets);

/* Ensures: the unsigned number in so many octets, at most 8. */
uint64_t read_number(reader *from, int octets);

/* A number of 32 bits that counts things: there is at least one octet for each of them. */
int64_t read_count(reader *from);

/* `target` has 256 octets of room. */
void read_text(reader *from, char *target);

/* Ensures: so many words of 32 bits. */
const uint32_t *read_words(reader *from, int64_t count, pool *memory);

/* Ensures: so many numbers of 1, 2, 4 or 8 octets each, in the host's order of octets. */
void read_numbers(reader *from, void *target, int64_t count, int octets);

/* The whole of a file. */
reader read_file(const char *path, pool *memory);

#endif
