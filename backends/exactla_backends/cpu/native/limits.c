/* What callers ask before they plan: see native.h. */
#include "sharing.h"

const xl_limits *xl_native_limits(void) {
    static const xl_limits limits = {
        .depth = XL_MATRIX_DEPTH,
        .columns = XL_MATRIX_COLUMNS,
        .alignment = XL_MATRIX_ALIGNMENT,
        .tile_side = XL_TILE_SIDE,
        .tile_bytes = XL_TILE_BYTES,
        .worth_a_thread = XL_WORTH_A_THREAD,
        .plan_bits = XL_DIRECT_BITS,
        .plan_limbs = XL_DIRECT_LIMBS,
    };
    return &limits;
}

int64_t xl_native_threads(int64_t threads) {
    return xl_threads(threads);
}

int64_t xl_native_constants(const uint32_t *moduli, int64_t count, int64_t octets, void *constants) {
    xl_matrix_modulus8 *one = constants;
    xl_matrix_modulus16 *two = constants;
    for (int64_t i = 0; constants && i < count; ++i)
        if (octets == 1 ? xl_matrix_modulus8_set(&one[i], moduli[i]) : xl_matrix_modulus16_set(&two[i], moduli[i]))
            return -1;
    return count * (int64_t)(octets == 1 ? sizeof *one : sizeof *two);
}

int64_t xl_native_scratch(const xl_instructions *set, int64_t octets, int64_t rows, int64_t columns) {
    return xl_matrix_scratch_bytes(set->matrix, (int)octets, rows, columns);
}
