/* SHA-256, FIPS 180-4. */
#ifndef CHECKER_SHA256_H
#define CHECKER_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_OCTETS = 32 };

typedef struct {
    uint32_t state[8];
    uint64_t length; /* octets so far */
    uint8_t block[SHA256_BLOCK];
} sha256;

void sha256_begin(sha256 *hash);
void sha256_add(sha256 *hash, const void *data, size_t octets);
void sha256_end(sha256 *hash, uint8_t digest[SHA256_OCTETS]);

#endif
