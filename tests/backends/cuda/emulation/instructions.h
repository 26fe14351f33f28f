/* What CUDA's own functions and instructions compute, for kernels that run on a host; see threads.h. */
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};

inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

template <class T> T min(T x, T y) { return x < y ? x : y; }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i)
        result |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}

/* Instructions that kernels name in assembly. */
inline int dp4a_u32_s32(unsigned x, unsigned y, int sum) {
    for (unsigned i = 0; i < 4; ++i)
        sum += (int)(x >> 8 * i & 255) * (signed char)(y >> 8 * i & 255);
    return sum;
}
inline int dp4a_s32_s32(unsigned x, unsigned y, int sum) {
    for (unsigned i = 0; i < 4; ++i)
        sum += (signed char)(x >> 8 * i & 255) * (signed char)(y >> 8 * i & 255);
    return sum;
}
inline unsigned dp4a_u32_u32(unsigned x, unsigned y, unsigned sum) {
    for (unsigned i = 0; i < 4; ++i)
        sum += (x >> 8 * i & 255) * (y >> 8 * i & 255);
    return sum;
}
inline unsigned dp2a_lo_u32_u32(unsigned x, unsigned y, unsigned sum) {
    return sum + (x & 65535) * (y & 255) + (x >> 16) * (y >> 8 & 255);
}
inline unsigned dp2a_hi_u32_u32(unsigned x, unsigned y, unsigned sum) { return dp2a_lo_u32_u32(x, y >> 16, sum); }

template <class T> T atomicAdd(T *cell, T value) { return std::exchange(*cell, *cell + value); }
template <class T> T atomicMin(T *cell, T value) { return std::exchange(*cell, value < *cell ? value : *cell); }
template <class T> T atomicMax(T *cell, T value) { return std::exchange(*cell, value > *cell ? value : *cell); }

inline void __syncthreads() { emulation::meet(emulation::block); }

/* These take whole warps: a lane that has ended, or a mask of fewer, is an error. */
inline int __reduce_min_sync(unsigned mask, int value) {
    return emulation::over_warp(mask, value, [](const unsigned long long *values, unsigned) {
        int least = (int)values[0];
        for (unsigned i = 1; i < emulation::WARP; ++i)
            least = min(least, (int)values[i]);
        return least;
    });
}
inline int __reduce_add_sync(unsigned mask, int value) {
    return emulation::over_warp(mask, value, [](const unsigned long long *values, unsigned) {
        int sum = 0;
        for (unsigned i = 0; i < emulation::WARP; ++i)
            sum += (int)values[i];
        return sum;
    });
}
inline unsigned __ballot_sync(unsigned mask, int value) {
    return emulation::over_warp(mask, value, [](const unsigned long long *values, unsigned) {
        unsigned votes = 0;
        for (unsigned i = 0; i < emulation::WARP; ++i)
            votes |= (unsigned)((int)values[i] != 0) << i;
        return (int)votes;
    });
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, unsigned distance) {
    return emulation::over_warp(mask, value, [distance](const unsigned long long *values, unsigned lane) {
        return (T)values[lane ^ distance];
    });
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { __shfl_xor_sync(mask, 0u, 0); }

namespace emulation {

inline int from_e4m3(unsigned encoding) {
    const int exponent = (int)(encoding >> 3 & 15) - 10, significand = (int)(encoding & 7) | 8;
    const int magnitude = (encoding & 127) == 0 ? 0 : exponent < 0 ? significand >> -exponent : significand << exponent;
    if ((encoding & 127) != 0 && (exponent < -3 || (exponent < 0 && magnitude << -exponent != significand)))
        std::abort(); /* no integer */
    return encoding & 128 ? -magnitude : magnitude;
}

static unsigned fragments[MOST][6];

/* Ensures: d = c + a b of 16 x 32 and 32 x 8 numbers, each thread's share; sums of more than 13 bits end the process. */
inline void mma_e4m3(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], const float (&c)[4]) {
    const unsigned warp = current / WARP, first = warp * WARP, lane = current - first;
    if (warps[warp].members != WARP)
        std::abort();
    for (unsigned i = 0; i < 6; ++i)
        fragments[current][i] = i < 4 ? a[i] : b[i - 4];
    meet(warps[warp]);
    for (unsigned i = 0; i < 4; ++i) {
        int sum = (int)c[i];
        for (unsigned k = 0; k < 32; ++k) {
            const unsigned place = k % 16 / 4, half = k / 16, shift = 8 * (k % 4);
            const unsigned left = fragments[first + lane / 4 * 4 + place][i / 2 + 2 * half];
            const unsigned right = fragments[first + (lane % 4 * 2 + i % 2) * 4 + place][4 + half];
            sum += from_e4m3(left >> shift & 255) * from_e4m3(right >> shift & 255);
        }
        if (sum > 1 << 13 || sum < -(1 << 13))
            std::abort();
        d[i] = (float)sum;
    }
    meet(warps[warp]);
}

} // namespace emulation

#define __restrict__ __restrict
#define __forceinline__ inline
#define __device__
#define __global__
#define __grid_constant__
#define __shared__ static
#define __launch_bounds__(...)
