/* SHA-256 as FIPS 180-4 section 6.2 has it. */
#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int count) {
    return x >> count | x << (32 - count);
}

static uint32_t load(const uint8_t *octets) {
    return (uint32_t)octets[0] << 24 | (uint32_t)octets[1] << 16 | (uint32_t)octets[2] << 8 | octets[3];
}

static void store(uint8_t *octets, uint32_t x) {
    for (int i = 0; i < 4; ++i)
        octets[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void schedule(uint32_t w[64], const uint8_t *block) {
    for (int t = 0; t < 16; ++t)
        w[t] = load(block + 4 * t);
    for (int t = 16; t < 64; ++t) {
        const uint32_t x = w[t - 15], y = w[t - 2];
        const uint32_t s0 = rotate(x, 7) ^ rotate(x, 18) ^ x >> 3, s1 = rotate(y, 17) ^ rotate(y, 19) ^ y >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void compress(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], a[8];
    schedule(w, block);
    memcpy(a, state, sizeof a);
    for (int t = 0; t < 64; ++t) {
        const uint32_t s1 = rotate(a[4], 6) ^ rotate(a[4], 11) ^ rotate(a[4], 25);
        const uint32_t choice = (a[4] & a[5]) ^ (~a[4] & a[6]);
        const uint32_t s0 = rotate(a[0], 2) ^ rotate(a[0], 13) ^ rotate(a[0], 22);
        const uint32_t majority = (a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]);
        const uint32_t first = a[7] + s1 + choice + constants[t] + w[t];
        memmove(a + 1, a, 7 * sizeof *a);
        a[4] += first;
        a[0] = first + s0 + majority;
    }
    for (int i = 0; i < 8; ++i)
        state[i] += a[i];
}

void sha256_begin(sha256 *hash) {
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

void sha256_add(sha256 *hash, const void *data, size_t octets) {
    const uint8_t *from = data;
    while (octets > 0) {
        const size_t filled = (size_t)(hash->length % SHA256_BLOCK), room = SHA256_BLOCK - filled;
        const size_t some = octets < room ? octets : room;
        memcpy(hash->block + filled, from, some);
        hash->length += some;
        from += some;
        octets -= some;
        if (some == room)
            compress(hash->state, hash->block);
    }
}

void sha256_end(sha256 *hash, uint8_t digest[SHA256_OCTETS]) {
    static const uint8_t padding[SHA256_BLOCK] = {0x80};
    const uint64_t bits = 8 * hash->length;
    uint8_t length[8];
    store(length, (uint32_t)(bits >> 32));
    store(length + 4, (uint32_t)bits);
    const size_t filled = (size_t)(hash->length % SHA256_BLOCK);
    sha256_add(hash, padding, (filled < 56 ? 56 : 56 + SHA256_BLOCK) - filled);
    sha256_add(hash, length, 8);
    for (int i = 0; i < 8; ++i)
        store(digest + 4 * i, hash->state[i]);
}
