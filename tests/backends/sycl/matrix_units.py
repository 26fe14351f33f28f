"""XMX matrix units on a device that has none: their function as OpenCL C, which asks other work items for their bytes.

By the definition of `cl_intel_subgroup_matrix_multiply_accumulate`: a work item has a column of the right matrix and of
the sums; a row of the left one, 32 bytes, lies in the work items of the sub-group side by side.
"""

from exactla_backends.sycl.device import SyclDevice

IMITATION = """
#define cl_intel_subgroup_matrix_multiply_accumulate 1
#define intel_sub_group_i8_i8_matrix_mad_k32 xl_imitated_mad

int xl_imitated_dot(uint a, uint b, int sum) {
    const int4 products = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return sum + products.s0 + products.s1 + products.s2 + products.s3;
}

int8 __attribute__((overloadable)) xl_imitated_mad(int8 a, int8 b, int8 sums) {
    int left[8], right[8], found[8];
    vstore8(a, 0, left);
    vstore8(b, 0, right);
    vstore8(sums, 0, found);
#pragma unroll 1 /* without which compilers take half as long again */
    for (int k = 0; k < 8; ++k)
#pragma unroll 1
        for (int i = 0; i < 8; ++i)
            found[i] = xl_imitated_dot(sub_group_broadcast(left[i], k), right[k], found[i]);
    return vload8(0, found);
}

int8 __attribute__((overloadable)) xl_imitated_mad(short8 a, int8 b, int8 sums) {
    int left[8], right[8], found[8];
    vstore8(convert_int8(a), 0, left);
    vstore8(b, 0, right);
    vstore8(sums, 0, found);
#pragma unroll 1
    for (int k = 0; k < 8; ++k)
#pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            const uint low = sub_group_broadcast(left[i], 2 * k) & 0xffff;
            const uint high = sub_group_broadcast(left[i], 2 * k + 1);
            found[i] = xl_imitated_dot(high << 16 | low, right[k], found[i]);
        }
    return vload8(0, found);
}
"""


class WithMatrixUnits(SyclDevice):
    """A device that reports matrix units for sub-groups of a size."""

    imitation = IMITATION

    def __init__(self, size):
        super().__init__()
        self._size = size

    def has_vectors(self):
        return False

    def matrix_units(self):
        return self._size

    def run(self, kernel, text, macros, *others):
        super().run(kernel, self.imitation + text if "XL_XMX" in macros else text, macros, *others)


class WithSpoiltUnits(WithMatrixUnits):
    """The same, with a change in the imitation."""

    def __init__(self, size, right, wrong):
        super().__init__(size)
        if right not in IMITATION:
            raise ValueError(f"{right} is not in the imitation")
        self.imitation = IMITATION.replace(right, wrong)
