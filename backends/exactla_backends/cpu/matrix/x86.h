/* What an x86 CPU offers and the operating system keeps across task switches. */
#ifndef XL_MATRIX_X86_H
#define XL_MATRIX_X86_H

enum {
    XL_X86_AVX2 = 1,
    XL_X86_AVX_VNNI = 2,
    XL_X86_AVX512 = 4, /* F, BW, DQ and VL */
    XL_X86_AVX512_VNNI = 8,
    XL_X86_AMX_INT8 = 16
};

/* A set of the features above. */
unsigned xl_x86_features(void);

#endif
