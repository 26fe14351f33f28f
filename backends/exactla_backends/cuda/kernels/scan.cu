/* Ranges of the rows of operands, cut into parts. See `elements.py` for what this text is compiled with. */
#include "ranges.h"
#include "rows.h"

/* An operand, and the cells of its rows: lowest exponents, and highest negated behind them. */
struct xl_search {
    xl_rows operand;
    int32_t *ranges, *nonfinite;
};

XL_FUNCTION xl_range xl_start(const xl_search &, int64_t, int64_t) {
    return {XL_NO_RANGE, XL_NO_RANGE, 0};
}

XL_FUNCTION void xl_add(xl_range &range, uint64_t word) {
    xl_widen(range, word);
}

XL_FUNCTION void xl_note(const xl_search &s, int64_t stack, int64_t row, const xl_range &range) {
    int32_t *cell = s.ranges + stack * s.operand.rows + row;
    if (range.lowest < XL_NO_RANGE) {
        atomicMin(cell, range.lowest);
        atomicMin(cell + s.operand.stacks * s.operand.rows, range.minus_highest);
    }
    if (range.nonfinite != 0)
        atomicAdd(s.nonfinite, range.nonfinite);
}

XL_KERNEL xl_cuda_scan(const __grid_constant__ xl_search s) {
    xl_over_rows(s.operand, s);
}
