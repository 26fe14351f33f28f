/* Kernels that move entries, or change their kind. */
#ifndef DEVICE_COPIES_H
#define DEVICE_COPIES_H

#include "xl_device.h"
#include "xl_special.h"

/* Row n of the result, `octets` an entry, is row places[count + n] of matrix places[n]; limb after limb. */
XL_KERNEL xl_kernel_gather(xl_bytes data, xl_sizes x, int64_t octets, int64_t limbs, xl_sizes places, int64_t count,
                           XL_GLOBAL uint8_t *to) {
    const int64_t depth = x[XL_DEPTH];
    XL_EACH(limb, 2, limbs)
        XL_EACH(n, 1, count)
            XL_EACH(k, 0, depth) {
                xl_bytes from = data + x[XL_OFFSET] + limb * x[XL_LIMB_STRIDE] + places[n] * x[XL_STACK_STRIDE] +
                                places[count + n] * x[XL_ROW_STRIDE] + k * x[XL_DEPTH_STRIDE];
                xl_device_store(to + ((limb * count + n) * depth + k) * octets, octets, xl_device_load(from, octets));
            }
}

/* to[n] = from[places[n]]. */
XL_KERNEL xl_kernel_gather_rows(xl_sizes from, xl_sizes places, int64_t count, XL_GLOBAL int64_t *to) {
    XL_EACH(n, 0, count)
        to[n] = from[places[n]];
}

/* Entry places[n] of the result is entry n. */
XL_KERNEL xl_kernel_scatter(XL_GLOBAL uint8_t *to, xl_sizes places, xl_bytes from, int64_t octets, int64_t count) {
    XL_EACH(n, 0, count)
        xl_device_store(to + places[n] * octets, octets, xl_device_load(from + n * octets, octets));
}

/* Entry (pair, row, column) goes to place at + (pair * all_rows + row) * all_columns + column. */
XL_KERNEL xl_kernel_store(XL_GLOBAL uint8_t *to, int64_t at, int64_t all_rows, int64_t all_columns, xl_bytes from,
                          int64_t octets, int64_t pairs, int64_t rows, int64_t columns) {
    XL_EACH(pair, 2, pairs)
        XL_EACH(row, 1, rows)
            XL_EACH(column, 0, columns)
                xl_device_store(to + (at + (pair * all_rows + row) * all_columns + column) * octets, octets,
                                xl_device_load(from + ((pair * rows + row) * columns + column) * octets, octets));
}

/* Class i of an entry at classes[((i * stacks + stack) * rows + row) * depth + k]. */
XL_KERNEL xl_kernel_classify(xl_bytes data, xl_sizes x, XL_GLOBAL int8_t *classes) {
    const int64_t first = XL_GLOBAL_INDEX(0) * XL_LANES, depth = x[XL_DEPTH], rows = x[XL_ROWS], stacks = x[XL_STACKS];
    const xl_format format = xl_format_read(x + XL_FORMAT);
    uint64_t words[XL_LANES];
    int8_t found[XL_CLASSES][XL_LANES];
    if (first >= depth)
        return;
    XL_EACH(stack, 2, stacks)
        XL_EACH(row, 1, rows) {
            if (x[XL_LIMBS] != 0) {
                uint32_t any[XL_LANES], top[XL_LANES];
                XL_EACH_LANE(w)
                    any[w] = top[w] = 0;
                for (int64_t j = 0; j < x[XL_LIMBS]; ++j) {
                    xl_device_words(words, data + j * x[XL_LIMB_STRIDE], x, 4, stack, row, first);
                    XL_EACH_LANE(w) {
                        top[w] = (uint32_t)words[w];
                        any[w] |= top[w];
                    }
                }
                xl_classify_limbs(found, any, top);
            } else {
                xl_device_words(words, data, x, format.octets, stack, row, first);
                xl_classify(found, words, &format);
            }
            for (int32_t i = 0; i < XL_CLASSES; ++i)
                XL_EACH_LANE(w)
                    if (first + w < depth)
                        classes[((i * stacks + stack) * rows + row) * depth + first + w] = found[i][w];
        }
}

#endif
