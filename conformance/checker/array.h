/* Arrays as the case file gives them and as results are made: contiguous, in the host's order of octets. */
#ifndef CHECKER_ARRAY_H
#define CHECKER_ARRAY_H

#include "pool.h"
#include "sha256.h"
#include "xl_format.h"

enum { MAX_DIMENSIONS = 8, NAME_OCTETS = 256 };

/* A type of numbers. Complex ones have two parts, real and imaginary, which are of `format`; see xl_format. */
typedef struct {
    char name[NAME_OCTETS];
    int64_t parts;
    int64_t format[XL_FORMAT_FIELDS];
} number_type;

/* Entries in C order, the parts of an entry side by side. Integers of any size are two's complement, `limbs` limbs of
 * 32 bits each, the lowest first. */
typedef struct {
    const number_type *type;
    int64_t dimensions, shape[MAX_DIMENSIONS];
    int64_t limbs; /* 0 unless the format is of limbs */
    void *data;
} array;

int64_t array_entries(const array *x);

/* Octets of one part of an entry. */
int64_t array_part_octets(const array *x);

/* Ensures: data of zeros. */
void array_allocate(array *x, pool *memory);

/* Ensures: SHA-256 over the canonical octets of arrays, as `exactla.digest` defines them. */
void array_digest(const array *arrays, int count, uint8_t digest[SHA256_OCTETS]);

#endif
