/* Residues of results: sums of them, the integers that they stand for, and their encodings; see native.h. */
#include "rounding.h"
#include "sharing.h"

static xl_results results_of(const xl_result_stack *results, int64_t pair) {
    xl_results one = results->first;
    one.data = (const char *)one.data + pair * results->pair_stride;
    return one;
}

/* ---- encodings ---- */

enum { MOST_ENCODINGS = 4 };

int64_t xl_round_place(const xl_instructions *set, const xl_rounding_job *job, const xl_results *residues,
                       const xl_rounding_place *at) {
    const xl_exponents exponents = {job->left_exponents + at->left * at->rows + at->row,
                                    job->right_exponents + at->right * at->columns + at->column, job->shift};
    const int64_t octets = job->format[1] * maximum(job->components, 1);
    xl_encodings to[MOST_ENCODINGS];
    for (int64_t e = 0; e < job->count; ++e) {
        to[e] = job->encodings[e];
        to[e].data = (char *)to[e].data + at->pair * job->pair_stride + at->row * to[e].row_stride +
                     at->column * octets;
    }
    if (job->components)
        return set->elements->round_components(residues, job->crt, &exponents, job->format, to, job->components, 0,
                                               residues->rows);
    if (job->unsure)
        return set->elements->round_certified(residues, job->crt, &exponents, job->format, to, job->count, job->slack,
                                              job->unsure + (at->pair * at->rows + at->row) * at->columns + at->column,
                                              at->columns, 0, residues->rows);
    return set->elements->round(residues, job->crt, &exponents, job->format, to, job->count, 0, residues->rows);
}

typedef struct {
    const xl_instructions *set;
    const xl_result_stack *results;
    const int64_t *left, *right;
    const xl_rounding_job *rounding;
    xl_row_pieces pieces;
} round_job;

static int64_t round_rows(const void *job, int64_t piece) {
    const round_job *round = job;
    const xl_rows rows = xl_rows_of(&round->pieces, piece);
    xl_results part = results_of(round->results, rows.stack);
    const xl_rounding_place at = {rows.stack, round->left[rows.stack], round->right[rows.stack],
                                  part.rows, part.columns, rows.begin, 0};
    part.data = (const char *)part.data + rows.begin * part.row_stride;
    part.rows = rows.end - rows.begin;
    return xl_round_place(round->set, round->rounding, &part, &at);
}

int64_t xl_native_round(const xl_instructions *set, const xl_result_stack *results, const int64_t *left,
                        const int64_t *right, int64_t pairs, const xl_rounding_job *job, int64_t threads) {
    const int64_t rows = results->first.rows, columns = results->first.columns;
    const round_job round = {set, results, left, right, job, xl_cut_rows(pairs, rows, columns)};
    const int team = xl_team(threads, pairs * rows * columns * 16, round.pieces.count);
    return xl_for_each(team, round.pieces.count, round_rows, &round);
}

/* ---- sums ---- */

enum { MOST_TERMS = 128 };

typedef struct {
    const xl_instructions *set;
    const xl_result_stack *result, *terms;
    const int64_t *signs;
    int64_t count;
    const xl_crt_table *table;
    xl_row_pieces pieces;
} combine_job;

static int64_t combine_rows(const void *job, int64_t piece) {
    const combine_job *combine = job;
    const xl_rows rows = xl_rows_of(&combine->pieces, piece);
    const xl_results to = results_of(combine->result, rows.stack);
    xl_results parts[MOST_TERMS];
    for (int64_t term = 0; term < combine->count; ++term)
        parts[term] = results_of(&combine->terms[term], rows.stack);
    combine->set->elements->combine((void *)(uintptr_t)to.data, parts, combine->signs, combine->count, combine->table,
                                    rows.begin, rows.end);
    return 0;
}

void xl_native_combine(const xl_instructions *set, const xl_result_stack *result, const xl_result_stack *terms,
                       const int64_t *signs, int64_t count, int64_t pairs, const xl_crt_table *table,
                       int64_t threads) {
    const int64_t rows = result->first.rows, columns = result->first.columns;
    const combine_job job = {set, result, terms, signs, count, table, xl_cut_rows(pairs, rows, columns)};
    const int team = xl_team(threads, pairs * rows * columns * table->moduli / 8, job.pieces.count);
    xl_for_each(team, job.pieces.count, combine_rows, &job);
}

/* ---- integers ---- */

typedef struct {
    const xl_instructions *set;
    const xl_result_stack *results;
    const xl_crt_table *table;
    uint32_t *limbs;
    xl_row_pieces pieces;
} integers_job;

static int64_t integers_of_rows(const void *job, int64_t piece) {
    const integers_job *integers = job;
    const xl_rows rows = xl_rows_of(&integers->pieces, piece);
    const xl_results part = results_of(integers->results, rows.stack);
    const int64_t limbs = integers->table->limbs;
    return integers->set->elements->integers(&part, integers->table,
                                             integers->limbs + rows.stack * part.rows * part.columns * limbs, 1, limbs,
                                             rows.begin, rows.end);
}

int64_t xl_native_integers(const xl_instructions *set, const xl_result_stack *results, int64_t pairs,
                           const xl_crt_table *table, uint32_t *limbs, int64_t threads) {
    const int64_t rows = results->first.rows, columns = results->first.columns;
    const integers_job job = {set, results, table, limbs, xl_cut_rows(pairs, rows, columns)};
    const int team = xl_team(threads, pairs * rows * columns * 16, job.pieces.count);
    return xl_for_each(team, job.pieces.count, integers_of_rows, &job);
}
