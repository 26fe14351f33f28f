/* CPUID and XGETBV. */
#if defined(__x86_64__)

#    include "x86.h"

#    include <cpuid.h>
#    include <stdint.h>

static uint64_t enabled_states(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int bit(unsigned word, int index) {
    return word >> index & 1;
}

unsigned xl_x86_features(void) {
    enum { YMM = 0x6, ZMM = 0xE6, TILES = 0x60000 };
    unsigned a, b, c, d, b7, c7, d7, a71 = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27) || !bit(c, 28))
        return 0; /* no XSAVE or no AVX */
    const uint64_t states = enabled_states();
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7))
        return 0;
    if (a >= 1)
        __get_cpuid_count(7, 1, &a71, &b, &c, &d);
    unsigned features = 0;
    if ((states & YMM) == YMM) {
        features |= bit(b7, 5) ? XL_X86_AVX2 : 0;
        features |= bit(b7, 5) && bit(a71, 4) ? XL_X86_AVX_VNNI : 0;
    }
    if ((states & ZMM) == ZMM) {
        features |= bit(b7, 16) && bit(b7, 17) && bit(b7, 30) && bit(b7, 31) ? XL_X86_AVX512 : 0;
        features |= bit(c7, 11) ? XL_X86_AVX512_VNNI : 0;
    }
    if ((states & TILES) == TILES)
        features |= bit(d7, 24) && bit(d7, 25) ? XL_X86_AMX_INT8 : 0;
    return features;
}

#else
typedef int xl_no_x86;
#endif
