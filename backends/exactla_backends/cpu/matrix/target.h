/* Compiles the functions between XL_TARGET_BEGIN(features) and XL_TARGET_END for an instruction set that the rest of
 * the library may not use; to be placed before the header of the intrinsics. */
#ifndef XL_MATRIX_TARGET_H
#define XL_MATRIX_TARGET_H

#define XL_PRAGMA(text) _Pragma(#text)

/* A function whose arguments are registers, or arrays of them. */
#define XL_INLINE static inline __attribute__((always_inline))

/* Before a loop of a fixed few steps over an array of registers: without it the array may stay in memory. */
#if defined(__clang__)
#    define XL_UNROLL _Pragma("unroll")
#else
#    define XL_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__clang__)
#    define XL_TARGET_BEGIN(features)                                                                                  \
        XL_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#    define XL_TARGET_END XL_PRAGMA(clang attribute pop)
#    define XL_TARGET_DOTPROD "dotprod"
#    define XL_TARGET_I8MM "i8mm"
#else
#    define XL_TARGET_BEGIN(features) XL_PRAGMA(GCC push_options) XL_PRAGMA(GCC target(features))
#    define XL_TARGET_END XL_PRAGMA(GCC pop_options)
#    define XL_TARGET_DOTPROD "arch=armv8.2-a+dotprod"
#    define XL_TARGET_I8MM "arch=armv8.2-a+i8mm"
#endif

#endif
