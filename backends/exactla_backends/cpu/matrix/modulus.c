/* Constants of the modular reductions. */
#include "matrix.h"

/* What two digits of 8 bits reach: 256 * 127 + 127. */
enum { LARGEST_DIGITS = 32639 };

/* 2^exponent (mod m), in [-floor(m / 2), m - floor(m / 2)); 1 stays 1 for m = 2. */
static int32_t power(unsigned exponent, uint32_t m) {
    uint64_t value = 1;
    for (unsigned i = 0; i < exponent; ++i)
        value = 2 * value % m;
    return value > (m - 1) / 2 && value != 1 ? (int32_t)value - (int32_t)m : (int32_t)value;
}

/* The least multiple of m that is at least `least`. */
static uint32_t multiple(uint32_t least, uint32_t m) {
    return (least + m - 1) / m * m;
}

int xl_matrix_modulus8_set(xl_matrix_modulus8 *constants, uint32_t m) {
    if (m < 2 || m > 256)
        return -1;
    const uint32_t half = m / 2;
    constants->modulus = m;
    constants->half = half;
    constants->bias = multiple(UINT32_C(1) << 31, m) + half;
    if (constants->bias - (UINT32_C(1) << 31) >= m)
        constants->bias -= m;
    constants->reciprocal = (uint32_t)((UINT64_C(1) << 32) / m);
    uint32_t bytes = 0, negative = 0, negative_pair = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const int32_t c = power(8 * i, m);
        bytes |= (uint32_t)(uint8_t)c << 8 * i;
        negative += c < 0 ? 255u * (uint32_t)-c : 0;
        if (i == 1 || i == 2)
            negative_pair += c < 0 ? (i == 1 ? 255u : 1u) * (uint32_t)-c : 0;
    }
    constants->bytes = bytes;
    constants->offset1 = multiple(negative, m);
    constants->offset2 = multiple(negative_pair, m);
    uint16_t shift = 0;
    while ((UINT32_C(2) << shift) < m)
        ++shift;
    constants->shift = shift;
    constants->magic = (uint16_t)(((UINT32_C(1) << (16 + shift)) + m - 1) / m);
    return 0;
}

int xl_matrix_modulus16_set(xl_matrix_modulus16 *constants, uint32_t m) {
    if (m < 2 || m > 65536)
        return -1;
    const uint32_t half = m / 2;
    constants->modulus = m;
    constants->half = half;
    constants->bias = UINT32_C(1) << 31;
    constants->reciprocal = (uint32_t)((UINT64_C(1) << 32) / m);
    uint32_t negative = 0;
    for (unsigned d = 0; d < 3; ++d) {
        uint32_t high = 0, low = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const int32_t centred = power(8 * i + 8 * (2 - d), m);
            const int32_t c = centred > LARGEST_DIGITS ? centred - (int32_t)m : centred;
            const int32_t c_low = (int8_t)(uint8_t)c;
            low |= (uint32_t)(uint8_t)c_low << 8 * i;
            high |= (uint32_t)(uint8_t)((c - c_low) / 256) << 8 * i;
            negative += c < 0 ? 255u * (uint32_t)-c : 0;
        }
        constants->high[d] = high;
        constants->low[d] = low;
    }
    /* offset = half - 2^31 * (2^16 + 2^8 + 1) (mod m), and at least `negative` */
    const uint64_t biases = ((UINT64_C(1) << 31) % m) * ((UINT64_C(65793)) % m) % m;
    constants->offset = multiple(negative, m) + (uint32_t)((half + m - biases) % m);
    return 0;
}
