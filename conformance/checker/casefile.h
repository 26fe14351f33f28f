/* The case file, which `exactla conformance export` writes.
 *
 * All numbers are little-endian; u8, u32 and u64 are unsigned. A text is a u8 length and so many ASCII octets, an
 * entry is two's complement where its type is signed. `tables.py` beside the kernels says what the tables hold.
 *
 *     file      "exactla-cases-1\n"  u32 bits version  types  bases  residues  cases
 *     types     u32 count, and each:  text name  u8 parts  u64 field [12]             fields of xl_format
 *     bases     u32 count, and each:  u32 octets, moduli, limbs, groups, quotient octets, padded
 *                                     u32 modulus [moduli]  u32 constant [padded][4]  u32 weight [1 + limbs][4][groups]
 *     residues  u32 count, and each:  u32 base, limbs, blocks, padded  u32 constant [padded][8]
 *                                     u32 weight [padded][octets][limbs]  u32 power [padded][blocks]
 *     cases     u32 count, and each:  text name  text function  text rounding  text method  text nonfinite  u8 hull
 * mask u32 type of the result  u8 operands, and each:  u32 type  u8 dimensions u64 length [dimensions]  u32 limbs
 * entries u32 base, left residues, right residues, base of special counts, hull residues u8 digest of the operands [32]
 * u8 digest of the results [32]
 *
 * Absent keywords are empty texts. A base or table that a case does not need has the number 0xffffffff.
 */
#ifndef CHECKER_CASEFILE_H
#define CHECKER_CASEFILE_H

#include "array.h"
#include "matrix.h"
#include "xl_host.h"

enum { MAX_OPERANDS = 4 };

/* Pairwise coprime moduli, and the constants that both ways between integers and residues need. */
typedef struct {
    int64_t octets; /* of a residue: 1, or 2 for two digits */
    int64_t moduli;
    const uint32_t *modulus;
    int64_t capacity; /* integers below 2**capacity in magnitude are known by their residues */
    xl_crt_table crt;
    const xl_matrix_modulus8 *modulus8; /* for one octet, else NULL */
    const xl_matrix_modulus16 *modulus16;
} residue_base;

typedef struct {
    const residue_base *base;
    xl_residue_table table;
} residue_table;

/* The tables that a case is computed with; the last two may be NULL. */
typedef struct {
    const residue_base *base;
    const residue_table *left, *right;
    const residue_base *special;
    const residue_table *hull;
} case_plan;

/* A call of a function of exactla, and the digests of its operands and results. */
typedef struct {
    char name[NAME_OCTETS], function[NAME_OCTETS];
    char rounding[NAME_OCTETS], method[NAME_OCTETS], nonfinite[NAME_OCTETS];
    int hull_mask;
    const number_type *result;
    int operand_count;
    array operands[MAX_OPERANDS];
    case_plan plan;
    uint8_t input[SHA256_OCTETS], output[SHA256_OCTETS];
} test_case;

typedef struct {
    int64_t bits_version;
    int64_t type_count, base_count, residue_count, case_count;
    const number_type *types;
    const residue_base *bases;
    const residue_table *residues;
    const uint8_t *at, *end; /* the cases that have not been read */
    pool memory;
} case_file;

/* Reads everything before the cases; the checker ends where the file cannot be read or is none. */
void case_file_open(case_file *file, const char *path);

/* Reads the next case; its arrays are taken from `memory`. */
void case_file_next(case_file *file, test_case *found, pool *memory);

/* The type of that name, or NULL. */
const number_type *case_file_type(const case_file *file, const char *name);

void case_file_close(case_file *file);

#endif
