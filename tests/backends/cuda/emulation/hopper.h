/* What the instructions of Hopper do that int8_sm90.cu names in assembly, in their place in its text.
 *
 * Copies are done when they are asked for, and products when they are: the threads of a warpgroup wait for each other
 * where they wait for their products. Tiles in shared memory are not swizzled.
 */
struct xl_emulated_barrier {
    uint16_t arrivals, pending;
    uint32_t octets : 31, phase : 1;
};

XL_INLINE xl_emulated_barrier &xl_barrier_at(uint32_t address) {
    return *(xl_emulated_barrier *)(emulation::shared + (int32_t)address);
}

XL_INLINE void xl_barrier_complete(xl_emulated_barrier &b) {
    if (b.pending == 0 && b.octets == 0) {
        b.pending = b.arrivals;
        b.phase ^= 1;
    }
}

XL_INLINE uint32_t xl_shared_address(const void *p) {
    return (uint32_t)((const uint8_t *)p - emulation::shared);
}

XL_INLINE void xl_barrier_init(uint32_t barrier, uint32_t count) {
    xl_barrier_at(barrier) = {(uint16_t)count, (uint16_t)count, 0, 0};
}

XL_INLINE void xl_barrier_arrive(uint32_t barrier) {
    --xl_barrier_at(barrier).pending;
    xl_barrier_complete(xl_barrier_at(barrier));
}

XL_INLINE void xl_barrier_expect(uint32_t barrier, uint32_t octets) {
    xl_barrier_at(barrier).octets += octets;
    xl_barrier_arrive(barrier);
}

XL_INLINE void xl_barrier_wait(uint32_t barrier, uint32_t parity) {
    while (xl_barrier_at(barrier).phase == parity)
        emulation::give_way();
}

/* Requires: a map as `driver.tensor_map` is pretended to make it: address, three sizes, two strides, three of a box. */
XL_INLINE void xl_copy_tile(uint32_t target, const xl_tensor_map *map, uint32_t barrier, int32_t k, int32_t row,
                            int32_t plane) {
    const uint64_t *w = map->words;
    if (target % 1024 != 0)
        abort();
    for (uint64_t r = 0; r < w[7]; ++r)
        for (uint64_t c = 0; c < w[6]; ++c) {
            const bool inside = k + c < w[1] && row + r < w[2] && (uint64_t)plane < w[3];
            emulation::shared[target + r * w[6] + c] =
                inside ? *(const uint8_t *)(w[0] + plane * w[5] + (row + r) * w[4] + k + c) : 0;
        }
    xl_barrier_at(barrier).octets -= w[6] * w[7];
    xl_barrier_complete(xl_barrier_at(barrier));
}

/* Steps of such a descriptor are 16 octets. */
XL_INLINE uint64_t xl_descriptor(uint32_t address) {
    return address >> 4;
}

template <int32_t pending> XL_INLINE void xl_wait_for_products() {
    emulation::meet(emulation::warpgroups[emulation::current / emulation::WARPGROUP]);
}

XL_INLINE void xl_pin(int32_t (&)[XL_SUMS]) {}

/* Ensures: this thread's sums += its share of 64 rows of left times 32 octets of right. */
XL_INLINE void xl_multiply(int32_t (&d)[XL_SUMS], uint64_t left, uint64_t right) {
    const int8_t *a = (const int8_t *)emulation::shared + 16 * left, *b = (const int8_t *)emulation::shared + 16 * right;
    const int32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    for (int32_t i = 0; i < XL_SUMS; ++i) {
        const int32_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
        for (int32_t k = 0; k < 32; ++k)
            d[i] += a[XL_DEPTH * row + k] * b[XL_DEPTH * column + k];
    }
}

