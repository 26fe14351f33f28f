/* Operands: scans, residues, and the order in which products read them; see native.h. */
#include "sharing.h"

/* ---- scan ---- */

typedef struct {
    const xl_instructions *set;
    const xl_stack *x;
    xl_row_pieces pieces;
    int64_t *lowest, *highest;
} scan_job;

static int64_t scan_rows(const void *job, int64_t piece) {
    const scan_job *scan = job;
    const xl_rows rows = xl_rows_of(&scan->pieces, piece);
    const xl_operand matrix = xl_matrix_of(scan->x, rows.stack);
    const int64_t first = rows.stack * matrix.rows;
    return scan->set->elements->scan(&matrix, rows.begin, rows.end, scan->lowest + first, scan->highest + first);
}

static void clear_ranges(int64_t rows, int64_t *lowest, int64_t *highest) {
    for (int64_t r = 0; r < rows; ++r) {
        lowest[r] = XL_NONE;
        highest[r] = -XL_NONE;
    }
}

/* Rows of zeros get ranges; returns the bits of the longest range. */
static int64_t settle_ranges(int64_t rows, int64_t *lowest, int64_t *highest) {
    int64_t bits = 0;
    for (int64_t r = 0; r < rows; ++r) {
        if (highest[r] == -XL_NONE)
            lowest[r] = highest[r] = 0;
        bits = maximum(bits, highest[r] - lowest[r]);
    }
    return bits;
}

int64_t xl_native_scan(const xl_instructions *set, const xl_stack *operands, int64_t count, int64_t *lowest,
                       int64_t *highest, int64_t *nonfinite, int64_t threads) {
    const int64_t stacks = operands->stacks, rows = operands->first.rows, depth = operands->first.depth;
    scan_job job = {set, operands, xl_cut_rows(stacks, rows, depth), lowest, highest};
    const int team = xl_team(threads, stacks * rows * depth, job.pieces.count);
    clear_ranges(stacks * rows, lowest, highest);
    for (int64_t i = 0; i < count; ++i) {
        job.x = &operands[i];
        nonfinite[i] = xl_for_each(team, job.pieces.count, scan_rows, &job);
        if (nonfinite[i] < 0)
            return XL_OUT_OF_MEMORY;
    }
    return settle_ranges(stacks * rows, lowest, highest);
}

/* ---- residues ---- */

typedef struct {
    const xl_instructions *set;
    const xl_stack *first, *second; /* the second for intervals; the first of `components` */
    const xl_residue_table *table;
    int64_t octets, endpoints, components;
    const xl_plane_stack *planes;
    int64_t *invalid; /* one for each piece */
    xl_row_pieces pieces;
} residues_job;

static int64_t residues_of_rows(const void *job, int64_t piece) {
    const residues_job *residues = job;
    const xl_kernel_set *elements = residues->set->elements;
    const xl_rows rows = xl_rows_of(&residues->pieces, piece);
    const xl_operand matrix = xl_matrix_of(residues->first, rows.stack);
    const xl_planes to = xl_planes_of(residues->planes, rows.stack);
    return (residues->octets == 1 ? elements->residues8 : elements->residues16)(&matrix, residues->table, &to,
                                                                                rows.begin, rows.end);
}

int64_t xl_native_residues(const xl_instructions *set, const xl_stack *x, const xl_residue_table *table,
                           int64_t octets, const xl_plane_stack *planes, int64_t threads) {
    const residues_job job = {.set = set, .first = x, .table = table, .octets = octets, .planes = planes,
                              .pieces = xl_cut_rows(x->stacks, x->first.rows, planes->first.depth)};
    const int team = xl_team(threads, x->stacks * x->first.rows * x->first.depth * 8, job.pieces.count);
    return xl_for_each(team, job.pieces.count, residues_of_rows, &job);
}

static int64_t residues_of_components(const void *job, int64_t piece) {
    const residues_job *residues = job;
    const xl_rows rows = xl_rows_of(&residues->pieces, piece);
    const xl_planes to = xl_planes_of(residues->planes, rows.stack);
    xl_operand components[XL_MOST_COMPONENTS];
    for (int64_t c = 0; c < residues->components; ++c)
        components[c] = xl_matrix_of(&residues->first[c], rows.stack);
    return residues->set->elements->component_residues(components, (int32_t)residues->components,
                                                       (int32_t)residues->octets, residues->table, &to, rows.begin,
                                                       rows.end);
}

int64_t xl_native_component_residues(const xl_instructions *set, const xl_stack *components, int64_t count,
                                     const xl_residue_table *table, int64_t octets, const xl_plane_stack *planes,
                                     int64_t threads) {
    const int64_t stacks = components->stacks, rows = components->first.rows;
    const residues_job job = {.set = set, .first = components, .table = table, .octets = octets, .components = count,
                              .planes = planes, .pieces = xl_cut_rows(stacks, rows, planes->first.depth)};
    const int team = xl_team(threads, stacks * rows * components->first.depth * 8, job.pieces.count);
    return xl_for_each(team, job.pieces.count, residues_of_components, &job);
}

static int64_t residues_of_intervals(const void *job, int64_t piece) {
    const residues_job *residues = job;
    const xl_rows rows = xl_rows_of(&residues->pieces, piece);
    const xl_operand x = xl_matrix_of(residues->first, rows.stack), y = xl_matrix_of(residues->second, rows.stack);
    xl_planes to[XL_PIECES];
    for (int i = 0; i < XL_PIECES; ++i)
        to[i] = xl_planes_of(&residues->planes[i], rows.stack);
    return residues->set->elements->interval_residues(&x, &y, (int32_t)residues->endpoints, (int32_t)residues->octets,
                                                      residues->table, to, rows.begin, rows.end,
                                                      &residues->invalid[piece]);
}

int64_t xl_native_interval_residues(const xl_instructions *set, const xl_stack *first, const xl_stack *second,
                                    int64_t endpoints, const xl_residue_table *table, int64_t octets,
                                    const xl_plane_stack *planes, int64_t *invalid, int64_t threads) {
    residues_job job = {.set = set, .first = first, .second = second, .table = table, .octets = octets,
                        .endpoints = endpoints, .planes = planes,
                        .pieces = xl_cut_rows(first->stacks, first->first.rows, planes->first.depth)};
    const int team = xl_team(threads, first->stacks * first->first.rows * first->first.depth * 8, job.pieces.count);
    int64_t broken;
    job.invalid = calloc((size_t)maximum(job.pieces.count, 1), sizeof *job.invalid);
    if (!job.invalid)
        return XL_OUT_OF_MEMORY;
    broken = xl_for_each(team, job.pieces.count, residues_of_intervals, &job);
    *invalid = 0;
    for (int64_t i = 0; i < job.pieces.count; ++i)
        *invalid += job.invalid[i];
    free(job.invalid);
    return broken;
}

void xl_native_classify(const xl_instructions *set, const xl_stack *x, const xl_plane_stack *planes) {
    for (int64_t stack = 0; stack < x->stacks; ++stack) {
        const xl_operand matrix = xl_matrix_of(x, stack);
        xl_planes to[XL_CLASSES];
        for (int i = 0; i < XL_CLASSES; ++i)
            to[i] = xl_planes_of(&planes[i], stack);
        set->elements->classify(&matrix, to, 0, matrix.rows);
    }
}

/* ---- packing ---- */

/* A right operand on its way to packed residues, a block of columns at a time: residues stay in the cache till then. */
typedef struct {
    const xl_instructions *set;
    const xl_stack *components;
    int64_t count, octets, depth;
    const xl_residue_table *table;
    int8_t *packed;
} packed_job;

static int64_t packed_residues_of_columns(const void *job, int64_t piece) {
    const packed_job *to = job;
    const int64_t columns = to->components->first.rows, begin = piece * XL_MATRIX_COLUMNS, depth = to->depth;
    const int64_t some = minimum(XL_MATRIX_COLUMNS, columns - begin), planes = to->table->moduli * to->octets;
    const int64_t plane = XL_MATRIX_COLUMNS * depth, packed_plane = xl_matrix_packed_bytes(columns, depth);
    int8_t *residues = malloc((size_t)(planes * plane));
    const xl_planes place = {residues, plane, depth, depth};
    xl_operand part[XL_MOST_COMPONENTS];
    int64_t broken;
    if (!residues)
        return XL_OUT_OF_MEMORY;
    for (int64_t c = 0; c < to->count; ++c) {
        part[c] = to->components[c].first;
        part[c].data = (const char *)part[c].data + begin * part[c].row_stride;
        part[c].exponents += begin;
        part[c].rows = some;
    }
    broken = to->set->elements->component_residues(part, (int32_t)to->count, (int32_t)to->octets, to->table, &place, 0,
                                                   some);
    for (int64_t p = 0; p < planes; ++p)
        xl_matrix_pack(to->set->matrix, residues + p * plane, 0, some, depth,
                       to->packed + p * packed_plane + begin * depth);
    free(residues);
    return broken;
}

int64_t xl_native_packed_component_residues(const xl_instructions *set, const xl_stack *components, int64_t count,
                                            const xl_residue_table *table, int64_t octets, int64_t depth,
                                            int8_t *packed, int64_t threads) {
    const packed_job job = {set, components, count, octets, depth, table, packed};
    const int64_t columns = components->first.rows, pieces = divide_up(columns, XL_MATRIX_COLUMNS);
    return xl_for_each(xl_team(threads, columns * depth * 8, pieces), pieces, packed_residues_of_columns, &job);
}

typedef struct {
    const xl_instructions *set;
    const int8_t *planes;
    int64_t columns, depth, step, per_plane;
    int8_t *packed;
} pack_job;

static int64_t pack_columns(const void *job, int64_t piece) {
    const pack_job *pack = job;
    const int64_t plane = piece / pack->per_plane, begin = piece % pack->per_plane * pack->step;
    xl_matrix_pack(pack->set->matrix, pack->planes + plane * pack->columns * pack->depth, begin,
                   minimum(begin + pack->step, pack->columns), pack->depth,
                   pack->packed + plane * xl_matrix_packed_bytes(pack->columns, pack->depth));
    return 0;
}

void xl_native_pack(const xl_instructions *set, const int8_t *planes, int64_t count, int64_t columns, int64_t depth,
                    int8_t *packed, int64_t threads) {
    const int64_t step = round_up(maximum(1, 4 * XL_GRAIN / maximum(depth, 1)), XL_MATRIX_COLUMNS);
    const pack_job job = {set, planes, columns, depth, step, divide_up(columns, step), packed};
    const int64_t pieces = count * job.per_plane;
    xl_for_each(xl_team(threads, count * columns * depth, pieces), pieces, pack_columns, &job);
}
