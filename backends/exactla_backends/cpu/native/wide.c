/* Long integers to residues modulo hundreds of numbers and back, and divided by one number: products with tables.
 *
 * Entries are taken in strips. A strip is made into signed octets, one entry after the other, packed as the right operand,
 * and the rows of a table are the left one, so that sums of one row lie next to each other for the entries. */
#include "limbs.h"
#include "sharing.h"

enum {
    STRIP = XL_WIDE_MOST,
    GROUP = 16,     /* moduli whose digits are 32 rows of a table */
    LIMBS_A_TIME = 4
};

/* Memory of a piece of work. */
typedef struct {
    int8_t *octets, *packed; /* of a strip */
    int32_t *sums;           /* [32][STRIP] */
    char *scratch;
    uint64_t *limbs; /* [limbs][STRIP] and two integers */
    int64_t limb_room;
    void *whole;
} workspace;

static int workspace_new(workspace *w, const xl_instructions *set, int64_t width, int64_t depth, int64_t limbs) {
    const int64_t sums = 4 * 32 * STRIP, scratch = round_up(xl_matrix_sums_scratch_bytes(set->matrix), 64);
    w->whole = malloc((size_t)(2 * depth * width + sums + scratch + 8 * limbs * (STRIP + 3) + 64));
    if (!w->whole)
        return 0;
    w->packed = (int8_t *)w->whole + (64 - (uintptr_t)w->whole % 64);
    w->octets = w->packed + depth * width;
    w->sums = (int32_t *)(w->octets + depth * width);
    w->scratch = (char *)(w->sums + 32 * STRIP);
    w->limbs = (uint64_t *)(w->scratch + scratch);
    w->limb_room = limbs;
    return 1;
}

/* A strip of entries of a row. */
typedef struct {
    int64_t row, first, count, padded;
} strip;

typedef struct {
    int64_t width, per_row, count;
} strips;

static strips cut(int64_t rows, int64_t columns, int64_t threads) {
    strips s = {STRIP, 0, 0};
    while (s.width > 16 && rows * divide_up(columns, s.width) < 2 * threads)
        s.width /= 2;
    s.per_row = divide_up(columns, s.width);
    s.count = rows * s.per_row;
    return s;
}

static strip strip_at(const strips *s, int64_t i, int64_t columns) {
    const int64_t first = i % s->per_row * s->width, count = minimum(s->width, columns - first);
    return (strip){i / s->per_row, first, count, round_up(count, 16)};
}

static uint64_t *entry(const xl_long_integers *x, int64_t row, int64_t column) {
    return x->limbs + row * x->row_stride + column * x->entry_stride;
}

/* Ensures: the integer is the sum over k of octets[k] * 256**k, for 8 * count + 1 signed octets, and the rest is 0. */
static void signed_octets(const uint64_t *x, int64_t count, int8_t *octets, int64_t depth) {
    const uint64_t halves = UINT64_C(0x8080808080808080);
    unsigned carry = 0;
    uint64_t limb;
    for (int64_t j = 0; j < count; ++j) {
        const uint64_t once = x[j] + carry;
        limb = once + halves;
        carry = (once < x[j]) | (limb < once);
        limb ^= halves;
        memcpy(octets + 8 * j, &limb, 8);
    }
    memset(octets + 8 * count, 0, (size_t)(depth - 8 * count));
    octets[8 * count] = (int8_t)(carry - (sign_of(x, count) & 1));
}

static int64_t octets_depth(int64_t limbs) {
    return round_up(8 * limbs + 1, XL_MATRIX_DEPTH);
}

static void pack_strip(const xl_instructions *set, const workspace *w, const strip *s, int64_t depth) {
    xl_matrix_pack(set->matrix, w->octets, 0, s->count, depth, w->packed);
}

static void table_sums(const xl_instructions *set, const workspace *w, const strip *s, const int8_t *table,
                       int64_t table_row, int64_t rows, int64_t depth) {
    const xl_matrix_sums_job job = {table, table_row, rows, w->packed, s->count, depth, w->sums, STRIP};
    xl_matrix_sums(set->matrix, &job, w->scratch);
}

/* ---- into residues ------------------------------------------------------------------------------------------------ */

typedef struct {
    const xl_instructions *set;
    const xl_wide_base *base;
    const xl_long_integers *x, *to;
    const xl_wide_places *places;
    const xl_wide_sums *sums;
    const xl_long_division *division;
    strips strips;
} wide_job;

static void place_residues(const wide_job *job, const strip *s, int64_t p, const int32_t *high, const int32_t *low) {
    const xl_wide_places *places = job->places;
    int16_t residues[STRIP];
    job->set->elements->wide_residues(high, low, s->padded, &job->base->constants[p], residues);
    if (places->residues) {
        memcpy(places->residues + p * places->plane_stride + s->row * places->row_stride + s->first, residues,
               (size_t)(2 * s->count));
    } else {
        int8_t *to = places->planes + 2 * p * places->plane_stride + s->row * places->row_stride + s->first;
        job->set->elements->wide_split(residues, s->count, to, to + places->plane_stride);
    }
}

static int64_t residues_piece(const void *context, int64_t piece) {
    const wide_job *job = context;
    const xl_wide_base *base = job->base;
    const strip s = strip_at(&job->strips, piece, job->x->columns);
    const int64_t depth = octets_depth(job->x->count);
    workspace w;
    if (!workspace_new(&w, job->set, s.padded, depth, 0))
        return XL_OUT_OF_MEMORY;
    for (int64_t i = 0; i < s.count; ++i)
        signed_octets(entry(job->x, s.row, s.first + i), job->x->count, w.octets + i * depth, depth);
    pack_strip(job->set, &w, &s, depth);
    for (int64_t p = 0; p < base->moduli; p += GROUP) {
        table_sums(job->set, &w, &s, base->powers + 2 * p * base->powers_depth, base->powers_depth, 2 * GROUP, depth);
        for (int64_t i = 0; i < minimum(GROUP, base->moduli - p); ++i)
            place_residues(job, &s, p + i, w.sums + i * STRIP, w.sums + (GROUP + i) * STRIP);
    }
    free(w.whole);
    return 0;
}

static int64_t for_strips(wide_job *job, xl_piece piece, int64_t rows, int64_t columns, int64_t work, int64_t threads) {
    job->strips = cut(rows, columns, xl_threads(threads));
    return xl_for_each(xl_team(threads, work, job->strips.count), job->strips.count, piece, job);
}

int64_t xl_native_wide_residues(const xl_instructions *set, const xl_wide_base *base, const xl_long_integers *x,
                                const xl_wide_places *places, int64_t threads) {
    wide_job job = {.set = set, .base = base, .x = x, .places = places};
    return for_strips(&job, residues_piece, x->rows, x->columns, x->rows * x->columns * base->moduli, threads);
}

/* ---- out of residues ---------------------------------------------------------------------------------------------- */

/* Octets of x_p for all moduli, and the nearest integers to the sums of x_p / m_p. */
static void weigh(const wide_job *job, const workspace *w, const strip *s, int64_t depth, int32_t *quotients) {
    const xl_wide_sums *from = job->sums;
    int64_t fractions[STRIP] = {0};
    int16_t digits[STRIP], *matrix = (int16_t *)(void *)w->octets;
    memset(matrix, 0, (size_t)(s->count * depth));
    for (int64_t p = 0; p < job->base->moduli; ++p) {
        /* what the next modulus needs lies far away */
        for (int64_t k = 0; k < from->terms; ++k)
            for (int64_t i = 0; i < s->count; i += 32)
                __builtin_prefetch(from->vectors + (p + 1) * from->vectors_plane + k * from->vectors_step + s->first + i);
        __builtin_prefetch(from->sums + (p + 2) * from->sums_plane + s->row * from->sums_row + s->first);
        const xl_wide_sum sum = {
            .sums = from->sums + p * from->sums_plane + s->row * from->sums_row + s->first,
            .vectors = from->vectors + p * from->vectors_plane + s->first,
            .factors = from->factors + p * from->factors_plane,
            .step = from->vectors_step,
            .factor_step = from->factors_step,
            .terms = from->terms,
        };
        job->set->elements->wide_weighted(&sum, s->padded, &job->base->constants[p], fractions, digits);
        for (int64_t i = 0; i < s->count; ++i)
            matrix[i * (depth / 2) + p] = digits[i];
    }
    for (int64_t i = 0; i < s->padded; ++i)
        quotients[i] = (int32_t)((fractions[i] + (INT64_C(1) << 39)) >> 40);
}

/* Limbs of sums of `rows` octets at rows of a table, from the lowest on. */
static void carried_sums(const wide_job *job, const workspace *w, const strip *s, const int8_t *table,
                         int64_t table_row, int64_t limbs, int64_t depth, const int32_t *quotients,
                         const uint8_t *product) {
    int32_t carry[STRIP] = {0};
    for (int64_t j = 0; j < limbs; j += LIMBS_A_TIME) {
        const int64_t count = minimum(LIMBS_A_TIME, limbs - j);
        table_sums(job->set, w, s, table + 8 * j * table_row, table_row, 8 * count, depth);
        job->set->elements->wide_carry(w->sums, STRIP, count, quotients, product ? product + 8 * j : NULL, s->padded,
                                       carry, w->limbs + j * STRIP, STRIP);
    }
}

/* to = 2**shift * minuend - value. */
static void subtract_from(const uint64_t *minuend, int64_t count, int64_t shift, const uint64_t *value, uint64_t *kept,
                          uint64_t *to, int64_t wanted) {
    unsigned borrow = 0;
    shift_limbs(minuend, count, shift, kept, wanted);
    for (int64_t j = 0; j < wanted; ++j) {
        const uint64_t less = kept[j] - value[j];
        to[j] = less - borrow;
        borrow = (kept[j] < value[j]) | (less < borrow);
    }
}

static int64_t integers_piece(const void *context, int64_t piece) {
    const wide_job *job = context;
    const xl_wide_base *base = job->base;
    const xl_long_integers *to = job->to, *minuend = job->sums->minuend;
    const strip s = strip_at(&job->strips, piece, to->columns);
    const int64_t depth = base->cofactors_depth;
    int32_t quotients[STRIP];
    workspace w;
    if (!workspace_new(&w, job->set, s.padded, depth, to->count))
        return XL_OUT_OF_MEMORY;
    weigh(job, &w, &s, depth, quotients);
    pack_strip(job->set, &w, &s, depth);
    carried_sums(job, &w, &s, base->cofactors, depth, to->count, depth, quotients, base->product);
    for (int64_t i = 0; i < s.count; ++i) {
        uint64_t *value = w.limbs + w.limb_room * STRIP, *found = entry(to, s.row, s.first + i);
        for (int64_t j = 0; j < to->count; ++j)
            (minuend ? value : found)[j] = w.limbs[j * STRIP + i];
        if (minuend)
            subtract_from(entry(minuend, s.row, s.first + i), minuend->count, job->sums->shift, value,
                          value + w.limb_room, found, to->count);
    }
    free(w.whole);
    return 0;
}

int64_t xl_native_wide_integers(const xl_instructions *set, const xl_wide_base *base, const xl_wide_sums *sums,
                                const xl_long_integers *to, int64_t threads) {
    wide_job job = {.set = set, .base = base, .to = to, .sums = sums};
    return for_strips(&job, integers_piece, to->rows, to->columns, to->rows * to->columns * base->moduli, threads);
}

/* ---- division ----------------------------------------------------------------------------------------------------- */

/* Ensures: to = floor(product / 2**(64 fraction) + 1/2); returns whether the fraction is too close to 1/2. */
static int round_product(const uint64_t *product, int64_t fraction, uint64_t *to, int64_t count) {
    const uint64_t top = product[fraction - 1];
    for (int64_t j = 0; j < count; ++j)
        to[j] = product[fraction + j];
    if (top >> 63)
        increment(to, count);
    return top - UINT64_C(0x7ffffffffffffffe) < 4;
}

static int64_t divide_piece(const void *context, int64_t piece) {
    const wide_job *job = context;
    const xl_long_division *division = job->division;
    const xl_long_integers *x = job->x, *to = job->to;
    const strip s = strip_at(&job->strips, piece, x->columns);
    const int64_t depth = octets_depth(division->limbs), limbs = division->fraction_limbs + to->count;
    workspace w;
    uint64_t *kept;
    if (!workspace_new(&w, job->set, s.padded, depth, maximum(limbs, division->limbs)))
        return XL_OUT_OF_MEMORY;
    kept = w.limbs + w.limb_room * STRIP;
    for (int64_t i = 0; i < s.count; ++i) {
        shift_limbs(entry(x, s.row, s.first + i), x->count, -division->dropped, kept, division->limbs);
        signed_octets(kept, division->limbs, w.octets + i * depth, depth);
    }
    pack_strip(job->set, &w, &s, depth);
    carried_sums(job, &w, &s, division->reciprocal, -1, limbs, depth, NULL, NULL);
    for (int64_t i = 0; i < s.count; ++i) {
        for (int64_t j = 0; j < limbs; ++j)
            kept[j] = w.limbs[j * STRIP + i];
        division->doubtful[s.first + i] = (uint8_t)round_product(kept, division->fraction_limbs,
                                                                 entry(to, s.row, s.first + i), to->count);
    }
    free(w.whole);
    return 0;
}

int64_t xl_native_divide(const xl_instructions *set, const xl_long_integers *x, const xl_long_division *division,
                         const xl_long_integers *to, int64_t threads) {
    wide_job job = {.set = set, .x = x, .to = to, .division = division};
    return for_strips(&job, divide_piece, 1, x->columns, x->columns * division->limbs * 16, threads);
}
