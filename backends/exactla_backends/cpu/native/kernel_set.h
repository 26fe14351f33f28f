/* The elementwise kernels of one instruction set, as a table of functions; see kernels/xl_host.h. */
#ifndef XL_KERNEL_SET_H
#define XL_KERNEL_SET_H

#include "xl_host.h"

typedef struct {
    int64_t (*scan)(const xl_operand *, int64_t, int64_t, int64_t *, int64_t *);
    int64_t (*first_nonfinite)(const xl_operand *, int64_t, int64_t);
    int64_t (*residues8)(const xl_operand *, const xl_residue_table *, const xl_planes *, int64_t, int64_t);
    int64_t (*residues16)(const xl_operand *, const xl_residue_table *, const xl_planes *, int64_t, int64_t);
    int64_t (*component_residues)(const xl_operand *, int32_t, int32_t, const xl_residue_table *, const xl_planes *,
                                  int64_t, int64_t);
    int64_t (*interval_residues)(const xl_operand *, const xl_operand *, int32_t, int32_t, const xl_residue_table *,
                                 const xl_planes *, int64_t, int64_t, int64_t *);
    void (*classify)(const xl_operand *, const xl_planes *, int64_t, int64_t);
    int64_t (*integers)(const xl_results *, const xl_crt_table *, uint32_t *, int64_t, int64_t, int64_t, int64_t);
    int64_t (*round)(const xl_results *, const xl_crt_table *, const xl_exponents *, const int64_t *,
                     const xl_encodings *, int64_t, int64_t, int64_t);
    int64_t (*round_components)(const xl_results *, const xl_crt_table *, const xl_exponents *, const int64_t *,
                                const xl_encodings *, int64_t, int64_t, int64_t);
    int64_t (*round_certified)(const xl_results *, const xl_crt_table *, const xl_exponents *, const int64_t *,
                               const xl_encodings *, int64_t, int64_t, uint8_t *, int64_t, int64_t, int64_t);
    int64_t (*mark)(const xl_results[3], const xl_crt_table *, const int64_t *, const xl_encodings *, int64_t,
                    int64_t);
    void (*combine)(void *, const xl_results *, const int64_t *, int64_t, const xl_crt_table *, int64_t, int64_t);
    int64_t (*small_scratch)(int64_t, int64_t, int64_t, int32_t, int32_t);
    int64_t (*small_product)(const xl_operand *, const xl_operand *, int32_t, int32_t, const int64_t *,
                             const xl_encodings *, int64_t, void *);
    int64_t (*pivot_panel)(int16_t *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t *);
    void (*add_residues)(int8_t *, int64_t, const int8_t *, int64_t, int64_t, int64_t, int64_t);
    void (*scaled_difference)(int8_t *, const int8_t *, int64_t, int64_t, int64_t);
    int64_t (*eliminate)(xl_word_elimination *);
    void (*substitute)(const xl_word_elimination *, int64_t, uint32_t, uint64_t *);
    void (*load_words)(uint64_t *, const int64_t *, int64_t, uint32_t);
    void (*wide_residues)(const int32_t *, const int32_t *, int64_t, const xl_wide_modulus *, int16_t *);
    void (*wide_split)(const int16_t *, int64_t, int8_t *, int8_t *);
    void (*wide_weighted)(const xl_wide_sum *, int64_t, const xl_wide_modulus *, int64_t *, int16_t *);
    void (*wide_carry)(const int32_t *, int64_t, int64_t, const int32_t *, const uint8_t *, int64_t, int32_t *,
                       uint64_t *, int64_t);
    void (*wide_digit_products)(uint64_t *, const uint64_t *, int64_t, const uint64_t *, int64_t);
    void (*combine_digits)(const uint32_t *, int64_t, int64_t, const int32_t *, int64_t *);
    int64_t (*numbers)(const xl_numbers *, int64_t, int64_t);
} xl_kernel_set;

#endif
