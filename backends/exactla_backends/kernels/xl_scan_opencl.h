/* Ranges of floats, in vectors; xl_scan.h says what the function ensures. */
#ifndef XL_SCAN_OPENCL_H
#define XL_SCAN_OPENCL_H

XL_FUNCTION void xl_scan_floats(xl_ranges *ranges, const xl_entries *x, const uint64_t words[XL_LANES],
                                const xl_format *format) {
    const ulong16 significand = vload16(0, x->significand);
    const long16 zero = significand == (ulong16)(0), exponent = vload16(0, x->exponent);
    const ulong16 trailing = popcount((significand & ((ulong16)(0) - significand)) - (ulong16)(1));
    const long16 bottom = zero ? (long16)(XL_NONE) : exponent + as_long16(trailing);
    const long16 top = zero ? (long16)(-XL_NONE) : exponent + (long16)(format->precision);
    const long16 nonfinite = (long16)(1) + as_long16(xl_finite_lanes(vload16(0, words), format));
    vstore16(min(bottom, vload16(0, ranges->lowest)), 0, ranges->lowest);
    vstore16(max(top, vload16(0, ranges->highest)), 0, ranges->highest);
    vstore16(vload16(0, ranges->nonfinite) + nonfinite, 0, ranges->nonfinite);
}

#endif
