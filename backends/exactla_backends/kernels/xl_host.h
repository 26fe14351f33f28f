/* Entry points of the kernels on a host: what Python, or another C file, calls.
 *
 * Every function takes a range [begin, end) of rows, and touches only those: threads share nothing. Names end in the
 * instruction set that the file was compiled for, XL_TARGET. Pointers into tables are to what `tables.py` makes.
 */
#ifndef XL_HOST_H
#define XL_HOST_H

#include "xl_port.h"

#define XL_JOIN(name, target) xl_##name##_##target
#define XL_NAME(name, target) XL_JOIN(name, target)
#define XL_ENTRY(name) XL_NAME(name, XL_TARGET)

#define XL_OUT_OF_MEMORY (-1)

/* What breaks a scan: entries that are not finite, where none was; bits below the exponent, unless they may be dropped. */
enum { XL_EXPECT_FINITE = 1, XL_MAY_DROP = 2 };

/* A matrix of encodings, or of two's complement integers of 32-bit limbs. Strides in bytes, of any sign and
 * alignment. */
typedef struct {
    const void *data;
    int64_t rows, depth;
    int64_t row_stride, depth_stride;
    int64_t limb_stride, limbs; /* for integers of limbs, else 0 */
    const int64_t *format;      /* table of the format */
    const int64_t *exponents;   /* [rows]: entries are integers times 2**exponent ... */
    int64_t bits;               /* ... of magnitude below 2**bits */
    int64_t checks;             /* of XL_EXPECT_FINITE and XL_MAY_DROP */
} xl_operand;

/* Constants that turn integers of `limbs` limbs into residues. */
typedef struct {
    int64_t moduli, limbs;
    const void *constants;   /* [moduli, padded][XL_RESIDUE_FIELDS] */
    const uint32_t *weights; /* [moduli, padded][limbs], two rows a modulus for digits */
    const uint32_t *powers;  /* [moduli, padded][blocks], for digits only */
    int64_t blocks;          /* 0 where there are no powers */
} xl_residue_table;

/* Where residues go: plane p, row r, entry k at [p * plane_stride + r * row_stride + k]. Digits of modulus p are in the
 * planes 2 p (high) and 2 p + 1 (low). Entries from the operand's depth up to `depth` are set to 0. */
typedef struct {
    int8_t *data;
    int64_t plane_stride, row_stride, depth;
} xl_planes;

/* Pieces of the intervals of a matrix; see interval_integers. */
typedef struct {
    const uint32_t *pieces;
    int64_t limbs, rows, depth;
} xl_interval_side;

/* Residues of results: modulus p, row r, column c at octets [p * plane_stride + r * row_stride + c * octets]. */
typedef struct {
    const void *data;
    int64_t octets; /* 1: int8_t; 2: int16_t */
    int64_t plane_stride, row_stride;
    int64_t rows, columns;
} xl_results;

/* Constants that turn residues into integers. */
typedef struct {
    int64_t moduli, limbs, groups, quotient_octets;
    const uint32_t *constants; /* [moduli][XL_CRT_FIELDS] */
    const uint32_t *weights;   /* [4 (1 + limbs)][groups] */
} xl_crt_table;

/* Where encodings go: row r, column c at octets [r * row_stride + c * octets of the format]. */
typedef struct {
    void *data;
    int64_t row_stride;
    int64_t rounding;
} xl_encodings;

/* Results are integers times 2**(rows[r] + columns[c] + shift). */
typedef struct {
    const int64_t *rows, *columns;
    int64_t shift;
} xl_exponents;

/* Ensures: lowest[r] and highest[r] are lowered and raised as xl_scan says; returns how many entries are not finite. */
int64_t XL_ENTRY(scan)(const xl_operand *operand, int64_t begin, int64_t end, int64_t *lowest, int64_t *highest);

/* Ensures: returns row * depth + k of the first NaN or infinity in the rows, -1 where there is none. */
int64_t XL_ENTRY(first_nonfinite)(const xl_operand *operand, int64_t begin, int64_t end);

/* Ensures: planes congruent to floor(entry / 2**exponent), centred; returns how many entries break their scan. */
int64_t XL_ENTRY(residues8)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                            int64_t begin, int64_t end);

/* The same in two digits; with table->blocks the table's limbs are 4, and any range of exponents has a place. */
int64_t XL_ENTRY(residues16)(const xl_operand *operand, const xl_residue_table *table, const xl_planes *planes,
                             int64_t begin, int64_t end);

#define XL_MOST_COMPONENTS 4 /* of a number */

/* The same of sums of 2 to XL_MOST_COMPONENTS components: operands of one float format and layout, which share their
 * exponents and bits, as the sums do, and come in their order.
 * Requires: table->blocks is 0.
 * Ensures: planes congruent to the sums in units of 2**exponent; returns 0 unless components break their scan, or are as
 * large as one unit in the last place of the component before, or not 0 after a 0. */
int64_t XL_ENTRY(component_residues)(const xl_operand *components, int32_t count, int32_t octets,
                                     const xl_residue_table *table, const xl_planes *planes, int64_t begin,
                                     int64_t end);

/* Residues of the pieces of intervals, in the order of xl_interval.h; `octets` is 1, or 2 for digits.
 * Requires: 32 * table->limbs >= bits of either operand + 4; table->blocks 0; the operands share their exponents.
 * Ensures: planes[piece]; *invalid grows by the number of entries with r < 0; returns how many break their scan. */
int64_t XL_ENTRY(interval_residues)(const xl_operand *first, const xl_operand *second, int32_t endpoints,
                                    int32_t octets, const xl_residue_table *table, const xl_planes *planes,
                                    int64_t begin, int64_t end, int64_t *invalid);

/* The same pieces as two's complement integers: limb j of entry (r, k) of a piece at
 * pieces[((piece * limbs + j) * rows + r) * depth + k]. Requires 32 * limbs >= bits of either operand + 4. */
int64_t XL_ENTRY(interval_integers)(const xl_operand *first, const xl_operand *second, int32_t endpoints, int64_t limbs,
                                    uint32_t *pieces, int64_t begin, int64_t end, int64_t *invalid);

/* Requires: sides made by interval_integers; table->limbs = left->limbs + right->limbs + 1, table->blocks 0.
 * Ensures: planes[0] and planes[1], [left rows, right rows], hold residues of what the lower and the upper end of the
 * sharp product exceed the hull by, summed over the depth. Returns 0, or XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(hull_excess)(const xl_interval_side *left, const xl_interval_side *right, int32_t octets,
                              const xl_residue_table *table, const xl_planes planes[2], int64_t begin, int64_t end);

/* Ensures: classes[0..6] as xl_classify says, which are also residues, or low digits, for every modulus from 3. */
void XL_ENTRY(classify)(const xl_operand *operand, const xl_planes *classes, int64_t begin, int64_t end);

/* Ensures: limb j of entry (r, c) at limbs[j * limb_stride + (r * columns + c) * entry_stride]. Returns 0, or
 * XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(integers)(const xl_results *results, const xl_crt_table *table, uint32_t *limbs, int64_t limb_stride,
                           int64_t entry_stride, int64_t begin, int64_t end);

/* Ensures: `count` encodings of each integer times its power of two. Returns 0, or XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(round)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                        const int64_t *format, const xl_encodings *encodings, int64_t count, int64_t begin,
                        int64_t end);

/* Requires: the format has 8 octets; up to XL_MOST_COMPONENTS components.
 * Ensures: each integer times its power of two as so many encodings next to each other, each the nearest value, ties to
 * even, to what those before it leave; returns how many of them are infinite, or XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(round_components)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                                   const int64_t *format, const xl_encodings *encodings, int64_t components,
                                   int64_t begin, int64_t end);

/* Requires: |s| + 2**slack < 2**(32 table->limbs - 1).
 * Ensures: encodings as `round` makes them of s - 2**slack, and unsure[r * unsure_stride + c] = 1 where those of
 * s + 2**slack are others or its sign is another (one NaN may stand for overflow on either side), else 0. Returns 0, or XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(round_certified)(const xl_results *results, const xl_crt_table *table, const xl_exponents *exponents,
                                  const int64_t *format, const xl_encodings *encodings, int64_t count, int64_t slack,
                                  uint8_t *unsure, int64_t unsure_stride, int64_t begin, int64_t end);

/* Ensures: encodings rewritten as xl_mark says, by the integers special[0..2] = signs, terms, invalid. Returns 0, or
 * XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(mark)(const xl_results special[3], const xl_crt_table *table, const int64_t *format,
                       const xl_encodings *encodings, int64_t begin, int64_t end);

/* Requires: count < 128, signs of 1 and -1; all terms, and the result, have the octets, strides and sizes of the first.
 * Ensures: result congruent to the sum over terms of signs[i] * terms[i], in [-floor(m / 2), ceil(m / 2)). */
void XL_ENTRY(combine)(void *result, const xl_results *terms, const int64_t *signs, int64_t count,
                       const xl_crt_table *table, int64_t begin, int64_t end);

/* Bytes of scratch for a small product of such sizes. */
int64_t XL_ENTRY(small_scratch)(int64_t rows, int64_t depth, int64_t columns, int32_t digits, int32_t limbs);

/* Requires: the scanned operands [rows, depth] and [columns, depth] are no integers of limbs, and their bits are less
 * than XL_DIGIT_BITS * digits; digits <= XL_MOST_DIGITS; depth * digits < 128; every entry s of left @ right.T has
 * |s| < 2**(32 limbs - 1); scratch of small_scratch bytes, aligned as lanes are.
 * Ensures: `count` encodings of each entry times its power of two; returns how many entries break their scan. */
int64_t XL_ENTRY(small_product)(const xl_operand *left, const xl_operand *right, int32_t digits, int32_t limbs,
                                const int64_t *format, const xl_encodings *encodings, int64_t count, void *scratch);

/* Pivot transforms of all columns of a panel, column k of which is the residues panel[k * stride + row] of the rows.
 * Requires: 100 < modulus < 256, a prime; start + columns <= rows.
 * Ensures: with K the rows from start on, as many as columns, after row start + k was exchanged with row exchanged[k]
 * >= start + k for each k in turn: the panel holds A_KK**-1 in these rows and -A_IK A_KK**-1 in the others; returns the
 * determinant of A_KK times the sign of the exchanges. Or returns 0, where a column has no pivot. */
int64_t XL_ENTRY(pivot_panel)(int16_t *panel, int64_t stride, int64_t rows, int64_t columns, int64_t start,
                              int64_t modulus, int64_t *exchanged);

/* Requires: residues of an odd modulus, rows at strides in bytes. Ensures: to congruent to to + more, centred. */
void XL_ENTRY(add_residues)(int8_t *to, int64_t stride, const int8_t *more, int64_t more_stride, int64_t rows,
                            int64_t columns, int64_t modulus);

/* Requires: |factor| <= 128. Ensures: to congruent to (to - less) * factor, in [-floor(m / 2), ceil(m / 2)). */
void XL_ENTRY(scaled_difference)(int8_t *to, const int8_t *less, int64_t factor, int64_t count, int64_t modulus);

/* Entries of rows come in multiples of so many. */
#define XL_WORD_LANES 8

/* A matrix modulo an odd prime below 2**28: rows of columns + more residues, of which the first may have pivots, and of
 * zeros up to `width`, a multiple of XL_WORD_LANES. */
typedef struct {
    uint32_t prime;
    uint32_t minor; /* the largest one, of the rows and columns of the pivots, or 1 */
    int64_t rows, columns, more, width;
    uint64_t **row;        /* [rows] */
    int64_t *order;        /* [rows]: where each row comes from */
    int64_t *pivots;       /* [rank]: columns, ascending */
    uint64_t *reciprocals; /* [rank]: of the pivots */
    uint64_t *factors;     /* [rows and XL_WORD_LANES more]: memory to work in */
} xl_word_elimination;

/* Ensures: returns the rank of the first columns; row[k] and order[k] are of pivot k, and hold residues of the echelon
 * form past column pivots[k]; `minor` is that of these rows, in this order, and the columns of the pivots. */
int64_t XL_ENTRY(eliminate)(xl_word_elimination *e);

/* Requires: an elimination of as many rows and columns, of full rank.
 * Ensures: solution[columns], congruent to factor times the solution for column `column` of those past the matrix. */
void XL_ENTRY(substitute)(const xl_word_elimination *e, int64_t column, uint32_t factor, uint64_t *solution);

/* Ensures: residues of `count` integers modulo an odd prime below 2**28. */
void XL_ENTRY(load_words)(uint64_t *to, const int64_t *from, int64_t count, uint32_t prime);

/* Lanes of the functions for long integers: entries that they take at a time. */
#define XL_WIDE_LANES 16
#define XL_WIDE_MOST 128 /* entries that are taken by one call, at most */

/* Constants of a modulus m < 2**16 of hundreds. */
typedef struct {
    uint32_t modulus, reciprocal; /* m and floor(2**32 / m) */
    uint32_t bias;                /* a multiple of m, from 2**30 to 2**30 + m */
    uint32_t weight;              /* (M / m)**-1 mod m */
    int64_t fraction;             /* floor(2**40 / m) */
} xl_wide_modulus;

/* A sum of a residue and of `terms` products of residues, for consecutive entries. */
typedef struct {
    const int16_t *sums;
    const int16_t *vectors; /* of term k from k * step on */
    const int16_t *factors; /* of term k at k * factor_step */
    int64_t step, factor_step, terms;
} xl_wide_sum;

/* Requires: count a multiple of XL_WIDE_LANES; |high[i]|, |low[i]| <= 2**30.
 * Ensures: residues[i] congruent to 256 * high[i] + low[i], in [-floor(m / 2), ceil(m / 2)). */
void XL_ENTRY(wide_residues)(const int32_t *high, const int32_t *low, int64_t count, const xl_wide_modulus *modulus,
                             int16_t *residues);

/* Ensures: 256 * high[i] + low[i] = residues[i], for residues of magnitude at most 32,640. */
void XL_ENTRY(wide_split)(const int16_t *residues, int64_t count, int8_t *high, int8_t *low);

/* Requires: count a multiple of XL_WIDE_LANES, at most XL_WIDE_MOST; at most 2**7 terms.
 * Ensures: x = sum * weight mod m in [-floor(m / 2), ceil(m / 2)) for each entry: bytes low and high of digits[i] are
 * the signed ones of x, and fractions[i] grows by x * fraction. */
void XL_ENTRY(wide_weighted)(const xl_wide_sum *sum, int64_t count, const xl_wide_modulus *modulus, int64_t *fractions,
                             int16_t *digits);

/* Requires: count a multiple of XL_WIDE_LANES; |sums| <= 2**30, |quotients| < 2**15; sums[octet * row + i].
 * Ensures: carry[i] + sum over o < 8 limbs of 256**o (sums[o * row + i] - quotients[i] * product[o]) is
 * sum over j < limbs of 2**(64 j) found[j * found_step + i] plus the new carry[i] times 2**(64 limbs).
 * Null quotients stand for zeros. */
void XL_ENTRY(wide_carry)(const int32_t *sums, int64_t row, int64_t limbs, const int32_t *quotients,
                          const uint8_t *product, int64_t count, int32_t *carry, uint64_t *found, int64_t found_step);

/* Digits of long integers for their products. */
#define XL_WIDE_DIGIT_BITS 24
#define XL_WIDE_DIGIT_ROWS 4 /* of the left factor, that are taken together */

/* Requires: digits below 2**24, of the left factor a multiple of XL_WIDE_DIGIT_ROWS; right[-3], right[-2] and right[-1] are 0, as
 * are eleven digits or more after the last. Ensures: sums[i + j] grows by left[i] * right[j], modulo 2**64. */
void XL_ENTRY(wide_digit_products)(uint64_t *sums, const uint64_t *left, int64_t left_count, const uint64_t *right,
                                   int64_t right_count);

/* How digits x_i and weights w, one for every `together` steps, become sum over i of w_(i / together) P**(i mod together) x_i
 * modulo M: pieces have `bits` bits, between -2**(bits - 1) and 2**(bits - 1) - 1, words 32; constants are not negative. */
typedef struct {
    const uint32_t *const *digits; /* [steps], each [entries][words] in two's complement */
    int64_t steps, words, together;
    const uint32_t *base; /* P */
    int64_t base_words;
    int64_t bits, pieces; /* pieces of the sum of `together` digits */
    int64_t merged_words; /* more than that sum takes: a word past the last piece can be read */
    const uint32_t *halves; /* [merged_words]: 2**(bits - 1) in every piece */
    const int32_t *weights; /* [groups + 1] rows of pieces of weights, of -M in the last one, from piece 0 on */
    int64_t groups, row;    /* before it are pieces - 1 zeros, and behind the last one so many that there are */
    int64_t positions;      /* pieces, and then XL_PIECE_ROWS zeros */
    int64_t top_position, top_words; /* sums from there on are enough for the quotient, and have so many words, */
    const uint32_t *top_offset;    /* with a multiple of M added, so that they are not negative */
    const uint32_t *reciprocal;    /* which times this, without the last `places` words, */
    int64_t reciprocal_words, places;
    const uint32_t *quotient_halves; /* [merged_words]: with this added, is the quotient with halves */
    uint32_t *result; /* [entries][result_words], in two's complement */
    int64_t result_words;
    int64_t *lengths; /* [entries]: bits of the magnitudes */
} xl_numbers;

/* Ensures: sums[2 i] and sums[2 i + 1] are those of the low and the high half of word i of the digits, times the weights;
 * top halves are signed. */
void XL_ENTRY(combine_digits)(const uint32_t *digits, int64_t entries, int64_t words, const int32_t *weights,
                              int64_t *sums);

/* Ensures: results of the entries, less than 0.51 M in magnitude. Returns 0, or XL_OUT_OF_MEMORY. */
int64_t XL_ENTRY(numbers)(const xl_numbers *job, int64_t begin, int64_t end);

#endif
