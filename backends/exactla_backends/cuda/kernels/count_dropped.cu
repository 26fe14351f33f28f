/* For each row of an operand, the entries that lose bits. */
#include "rows.h"

/* An operand, and for each row an exponent and a count. */
struct xl_census {
    xl_rows operand;
    const int64_t *exponents;
    int64_t exponent_stride;
    int32_t *counts;
};

struct xl_dropped {
    int32_t exponent, count;
};

/* Ensures: whether a finite number has bits below 2**exponent. */
XL_FUNCTION bool xl_loses(uint64_t word, int32_t exponent) {
    const xl_format f = {XL_FORMAT};
    const uint32_t field = (uint32_t)(word >> f.fraction_bits & xl_ones(f.exponent_bits));
    const uint64_t significand = (word & xl_ones(f.fraction_bits)) | (uint64_t)(field != 0) << f.fraction_bits;
    const int32_t below = exponent - ((int32_t)(field != 0 ? field : 1) - (int32_t)(f.bias + f.fraction_bits));
    return below > 0 && (below < 64 ? significand << (64 - below) != 0 : significand != 0);
}

XL_FUNCTION xl_dropped xl_start(const xl_census &s, int64_t stack, int64_t row) {
    return {(int32_t)s.exponents[stack * s.exponent_stride + row], 0};
}

XL_FUNCTION void xl_add(xl_dropped &found, uint64_t word) {
    found.count += xl_loses(word, found.exponent);
}

XL_FUNCTION void xl_join(xl_dropped &found) {
    found.count = __reduce_add_sync(0xffffffffu, found.count);
}

XL_FUNCTION void xl_note(const xl_census &s, int64_t stack, int64_t row, const xl_dropped &found) {
    if (found.count != 0)
        atomicAdd(s.counts + stack * s.operand.rows + row, found.count);
}

XL_KERNEL xl_cuda_count_dropped(const __grid_constant__ xl_census s) {
    xl_over_rows(s.operand, s);
}
