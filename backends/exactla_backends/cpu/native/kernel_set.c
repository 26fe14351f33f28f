/* The table of the kernels that are compiled for XL_TARGET, as kernels/host.c is. */
#include "kernel_set.h"

extern const xl_kernel_set XL_ENTRY(kernel_set);

const xl_kernel_set XL_ENTRY(kernel_set) = {
    .scan = XL_ENTRY(scan),
    .first_nonfinite = XL_ENTRY(first_nonfinite),
    .residues8 = XL_ENTRY(residues8),
    .residues16 = XL_ENTRY(residues16),
    .component_residues = XL_ENTRY(component_residues),
    .interval_residues = XL_ENTRY(interval_residues),
    .classify = XL_ENTRY(classify),
    .integers = XL_ENTRY(integers),
    .round = XL_ENTRY(round),
    .round_components = XL_ENTRY(round_components),
    .round_certified = XL_ENTRY(round_certified),
    .mark = XL_ENTRY(mark),
    .combine = XL_ENTRY(combine),
    .small_scratch = XL_ENTRY(small_scratch),
    .small_product = XL_ENTRY(small_product),
    .pivot_panel = XL_ENTRY(pivot_panel),
    .add_residues = XL_ENTRY(add_residues),
    .scaled_difference = XL_ENTRY(scaled_difference),
    .eliminate = XL_ENTRY(eliminate),
    .substitute = XL_ENTRY(substitute),
    .load_words = XL_ENTRY(load_words),
    .wide_residues = XL_ENTRY(wide_residues),
    .wide_split = XL_ENTRY(wide_split),
    .wide_weighted = XL_ENTRY(wide_weighted),
    .wide_carry = XL_ENTRY(wide_carry),
    .wide_digit_products = XL_ENTRY(wide_digit_products),
    .combine_digits = XL_ENTRY(combine_digits),
    .numbers = XL_ENTRY(numbers),
};
