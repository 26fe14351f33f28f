/* Residues of a block of columns or rows, which are found one after the other, join the digits of those that products take.
 * `common.cuh` stands before this text. */

/* Octet first + k of row row0 + i of the planes 2 p and 2 p + 1 = digits of panel[p, k, order[i]], for i from `begin` on and
 * k < width; without an order the i-th is meant. Octets of a word that lie behind the last one become 0. */
extern "C" __global__ void xl_wide_join(const int16_t *panel, int64_t panel_plane, int64_t panel_row,
                                        const int64_t *order, int64_t begin, int64_t entries, int64_t width,
                                        int8_t *planes, int64_t plane, int64_t stride, int64_t row0, int64_t first) {
    const int64_t i = begin + (int64_t)blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
    if (i >= entries)
        return;
    const int16_t *from = panel + p * panel_plane + (order ? order[i] : i);
    uint32_t *high = (uint32_t *)(planes + 2 * p * plane + (row0 + i) * stride), *low = high + plane / 4;
    for (int64_t word = first / 4; 4 * word < first + width; ++word) {
        const bool is_begun = 4 * word < first;
        uint32_t made_high = is_begun ? high[word] : 0, made_low = is_begun ? low[word] : 0;
        for (int32_t octet = 0; octet < 4; ++octet) {
            const int64_t k = 4 * word + octet - first;
            if (k >= 0 && k < width) {
                const int32_t residue = from[k * panel_row], digit = (residue + 128) >> 8;
                made_high |= (uint32_t)(digit & 255) << 8 * octet;
                made_low |= (uint32_t)(residue & 255) << 8 * octet;
            }
        }
        high[word] = made_high;
        low[word] = made_low;
    }
}
