/* What NVRTC, which has no system headers, needs to be told: sized integers, and what kernels call a warp. */
#ifndef XL_CUDA_H
#define XL_CUDA_H

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define XL_INLINE __device__ __forceinline__
#define XL_WARP 32
#define XL_WHOLE_WARP 0xffffffffu

#endif
