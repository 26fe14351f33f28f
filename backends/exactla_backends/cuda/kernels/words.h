/* Entries of operands as words. What is compiled is for one format: XL_FORMAT has the fields of xl_format. */
#ifndef XL_CUDA_WORDS_H
#define XL_CUDA_WORDS_H
#include "xl_residues.h"

XL_FUNCTION uint64_t xl_word(const uint8_t *from, int32_t octets) {
    return octets == 8   ? *(const uint64_t *)from
           : octets == 4 ? *(const uint32_t *)from
           : octets == 2 ? *(const uint16_t *)from
                         : *from;
}

#endif
