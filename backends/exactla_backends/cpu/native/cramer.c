/* Minors and small systems modulo primes, a prime at a time; see native.h. */
#include "sharing.h"

typedef struct {
    const xl_instructions *set;
    const xl_modular_systems *systems;
} job;

/* The sign of a permutation: 1 or -1. It is overwritten. */
static int64_t parity(int64_t *order, int64_t count) {
    int64_t sign = 1;
    for (int64_t i = 0; i < count; ++i)
        while (order[i] != i) {
            const int64_t next = order[i];
            order[i] = order[next];
            order[next] = next;
            sign = -sign;
        }
    return sign;
}

static void load(const job *j, const xl_word_elimination *e, uint64_t *entries) {
    const xl_modular_systems *s = j->systems;
    for (int64_t i = 0; i < s->rows; ++i, entries += e->width) {
        const int64_t used = s->columns + s->more;
        e->row[i] = entries;
        e->order[i] = i;
        j->set->elements->load_words(entries, s->matrix + i * s->columns, s->columns, e->prime);
        j->set->elements->load_words(entries + s->columns, s->right + i * s->more, s->more, e->prime);
        memset(entries + used, 0, (size_t)(e->width - used) * sizeof *entries);
    }
}

/* The determinant and the numerators of Cramer's rule; `solution` and `copy` hold as many words as there are unknowns. */
static void solve(const job *j, const xl_word_elimination *e, int64_t rank, int64_t p, uint64_t *solution, int64_t *copy) {
    const int64_t size = e->columns;
    uint32_t *to = j->systems->numerators + p * e->more * size;
    j->systems->determinants[p] = 0;
    memset(to, 0, (size_t)(size * e->more) * sizeof *to);
    if (rank < size)
        return;
    memcpy(copy, e->order, (size_t)size * sizeof *copy);
    j->systems->determinants[p] = parity(copy, size) < 0 ? e->prime - e->minor : e->minor;
    for (int64_t column = 0; column < e->more; ++column, to += size) {
        j->set->elements->substitute(e, column, (uint32_t)j->systems->determinants[p], solution);
        for (int64_t i = 0; i < size; ++i)
            to[i] = (uint32_t)solution[i];
    }
}

static int64_t one_prime(const void *about, int64_t p) {
    const job *j = about;
    const xl_modular_systems *s = j->systems;
    const int64_t width = round_up(s->columns + s->more, XL_WORD_LANES), entries = s->rows * width;
    const int64_t most = maximum(s->rows, s->columns);
    uint64_t *words = malloc((size_t)(entries + 4 * most + XL_WORD_LANES) * sizeof *words);
    uint64_t **row = malloc((size_t)(s->rows + 1) * sizeof *row);
    xl_word_elimination e = {.prime = (uint32_t)s->primes[p], .rows = s->rows, .columns = s->columns, .more = s->more,
                        .width = width};
    if (words && row) {
        e.row = row;
        e.order = s->orders + p * s->rows;
        e.pivots = s->pivots + p * s->columns;
        e.reciprocals = words + entries;
        e.factors = words + entries + 3 * most;
        memset(e.factors, 0, (size_t)(most + XL_WORD_LANES) * sizeof *words);
        load(j, &e, words);
        s->ranks[p] = j->set->elements->eliminate(&e);
        s->minors[p] = e.minor;
        if (s->determinants)
            solve(j, &e, s->ranks[p], p, words + entries + most, (int64_t *)(words + entries + 2 * most));
    }
    free(row);
    free(words);
    return words && row ? 0 : XL_OUT_OF_MEMORY;
}

int64_t xl_native_eliminate(const xl_instructions *set, const xl_modular_systems *systems, int64_t threads) {
    const job all = {set, systems};
    const int64_t work = systems->rows * systems->rows * (systems->columns + systems->more) * systems->moduli / 64;
    return xl_for_each(xl_team(threads, work, systems->moduli), systems->moduli, one_prime, &all);
}
