/* Reads the case file, and checks that what it says of its tables is so. */
#include "casefile.h"
#include "reader.h"
#include "report.h"
#include "xl_crt.h"

#include <string.h>

static const char magic[] = "exactla-cases-1\n";

enum {
    LARGEST_TABLE = 1 << 20, /* of any number that a table's sizes are made of */
    OCTET_LIMIT = 1 << 8,    /* the largest moduli of one octet */
    DIGITS_LIMIT = 1 << 16,  /* and of two digits */
    WINDOW_LIMBS = 4,        /* of a table with powers */
    FEW_MODULI = 256,        /* quotients of fewer moduli take one octet */
    FREE_BITS = 3,           /* |s| <= M / 4, and M may be just above a power of two */
};
static const int64_t largest_array = (int64_t)1 << 40;
static const uint32_t no_table = 0xffffffff;

static int64_t table_size(reader *from) {
    const uint64_t size = read_number(from, 4);
    if (size > LARGEST_TABLE)
        give_up("a table of the file is too large");
    return (int64_t)size;
}

static int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Whether the fields of a format belong together, so far that the kernels can work with them. */
static int is_format(const xl_format *x) {
    const int64_t octets = x->octets;
    if ((octets != 1 && octets != 2 && octets != 4 && octets != 8) || x->bits != 8 * octets)
        return 0;
    if (x->kind == XL_KIND_SIGNED || x->kind == XL_KIND_UNSIGNED)
        return 1;
    if (x->kind == XL_KIND_LIMBS)
        return octets == 4;
    return x->kind == XL_KIND_FLOAT && x->exponent_bits > 0 && x->exponent_bits < 16 && x->fraction_bits > 0 &&
           x->fraction_bits == x->bits - 1 - x->exponent_bits && x->precision == x->fraction_bits + 1 && x->bias >= 0 &&
           x->bias >> x->exponent_bits == 0 && x->largest <= xl_ones(x->bits - 1);
}

static void read_type(reader *from, number_type *type) {
    read_text(from, type->name);
    type->parts = (int64_t)read_number(from, 1);
    for (int i = 0; i < XL_FORMAT_FIELDS; ++i)
        type->format[i] = (int64_t)read_number(from, 8);
    const xl_format format = xl_format_read(type->format);
    if (type->parts < 1 || type->parts > 2 || !is_format(&format))
        give_up("type %s of the file is none", type->name);
}

const number_type *case_file_type(const case_file *file, const char *name) {
    for (int64_t i = 0; i < file->type_count; ++i)
        if (strcmp(file->types[i].name, name) == 0)
            return &file->types[i];
    return NULL;
}

/* ---- residue bases ----------------------------------------------------------------------------------------------- */

static uint32_t common_divisor(uint32_t a, uint32_t b) {
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void check_moduli(const residue_base *base) {
    const uint32_t limit = base->octets == 1 ? OCTET_LIMIT : DIGITS_LIMIT;
    for (int64_t p = 0; p < base->moduli; ++p) {
        if (base->modulus[p] < 3 || base->modulus[p] > limit)
            give_up("%lu is no modulus of the file's kernels", (unsigned long)base->modulus[p]);
        for (int64_t q = 0; q < p; ++q)
            if (common_divisor(base->modulus[p], base->modulus[q]) != 1)
                give_up("moduli %lu and %lu of the file have a divisor in common", (unsigned long)base->modulus[p],
                        (unsigned long)base->modulus[q]);
    }
}

/* Ensures: the number of bits of the product of the moduli. */
static int64_t product_bits(const residue_base *base) {
    pool memory = {NULL};
    uint32_t *product = pool_take(&memory, base->moduli / 2 + 2, sizeof *product);
    int64_t limbs = 1, bits = 0;
    product[0] = 1;
    for (int64_t p = 0; p < base->moduli; ++p) {
        uint64_t carry = 0;
        for (int64_t j = 0; j < limbs; ++j) {
            carry += (uint64_t)product[j] * base->modulus[p];
            product[j] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry != 0)
            product[limbs++] = (uint32_t)carry;
    }
    for (uint32_t top = product[limbs - 1]; top != 0; top >>= 1)
        ++bits;
    pool_release(&memory);
    return bits + 32 * (limbs - 1);
}

static void check_crt(const residue_base *base, int64_t padded, int64_t bits) {
    const xl_crt_table *crt = &base->crt;
    const int64_t octets = base->moduli * base->octets + crt->quotient_octets;
    if (padded < round_up(base->moduli, 4) || 4 * crt->groups < octets || 32 * crt->limbs < bits - 1 ||
        crt->quotient_octets != (base->moduli < FEW_MODULI ? 1 : 2))
        give_up("a reconstruction table of the file does not fit its %lld moduli", (long long)base->moduli);
    for (int64_t p = 0; p < base->moduli; ++p)
        if (crt->constants[p * XL_CRT_FIELDS] != base->modulus[p])
            give_up("a reconstruction table of the file is for other moduli");
}

static void set_products(residue_base *base, pool *memory) {
    if (base->octets == 1) {
        xl_matrix_modulus8 *constants = pool_take(memory, base->moduli, sizeof *constants);
        for (int64_t p = 0; p < base->moduli; ++p)
            xl_matrix_modulus8_set(&constants[p], base->modulus[p]);
        base->modulus8 = constants;
    } else {
        xl_matrix_modulus16 *constants = pool_take(memory, base->moduli, sizeof *constants);
        for (int64_t p = 0; p < base->moduli; ++p)
            xl_matrix_modulus16_set(&constants[p], base->modulus[p]);
        base->modulus16 = constants;
    }
}

static void read_base(reader *from, residue_base *base, pool *memory) {
    xl_crt_table *crt = &base->crt;
    base->octets = table_size(from);
    base->moduli = crt->moduli = table_size(from);
    crt->limbs = table_size(from);
    crt->groups = table_size(from);
    crt->quotient_octets = table_size(from);
    const int64_t padded = table_size(from);
    if ((base->octets != 1 && base->octets != 2) || base->moduli < 1)
        give_up("a base of the file has %lld moduli of %lld octets", (long long)base->moduli, (long long)base->octets);
    base->modulus = read_words(from, base->moduli, memory);
    crt->constants = read_words(from, padded * XL_CRT_FIELDS, memory);
    crt->weights = read_words(from, 4 * (1 + crt->limbs) * crt->groups, memory);
    check_moduli(base);
    const int64_t bits = product_bits(base);
    check_crt(base, padded, bits);
    base->capacity = bits - FREE_BITS;
    set_products(base, memory);
}

/* ---- residue tables ---------------------------------------------------------------------------------------------- */

static void check_residues(const residue_table *x, int64_t padded) {
    const residue_base *base = x->base;
    const xl_residue_table *table = &x->table;
    const int in_octets = base->octets == 1;
    if (padded < round_up(base->moduli, in_octets ? 4 : 2) || table->limbs < 1 ||
        (in_octets && (table->limbs > XL_CHUNK_LIMBS || table->blocks > 0)) ||
        (table->blocks > 0 && table->limbs != WINDOW_LIMBS))
        give_up("a residue table of the file does not fit its base");
    for (int64_t p = 0; p < base->moduli; ++p)
        if (((const uint32_t *)table->constants)[p * XL_RESIDUE_FIELDS] != base->modulus[p])
            give_up("a residue table of the file is for other moduli");
}

static void read_residues(reader *from, residue_table *x, const case_file *file, pool *memory) {
    xl_residue_table *table = &x->table;
    const int64_t base = table_size(from);
    if (base >= file->base_count)
        give_up("the file has no base %lld", (long long)base);
    x->base = &file->bases[base];
    table->moduli = x->base->moduli;
    table->limbs = table_size(from);
    table->blocks = table_size(from);
    const int64_t padded = table_size(from);
    table->constants = read_words(from, padded * XL_RESIDUE_FIELDS, memory);
    table->weights = read_words(from, padded * x->base->octets * table->limbs, memory);
    table->powers = read_words(from, padded * table->blocks, memory);
    check_residues(x, padded);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void read_tables(case_file *file, reader *from) {
    pool *memory = &file->memory;
    file->type_count = read_count(from);
    number_type *types = pool_take(memory, file->type_count, sizeof *types);
    file->types = types;
    for (int64_t i = 0; i < file->type_count; ++i)
        read_type(from, &types[i]);
    file->base_count = read_count(from);
    residue_base *bases = pool_take(memory, file->base_count, sizeof *bases);
    file->bases = bases;
    for (int64_t i = 0; i < file->base_count; ++i)
        read_base(from, &bases[i], memory);
    file->residue_count = read_count(from);
    residue_table *residues = pool_take(memory, file->residue_count, sizeof *residues);
    file->residues = residues;
    for (int64_t i = 0; i < file->residue_count; ++i)
        read_residues(from, &residues[i], file, memory);
}

void case_file_open(case_file *file, const char *path) {
    memset(file, 0, sizeof *file);
    reader from = read_file(path, &file->memory);
    const uint64_t length = sizeof magic - 1;
    if ((uint64_t)(from.end - from.at) < length || memcmp(read_octets(&from, length), magic, (size_t)length) != 0)
        give_up("%s is no case file of this version", path);
    file->bits_version = (int64_t)read_number(&from, 4);
    read_tables(file, &from);
    file->case_count = read_count(&from);
    file->at = from.at;
    file->end = from.end;
}

void case_file_close(case_file *file) {
    pool_release(&file->memory);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static const number_type *read_type_number(reader *from, const case_file *file) {
    const uint64_t number = read_number(from, 4);
    if (number >= (uint64_t)file->type_count)
        give_up("the file has no type %llu", (unsigned long long)number);
    return &file->types[number];
}

static const residue_base *read_base_number(reader *from, const case_file *file) {
    const uint64_t number = read_number(from, 4);
    if (number == no_table)
        return NULL;
    if (number >= (uint64_t)file->base_count)
        give_up("the file has no base %llu", (unsigned long long)number);
    return &file->bases[number];
}

static const residue_table *read_table_number(reader *from, const case_file *file) {
    const uint64_t number = read_number(from, 4);
    if (number == no_table)
        return NULL;
    if (number >= (uint64_t)file->residue_count)
        give_up("the file has no residue table %llu", (unsigned long long)number);
    return &file->residues[number];
}

static void read_shape(reader *from, array *x) {
    int64_t room = largest_array;
    x->dimensions = (int64_t)read_number(from, 1);
    if (x->dimensions > MAX_DIMENSIONS)
        give_up("an array of the file has %lld dimensions", (long long)x->dimensions);
    for (int64_t i = 0; i < x->dimensions; ++i) {
        const uint64_t length = read_number(from, 8);
        if (length > (uint64_t)room)
            give_up("an array of the file is too large");
        x->shape[i] = (int64_t)length;
        room = length > 0 ? room / (int64_t)length : room;
    }
}

static void read_array(reader *from, const case_file *file, array *x, pool *memory) {
    x->type = read_type_number(from, file);
    read_shape(from, x);
    x->limbs = table_size(from);
    const xl_format format = xl_format_read(x->type->format);
    if ((x->limbs > 0) != (format.kind == XL_KIND_LIMBS))
        give_up("an array of the file has %lld limbs and is of type %s", (long long)x->limbs, x->type->name);
    const int64_t numbers = array_entries(x) * x->type->parts * (x->limbs ? x->limbs : 1);
    if (numbers > (from->end - from->at) / format.octets)
        give_up("the file is too short for an array that it claims to hold");
    array_allocate(x, memory);
    read_numbers(from, x->data, numbers, (int)format.octets);
}

static void read_plan(reader *from, const case_file *file, case_plan *plan) {
    plan->base = read_base_number(from, file);
    plan->left = read_table_number(from, file);
    plan->right = read_table_number(from, file);
    plan->special = read_base_number(from, file);
    plan->hull = read_table_number(from, file);
    if (plan->base == NULL || plan->left == NULL || plan->right == NULL || plan->left->base != plan->base ||
        plan->right->base != plan->base || (plan->special != NULL && plan->special->octets != 1) ||
        (plan->hull != NULL && (plan->hull->base != plan->base || plan->hull->table.blocks > 0)))
        give_up("a plan of the file has tables of different bases");
}

void case_file_next(case_file *file, test_case *found, pool *memory) {
    reader from = {file->at, file->end};
    memset(found, 0, sizeof *found);
    read_text(&from, found->name);
    read_text(&from, found->function);
    read_text(&from, found->rounding);
    read_text(&from, found->method);
    read_text(&from, found->nonfinite);
    found->hull_mask = (int)read_number(&from, 1);
    found->result = read_type_number(&from, file);
    found->operand_count = (int)read_number(&from, 1);
    if (found->operand_count < 1 || found->operand_count > MAX_OPERANDS)
        give_up("case %s of the file has %d operands", found->name, found->operand_count);
    for (int i = 0; i < found->operand_count; ++i)
        read_array(&from, file, &found->operands[i], memory);
    read_plan(&from, file, &found->plan);
    memcpy(found->input, read_octets(&from, SHA256_OCTETS), SHA256_OCTETS);
    memcpy(found->output, read_octets(&from, SHA256_OCTETS), SHA256_OCTETS);
    file->at = from.at;
}
