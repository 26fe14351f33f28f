/* Compiles the functions between XL_TARGET_BEGIN(features) and XL_TARGET_END for an instruction set that the rest of
 * the library may not use. To be placed before the header of the intrinsics. */
#ifndef XL_MATRIX_TARGET_H
#define XL_MATRIX_TARGET_H

#define XL_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#    define XL_TARGET_BEGIN(features)                                                                                  \
        XL_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#    define XL_TARGET_END XL_PRAGMA(clang attribute pop)
#else
#    define XL_TARGET_BEGIN(features) XL_PRAGMA(GCC push_options) XL_PRAGMA(GCC target(features))
#    define XL_TARGET_END XL_PRAGMA(GCC pop_options)
#endif

#endif
