/* What differs between C11, NVRTC and OpenCL C, and every #if of the kernels.
 *
 * The kernels are written for a block of XL_LANES entries at a time, with the lanes in the innermost loops: a host
 * compiler turns those into vector instructions, a device runs one work item for each block of XL_LANES entries.
 */
#ifndef XL_PORT_H
#define XL_PORT_H

#if defined(__OPENCL_C_VERSION__) /* ---- OpenCL C ---- */

typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define XL_FUNCTION static inline
#define XL_RESTRICT restrict
#if XL_LANES == 16 || XL_PAIRS /* in vectors: looking for others takes compilers several times longer */
#define XL_KERNEL __attribute__((vec_type_hint(int16))) __kernel void
#elif XL_XMX /* matrix units are for all work items of a sub-group */
#define XL_KERNEL __attribute__((intel_reqd_sub_group_size(XL_XMX))) __kernel void
#else
#define XL_KERNEL __kernel void
#endif
#define XL_GLOBAL __global
#define XL_GLOBAL_INDEX(axis) ((int64_t)get_global_id(axis))
#define XL_GLOBAL_SIZE(axis) ((int64_t)get_global_size(axis))
#define XL_ATOMIC_ADD(counter, amount) atomic_add(counter, amount)
#define XL_ATOMIC_MIN(cell, value) atomic_min(cell, value)
#define XL_ATOMIC_MAX(cell, value) atomic_max(cell, value)

#elif defined(__CUDACC_RTC__) /* ---- CUDA through NVRTC ---- */

#include "xl_cuda.h"
#define XL_FUNCTION static XL_INLINE
#define XL_RESTRICT __restrict__
#define XL_KERNEL extern "C" __global__ void
#define XL_GLOBAL
#define XL_GLOBAL_INDEX(axis) XL_CUDA_INDEX(axis)
#define XL_CUDA_INDEX(axis) XL_CUDA_INDEX_##axis
#define XL_CUDA_INDEX_0 ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define XL_CUDA_INDEX_1 ((int64_t)blockIdx.y * blockDim.y + threadIdx.y)
#define XL_CUDA_INDEX_2 ((int64_t)blockIdx.z * blockDim.z + threadIdx.z)
#define XL_GLOBAL_SIZE(axis) XL_CUDA_SIZE_##axis
#define XL_CUDA_SIZE_0 ((int64_t)gridDim.x * blockDim.x)
#define XL_CUDA_SIZE_1 ((int64_t)gridDim.y * blockDim.y)
#define XL_CUDA_SIZE_2 ((int64_t)gridDim.z * blockDim.z)
#define XL_ATOMIC_ADD(counter, amount) atomicAdd(counter, amount)
#define XL_ATOMIC_MIN(cell, value) atomicMin(cell, value)
#define XL_ATOMIC_MAX(cell, value) atomicMax(cell, value)

#else /* ---- C11 on a host ---- */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define XL_GLOBAL
#ifndef XL_LANES
#define XL_LANES 64
#endif
#ifndef XL_TARGET
#define XL_TARGET c
#endif
#define XL_RESTRICT restrict
#ifdef __GNUC__
#define XL_FUNCTION static inline __attribute__((always_inline))
#define XL_STAGE static __attribute__((noinline, unused))
#ifndef __clang__
#define XL_INDEPENDENT _Pragma("GCC ivdep")
#define XL_UNROLLED _Pragma("GCC unroll 4")
#endif
#define XL_ALIGNED __attribute__((aligned(64)))
#else
#define XL_FUNCTION static inline
#endif

#endif

#ifndef XL_LANES
#define XL_LANES 1
#endif
/* A step over all lanes, with its arrays in memory. Host compilers vectorise it best as a function of its own. */
#ifndef XL_STAGE
#define XL_STAGE XL_FUNCTION
#endif
#ifndef XL_ALIGNED
#define XL_ALIGNED
#endif
/* Before loops of up to four steps over an array of vectors, which is then held in registers. */
#ifndef XL_UNROLLED
#define XL_UNROLLED
#endif

/* With XL_FIXED, kernels are for so many moduli, and for integers of XL_FIXED_LIMBS limbs. In SPIR-V, with
 * XL_SPECIALISED, those numbers are filled in where a module is loaded. */
#ifdef XL_SPECIALISED
int __attribute__((overloadable)) __spirv_SpecConstant(int number, int otherwise);
#define XL_FIXED_LIMBS __spirv_SpecConstant(0, 1)
#define XL_FIXED_GROUPS __spirv_SpecConstant(1, 1)
#define XL_FIXED __spirv_SpecConstant(2, 1)
#else
#define XL_FIXED_LIMBS XL_MAX_LIMBS
#define XL_FIXED_GROUPS XL_MAX_GROUPS
#endif

/* Before loops whose bounds are constants where XL_FIXED is defined: then nothing indexes a work item's arrays at run
 * time. */
#if defined(XL_FIXED) && defined(XL_KERNEL)
#define XL_UNROLL _Pragma("unroll")
#else
#define XL_UNROLL
#endif

/* Lanes are independent: a pass of such a loop touches no memory that another pass writes. */
#ifndef XL_INDEPENDENT
#define XL_INDEPENDENT
#endif
#define XL_EACH_LANE(w) XL_INDEPENDENT for (int32_t w = 0; w < XL_LANES; ++w)

/* ---- numbers that kernels and those who call them share ---- */

#define XL_NONE ((int64_t)1 << 40) /* larger than any exponent */
#define XL_PIECES 7                /* pieces of an interval, see xl_interval.h */
#define XL_CLASSES 7               /* classes of entries, see xl_special.h */
#define XL_DIGIT_BITS 28           /* of the digits that small products are made of, see host_small.h */
#define XL_MOST_DIGITS 4
#define XL_PIECE_ROWS 6            /* sums of pieces that are made at a time, see host_numbers.h */

/* ---- counting bits ---- */

#if defined(__OPENCL_C_VERSION__)
#define xl_popcount32(x) popcount(x)
#define xl_popcount64(x) popcount(x)
#elif defined(__CUDACC_RTC__)
#define xl_popcount32(x) ((uint32_t)__popc(x))
#define xl_popcount64(x) ((uint64_t)__popcll(x))
#elif defined(__GNUC__) && (defined(__AVX512VPOPCNTDQ__) || defined(__aarch64__))
#define xl_popcount32(x) ((uint32_t)__builtin_popcount(x))
#define xl_popcount64(x) ((uint64_t)__builtin_popcountll(x))
#else
/* Ensures: the number of ones of x. Without multiplications, which vector units lack for 64 bits. */
XL_FUNCTION uint32_t xl_popcount32(uint32_t x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    x += x >> 8;
    return (x + (x >> 16)) & 63u;
}

/* Ensures: the number of ones of x. */
XL_FUNCTION uint64_t xl_popcount64(uint64_t x) {
    const uint64_t pairs = ((uint64_t)0x55555555u << 32) | 0x55555555u;
    const uint64_t nibbles = ((uint64_t)0x33333333u << 32) | 0x33333333u;
    const uint64_t octets = ((uint64_t)0x0f0f0f0fu << 32) | 0x0f0f0f0fu;
    x -= (x >> 1) & pairs;
    x = (x & nibbles) + ((x >> 2) & nibbles);
    x = (x + (x >> 4)) & octets;
    x += x >> 8;
    x += x >> 16;
    return (x + (x >> 32)) & 127u;
}
#endif

/* ---- products of bytes ---- */

#if defined(__CUDACC_RTC__)
/* Ensures: sum plus the sum over i < 4 of byte i of `bytes`, unsigned, times byte i of `weights`, signed. */
XL_FUNCTION int32_t xl_dot4(uint32_t bytes, uint32_t weights, int32_t sum) {
    int32_t result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(weights), "r"(sum));
    return result;
}
#elif defined(XL_DOT_PRODUCTS) /* OpenCL C on a device that has instructions for these */
/* Ensures: sum plus the sum over i < 4 of byte i of `bytes`, unsigned, times byte i of `weights`, signed. */
XL_FUNCTION int32_t xl_dot4(uint32_t bytes, uint32_t weights, int32_t sum) {
    return sum + dot_4x8packed_us_int(bytes, weights);
}
#else
/* Ensures: sum plus the sum over i < 4 of byte i of `bytes`, unsigned, times byte i of `weights`, signed. */
XL_FUNCTION int32_t xl_dot4(uint32_t bytes, uint32_t weights, int32_t sum) {
    sum += (int32_t)(bytes & 255) * (int8_t)(weights & 255);
    sum += (int32_t)(bytes >> 8 & 255) * (int8_t)(weights >> 8 & 255);
    sum += (int32_t)(bytes >> 16 & 255) * (int8_t)(weights >> 16 & 255);
    return sum + (int32_t)(bytes >> 24) * (int8_t)(weights >> 24);
}
#endif

/* ---- primitives: the same functions in each of these files ---- */

/* Four signed bytes that xl_dot_rows multiplies by: in a word, or in vectors the even ones and the odd ones apart, in
 * two integers of 16 bits each. */
#if XL_LANES == 16 && defined(__OPENCL_C_VERSION__)
typedef uint2 xl_weight;
#else
typedef uint32_t xl_weight;
#endif

#include "xl_reduce.h"

#if XL_LANES == 16 && defined(__OPENCL_C_VERSION__)
#define XL_VECTORS /* steps over all lanes are written in vectors, in files that end in _opencl.h */
#include "xl_lanes_opencl.h"
#elif XL_LANES != 64 || !defined(__GNUC__)
#include "xl_lanes_plain.h"
#elif defined(__AVX512VNNI__) && defined(__AVX512BW__)
#include "xl_lanes_avx512.h"
#elif defined(__AVX2__)
#include "xl_lanes_avx2.h"
#elif defined(__SSE2__)
#include "xl_lanes_sse2.h"
#elif defined(__ARM_FEATURE_MATMUL_INT8)
#include "xl_lanes_neon.h"
#else
#include "xl_lanes_plain.h"
#endif

#ifndef XL_KERNEL /* small products are made on hosts alone */
#if defined(__GNUC__) && defined(__AVX2__)
#ifdef __AVX512F__
#define XL_DIGITS_AVX512
#endif
#include "xl_digits_x86.h"
#else
#include "xl_digits_plain.h"
#endif
#endif

#endif
