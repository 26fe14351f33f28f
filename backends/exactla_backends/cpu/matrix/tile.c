/* The blocked loop: tiles of sums of products in residues, for any instruction set.
 *
 * A sum is made in steps: one term, one pair of digits and one chunk of the inner dimension at a time. The operands of
 * a step stay in the second level cache while it goes over the blocks of the tile, the left rows of a block in the
 * first. The operands of the next step are fetched, and the block completed last is reduced, while the matrix unit
 * works. */
#include "kernels.h"

/* The kinds of sums, and of how many products of digits each is made. */
typedef struct {
    int kinds;
    int pairs[3];
    int left[3][2];
    int right[3][2];
} digit_form;

static const digit_form one_digit = {1, {1}, {{0}}, {{0}}};
static const digit_form two_digits = {3, {1, 2, 1}, {{0}, {0, 1}, {1}}, {{0}, {1, 0}, {1}}};

/* Where residues go; of the members for 8 and for 16 bits one pair is NULL. */
typedef struct {
    const xl_matrix_modulus8 *moduli8;
    const xl_matrix_modulus16 *moduli16;
    int8_t *residues8;
    int16_t *residues16;
    int64_t plane, row;
} target;

/* A step towards the sums of one kind for one modulus. */
typedef struct {
    int64_t modulus;
    int kind;
    const int8_t *left;  /* row 0 of the chunk */
    const int8_t *right; /* column 0 of the chunk, packed */
    int64_t row;         /* bytes between rows of the left operand and between columns of the packed right one */
    int64_t depth;
    int first;  /* starts the sums */
    int negate; /* the sums change sign after it */
    int fold;   /* the sums are reduced after it, to have room for more */
    int last;   /* the sums of all kinds are complete after it */
} step;

/* The work on rows [begin, end) of a tile, in blocks of `rows` rows. */
typedef struct {
    const xl_matrix_kernels *kernels;
    const digit_form *form;
    const target *to;
    const xl_matrix_term *terms;
    int64_t term_count;
    int64_t steps[2]; /* of positive and of negative terms, for one pair of digits */
    xl_matrix_range range;
    int64_t begin, end;
    int rows;
    uint32_t *bias;      /* a row of a block */
    uint32_t *recent[2]; /* the block that is completed next, and the one that waits to be reduced */
    uint32_t *sums[3];   /* of each kind, blocks of the whole tile between steps */
    void *prepared;      /* left rows of a block */
    xl_matrix_reduction waiting;
    step pending; /* runs when the step after it is known */
    int any_pending;
} job;

/* A block of the tile: the how manieth it is, and where. */
typedef struct {
    int64_t index, i, j;
    int columns;
} place;

static int64_t minimum(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t quotient_up(int64_t n, int64_t d) {
    return (n + d - 1) / d;
}

static int64_t chunk_count(int64_t depth) {
    return quotient_up(depth, XL_CHUNK);
}

/* Depth of the chunks of a term, but for the last one, which may be shorter. */
static int64_t chunk_depth(int64_t depth) {
    return quotient_up(depth, chunk_count(depth) * XL_MATRIX_DEPTH) * XL_MATRIX_DEPTH;
}

static int64_t block_words(const xl_matrix_kernels *kernels) {
    return (int64_t)kernels->rows * XL_BLOCK_COLUMNS;
}

static int64_t tile_words(const xl_matrix_kernels *kernels, int64_t rows, int64_t columns) {
    return quotient_up(rows, kernels->rows) * quotient_up(columns, XL_BLOCK_COLUMNS) * block_words(kernels);
}

static int64_t prepared_bytes(const xl_matrix_kernels *kernels) {
    return quotient_up(kernels->prepared_bytes(XL_CHUNK), XL_MATRIX_ALIGNMENT) * XL_MATRIX_ALIGNMENT;
}

int64_t xl_matrix_scratch_bytes(const xl_matrix_kernels *kernels, int digits, int64_t rows, int64_t columns) {
    const int kinds = digits == 1 ? one_digit.kinds : two_digits.kinds;
    const int64_t words = XL_BLOCK_COLUMNS + 2 * block_words(kernels) + kinds * tile_words(kernels, rows, columns);
    return 4 * words + prepared_bytes(kernels);
}

int64_t xl_matrix_packed_bytes(int64_t columns, int64_t depth) {
    return quotient_up(columns, XL_MATRIX_COLUMNS) * XL_MATRIX_COLUMNS * depth;
}

void xl_matrix_pack(
    const xl_matrix_kernels *kernels, const int8_t *plane, int64_t begin, int64_t end, int64_t depth, int8_t *packed) {
    for (int64_t j = begin; j < end; j += XL_MATRIX_COLUMNS)
        kernels->pack(plane + j * depth, depth, (int)minimum(end - j, XL_MATRIX_COLUMNS), depth, packed + j * depth);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static uint32_t modulus_of(const job *work, int64_t p) {
    return work->to->moduli8 ? work->to->moduli8[p].modulus : work->to->moduli16[p].modulus;
}

static void set_bias(const job *work, int64_t p) {
    const uint32_t bias = work->to->moduli8 ? work->to->moduli8[p].bias : work->to->moduli16[p].bias;
    for (int j = 0; j < XL_BLOCK_COLUMNS; ++j)
        work->bias[j] = bias;
}

/* The sums, which are biased, become their residues modulo m, biased. */
static void fold(const xl_matrix_block *block, uint32_t m, uint32_t bias) {
    const uint64_t to_positive = UINT64_C(0x100000000) / m * m + m;
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            uint32_t *y = &block->sums[i * XL_BLOCK_COLUMNS + j];
            *y = (uint32_t)((*y + to_positive - bias) % m) + bias;
        }
}

/* The sums change sign. */
static void negate(const xl_matrix_block *block, uint32_t bias) {
    for (int i = 0; i < block->rows; ++i)
        for (int j = 0; j < block->columns; ++j) {
            uint32_t *y = &block->sums[i * XL_BLOCK_COLUMNS + j];
            *y = 2 * bias - *y;
        }
}

/* Reduces what is left of the block that waits. */
static void finish(job *work) {
    if (work->waiting.next >= work->waiting.rows)
        return;
    if (work->waiting.modulus8)
        work->kernels->reduce8(&work->waiting);
    else
        work->kernels->reduce16(&work->waiting);
}

/* The block at a place, of which recent[0] holds the sums of the last kind, waits instead of the one that did. */
static void wait(job *work, int64_t p, const place *at) {
    finish(work);
    const target *to = work->to;
    const int64_t offset =
        p * to->plane + (at->i - work->range.row_begin) * to->row + (at->j - work->range.column_begin);
    xl_matrix_reduction *waiting = &work->waiting;
    *waiting = (xl_matrix_reduction){.rows = work->rows, .columns = at->columns, .row = to->row};
    if (to->moduli8) {
        waiting->modulus8 = &to->moduli8[p];
        waiting->residues8 = to->residues8 + offset;
    } else {
        waiting->modulus16 = &to->moduli16[p];
        waiting->residues16 = to->residues16 + offset;
    }
    for (int kind = 0; kind < work->form->kinds - 1; ++kind)
        waiting->sums[kind] = work->sums[kind] + at->index * block_words(work->kernels);
    waiting->sums[work->form->kinds - 1] = work->recent[0];
    work->recent[0] = work->recent[1];
    work->recent[1] = (uint32_t *)waiting->sums[work->form->kinds - 1];
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The share of one of `count` blocks in fetching the operands of the next step. */
static xl_matrix_meanwhile meanwhile(job *work, const step *now, const step *next, int64_t index, int64_t count) {
    xl_matrix_meanwhile other = {.reduction = &work->waiting};
    if (!next)
        return other;
    const int64_t rows = work->end - work->begin, columns = work->range.column_end - work->range.column_begin;
    const int64_t row_share = quotient_up(rows, count), column_share = quotient_up(columns, count);
    if (next->left != now->left && index * row_share < rows) {
        other.left_rows = (int)row_share;
        other.left_row = next->row;
        other.left = next->left + (work->begin + index * row_share) * next->row;
    }
    if (next->right != now->right && index * column_share < columns) {
        const int64_t column = work->range.column_begin + index * column_share;
        const int64_t group = column / XL_MATRIX_COLUMNS * XL_MATRIX_COLUMNS;
        other.right_columns = (int)column_share;
        other.right = next->right + group * next->row + (column - group) * next->depth;
    }
    return other;
}

static void run_block(job *work, const step *now, const place *at, const xl_matrix_meanwhile *other) {
    uint32_t *kept = work->sums[now->kind] + at->index * block_words(work->kernels);
    const xl_matrix_block block = {
        .rows = work->rows,
        .columns = at->columns,
        .sums = now->last ? work->recent[0] : kept,
        .start = now->first ? work->bias : kept,
        .start_row = now->first ? 0 : XL_BLOCK_COLUMNS,
    };
    work->kernels->accumulate(&block, work->prepared, now->right + at->j * now->row, now->row, now->depth, other);
    if (now->negate)
        negate(&block, work->bias[0]);
    if (now->fold)
        fold(&block, modulus_of(work, now->modulus), work->bias[0]);
    if (now->last)
        wait(work, now->modulus, at);
}

static int columns_at(const job *work, int64_t j) {
    return work->range.column_end - j > XL_MATRIX_COLUMNS ? XL_BLOCK_COLUMNS : XL_MATRIX_COLUMNS;
}

/* Runs a step over all blocks; next is the step after it, or NULL. */
static void run(job *work, const step *now, const step *next) {
    const xl_matrix_range *range = &work->range;
    const int64_t across = quotient_up(range->column_end - range->column_begin, XL_BLOCK_COLUMNS);
    const int64_t count = (work->end - work->begin) / work->rows * across;
    place at = {.index = 0};
    set_bias(work, now->modulus);
    for (at.i = work->begin; at.i < work->end; at.i += work->rows) {
        work->kernels->prepare(now->left + at.i * now->row, now->row, work->rows, now->depth, work->prepared);
        for (at.j = range->column_begin; at.j < range->column_end; at.j += XL_BLOCK_COLUMNS) {
            const xl_matrix_meanwhile other = meanwhile(work, now, next, at.index, count);
            at.columns = columns_at(work, at.j);
            run_block(work, now, &at, &other);
            ++at.index;
        }
    }
    if (now->last && work->form->kinds > 1)
        finish(work); /* before the next modulus takes the place of its sums */
}

/* Runs the step before this one, if there is one. */
static void push(job *work, const step *next) {
    if (work->any_pending)
        run(work, &work->pending, next);
    work->any_pending = next != 0;
    if (next)
        work->pending = *next;
}

/* How far the sums of one kind are. */
typedef struct {
    int64_t done, negative, all; /* steps */
    int64_t room;                /* depth that may be added before the sums are reduced */
} progress;

/* The steps of one term and one pair of digits. */
static void push_term(job *work, const xl_matrix_term *term, int64_t p, int kind, int pair, progress *of) {
    const digit_form *form = work->form;
    const int8_t *left = term->left + p * term->left_modulus + form->left[kind][pair] * term->left_digit;
    const int8_t *right = term->right + p * term->right_modulus + form->right[kind][pair] * term->right_digit;
    for (int64_t k = 0, chunk; k < term->depth; k += chunk) {
        chunk = minimum(chunk_depth(term->depth), term->depth - k);
        of->room -= chunk;
        ++of->done;
        const step next = {
            .modulus = p,
            .kind = kind,
            .left = left + k,
            .right = right + k * XL_MATRIX_COLUMNS,
            .row = term->row ? term->row : term->depth,
            .depth = chunk,
            .first = of->done == 1,
            .negate = of->done == of->negative,
            .fold = of->room < XL_CHUNK,
            .last = of->done == of->all && kind == form->kinds - 1,
        };
        of->room = next.fold ? XL_ROOM : of->room;
        push(work, &next);
    }
}

/* The steps of one kind of sums: negative terms first, then a change of sign, then the positive ones. */
static void push_kind(job *work, int64_t p, int kind) {
    const int pairs = work->form->pairs[kind];
    progress of = {0, pairs * work->steps[1], pairs * (work->steps[0] + work->steps[1]), XL_ROOM};
    for (int negative = 1; negative >= 0; --negative)
        for (int pair = 0; pair < pairs; ++pair)
            for (int64_t t = 0; t < work->term_count; ++t)
                if (work->terms[t].negative == negative)
                    push_term(work, &work->terms[t], p, kind, pair, &of);
}

/* The residues of sums of nothing. */
static void run_empty(job *work, int64_t p) {
    const xl_matrix_range *range = &work->range;
    place at = {.index = 0};
    set_bias(work, p);
    for (at.i = work->begin; at.i < work->end; at.i += work->rows)
        for (at.j = range->column_begin; at.j < range->column_end; at.j += XL_BLOCK_COLUMNS) {
            at.columns = columns_at(work, at.j);
            for (int i = 0; i < block_words(work->kernels); ++i)
                work->recent[0][i] = work->bias[0];
            for (int kind = 0; kind < work->form->kinds - 1; ++kind)
                for (int i = 0; i < block_words(work->kernels); ++i)
                    work->sums[kind][i] = work->bias[0];
            wait(work, p, &at);
        }
    finish(work);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* All moduli for rows [begin, end), a whole number of blocks of `rows` rows. */
static void run_rows(job *work, int64_t begin, int64_t end, int rows, int64_t modulus_count) {
    work->begin = begin;
    work->end = end;
    work->rows = rows;
    if (work->kernels->begin)
        work->kernels->begin(rows);
    for (int64_t p = 0; p < modulus_count; ++p)
        if (work->steps[0] + work->steps[1] == 0)
            run_empty(work, p);
        else
            for (int kind = 0; kind < work->form->kinds; ++kind)
                push_kind(work, p, kind);
    push(work, NULL);
    finish(work);
    if (work->kernels->end)
        work->kernels->end();
}

static void run_tile(job *work, int64_t modulus_count, void *scratch) {
    const xl_matrix_kernels *kernels = work->kernels;
    const int64_t begin = work->range.row_begin, end = work->range.row_end, rest = (end - begin) % kernels->rows;
    for (int64_t t = 0; t < work->term_count; ++t)
        work->steps[work->terms[t].negative] += chunk_count(work->terms[t].depth);
    work->bias = scratch;
    work->recent[0] = work->bias + XL_BLOCK_COLUMNS;
    work->recent[1] = work->recent[0] + block_words(kernels);
    work->prepared = work->recent[1] + block_words(kernels);
    uint32_t *sums = (uint32_t *)((char *)work->prepared + prepared_bytes(kernels));
    for (int kind = 0; kind < work->form->kinds; ++kind)
        work->sums[kind] =
            sums + kind * tile_words(kernels, end - begin, work->range.column_end - work->range.column_begin);
    if (begin < end - rest)
        run_rows(work, begin, end - rest, kernels->rows, modulus_count);
    if (rest > 0)
        run_rows(work, end - rest, end, (int)rest, modulus_count);
}

void xl_matrix_tile8(const xl_matrix_kernels *kernels, const xl_matrix_modulus8 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int8_t *residues, int64_t plane,
    int64_t row, void *scratch) {
    const target to = {.moduli8 = moduli, .residues8 = residues, .plane = plane, .row = row};
    job work = {kernels, &one_digit, &to, terms, term_count, .range = range};
    run_tile(&work, modulus_count, scratch);
}

void xl_matrix_tile16(const xl_matrix_kernels *kernels, const xl_matrix_modulus16 *moduli, int64_t modulus_count,
    const xl_matrix_term *terms, int64_t term_count, xl_matrix_range range, int16_t *residues, int64_t plane,
    int64_t row, void *scratch) {
    const target to = {.moduli16 = moduli, .residues16 = residues, .plane = plane, .row = row};
    job work = {kernels, &two_digits, &to, terms, term_count, .range = range};
    run_tile(&work, modulus_count, scratch);
}
