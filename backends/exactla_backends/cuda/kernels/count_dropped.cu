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

XL_FUNCTION xl_dropped xl_start(const xl_census &s, int64_t stack, int64_t row) {
    return {(int32_t)s.exponents[stack * s.exponent_stride + row], 0};
}

XL_FUNCTION void xl_add(xl_dropped &found, uint64_t word) {
    found.count += !xl_is_zero(word) & (xl_lowest_bit(word) < found.exponent);
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
