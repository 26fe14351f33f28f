/* Operands: scans, residues, and the order in which products read them; see native.h. */
#include "sharing.h"

enum {
    ROOM_BYTES = 1 << 20,  /* of residues, within a second level cache */
    SMALL_BYTES = 1 << 17, /* of planes that are written where they are */
    LEAST_ROWS = 8         /* entries of a transposed matrix that share a line of the cache */
};

/* ---- scan ---- */

typedef struct {
    const xl_instructions *set;
    const xl_stack *x;
    xl_row_pieces pieces;
    int64_t *lowest, *highest;
} scan_job;

/* Rows of which the next one's entries follow in memory are taken as many at a time as a step has lanes. */
static int64_t rows_together(const xl_operand *x) {
    return llabs(x->row_stride) < llabs(x->depth_stride) ? XL_LANES : LEAST_ROWS;
}

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
    scan_job job = {set, operands, xl_cut_rows_by(stacks, rows, depth, rows_together(&operands->first)), lowest, highest};
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
    const xl_stack *first, *second; /* the second for intervals */
    const xl_residue_table *table;
    int64_t octets, endpoints;
    const xl_plane_stack *planes;
    int64_t *invalid; /* one for each piece */
    xl_row_pieces pieces;
} residues_job;

/* Planes are as many as the moduli, and as far apart in memory as they are long, at which their lines share sets of the
 * cache. So residues of some rows are made where the cache holds them, with planes next to each other, and then left in
 * long runs. */
typedef struct {
    int8_t *residues;
    int64_t count, plane, rows; /* planes, bytes of one, and rows that it has room for */
} residue_room;

/* Ensures: room for at most so many rows, or for none where planes are small, or rows too long for the cache. */
static residue_room residue_room_of(const xl_planes *to, int64_t count, int64_t rows) {
    residue_room room = {NULL, count, 0, minimum(rows, ROOM_BYTES / maximum(count * to->depth, 1))};
    if (count * to->plane_stride < SMALL_BYTES || room.rows < minimum(rows, LEAST_ROWS))
        room.rows = 0;
    room.plane = room.rows * to->depth + XL_MATRIX_ALIGNMENT;
    return room;
}

/* Requires: planes whose rows follow each other. */
static void leave_rows(const residue_room *room, const xl_planes *to, int64_t begin, int64_t rows) {
    for (int64_t p = 0; p < room->count; ++p)
        memcpy(to->data + p * to->plane_stride + begin * to->depth, room->residues + p * room->plane,
               (size_t)(rows * to->depth));
}

/* Some rows of a matrix. */
static xl_operand rows_from(const xl_operand *matrix, int64_t begin, int64_t rows) {
    xl_operand part = *matrix;
    part.data = (const char *)part.data + begin * part.row_stride;
    part.exponents += begin;
    part.rows = rows;
    return part;
}

static int64_t residues_of_rows(const void *job, int64_t piece) {
    const residues_job *residues = job;
    const xl_kernel_set *elements = residues->set->elements;
    const xl_rows rows = xl_rows_of(&residues->pieces, piece);
    const xl_operand matrix = xl_matrix_of(residues->first, rows.stack);
    const xl_planes to = xl_planes_of(residues->planes, rows.stack);
    int64_t (*const make)(const xl_operand *, const xl_residue_table *, const xl_planes *, int64_t, int64_t) =
        residues->octets == 1 ? elements->residues8 : elements->residues16;
    residue_room room = residue_room_of(&to, residues->table->moduli * residues->octets, rows.end - rows.begin);
    int64_t broken = 0;
    if (room.rows == 0 || to.row_stride != to.depth)
        return make(&matrix, residues->table, &to, rows.begin, rows.end);
    room.residues = malloc((size_t)(room.count * room.plane));
    if (!room.residues)
        return XL_OUT_OF_MEMORY;
    for (int64_t begin = rows.begin; begin < rows.end; begin += room.rows) {
        const int64_t some = minimum(room.rows, rows.end - begin);
        const xl_operand part = rows_from(&matrix, begin, some);
        const xl_planes place = {room.residues, room.plane, to.depth, to.depth};
        broken = joined(broken, make(&part, residues->table, &place, 0, some));
        leave_rows(&room, &to, begin, some);
    }
    free(room.residues);
    return broken;
}

int64_t xl_native_residues(const xl_instructions *set, const xl_stack *x, const xl_residue_table *table,
                           int64_t octets, const xl_plane_stack *planes, int64_t threads) {
    const residues_job job = {.set = set, .first = x, .table = table, .octets = octets, .planes = planes,
                              .pieces = xl_cut_rows(x->stacks, x->first.rows, planes->first.depth)};
    const int team = xl_team(threads, x->stacks * x->first.rows * x->first.depth * 8, job.pieces.count);
    return xl_for_each(team, job.pieces.count, residues_of_rows, &job);
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

/* ---- numbers of components ---- */

typedef struct {
    const xl_instructions *set;
    const xl_stack *components;
    int64_t count, octets;
    const xl_residue_table *table;
    const xl_planes *planes;
    int64_t packed;
} components_job;

/* Some rows of all components. */
static int64_t make_components(const components_job *job, int64_t begin, int64_t rows, const xl_planes *place) {
    xl_operand part[XL_MOST_COMPONENTS];
    for (int64_t c = 0; c < job->count; ++c)
        part[c] = rows_from(&job->components[c].first, begin, rows);
    return job->set->elements->component_residues(part, (int32_t)job->count, (int32_t)job->octets, job->table, place, 0,
                                                  rows);
}

static void pack_rows(const components_job *job, const residue_room *room, int64_t begin, int64_t rows) {
    const xl_planes *to = job->planes;
    for (int64_t p = 0; p < room->count; ++p)
        xl_matrix_pack(job->set->matrix, room->residues + p * room->plane, 0, rows, to->depth,
                       to->data + p * to->plane_stride + begin * to->depth);
}

static int64_t residues_of_components(const void *context, int64_t piece) {
    const components_job *job = context;
    const xl_planes *to = job->planes;
    const int64_t first = piece * XL_MATRIX_COLUMNS, planes = job->table->moduli * job->octets;
    const int64_t end = minimum(first + XL_MATRIX_COLUMNS, job->components->first.rows);
    residue_room room = residue_room_of(to, planes, end - first);
    int64_t broken = 0;
    if (job->packed) /* which takes all rows of a block of columns at once */
        room = (residue_room){NULL, planes, XL_MATRIX_COLUMNS * to->depth + XL_MATRIX_ALIGNMENT, XL_MATRIX_COLUMNS};
    if (room.rows == 0) {
        const xl_planes place = {to->data + first * to->depth, to->plane_stride, to->depth, to->depth};
        return make_components(job, first, end - first, &place);
    }
    room.residues = malloc((size_t)(room.count * room.plane));
    if (!room.residues)
        return XL_OUT_OF_MEMORY;
    for (int64_t begin = first; begin < end; begin += room.rows) {
        const int64_t rows = minimum(room.rows, end - begin);
        const xl_planes place = {room.residues, room.plane, to->depth, to->depth};
        broken = joined(broken, make_components(job, begin, rows, &place));
        if (job->packed)
            pack_rows(job, &room, begin, rows);
        else
            leave_rows(&room, to, begin, rows);
    }
    free(room.residues);
    return broken;
}

int64_t xl_native_component_residues(const xl_instructions *set, const xl_stack *components, int64_t count,
                                     const xl_residue_table *table, int64_t octets, const xl_planes *planes,
                                     int64_t packed, int64_t threads) {
    const components_job job = {set, components, count, octets, table, planes, packed};
    const int64_t rows = components->first.rows, pieces = divide_up(rows, XL_MATRIX_COLUMNS);
    return xl_for_each(xl_team(threads, rows * planes->depth * 8, pieces), pieces, residues_of_components, &job);
}

/* ---- packing ---- */

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
