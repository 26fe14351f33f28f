/* Long integers from p-adic digits, shared out among threads; see native.h. */
#include "sharing.h"

enum { ENTRIES = 64 /* of a piece of work */ };

typedef struct {
    const xl_instructions *set;
    const uint32_t *digits;
    int64_t entries, words;
    const int32_t *weights;
    int64_t *sums;
} combination;

static int64_t combine_step(const void *about, int64_t step) {
    const combination *c = about;
    c->set->elements->combine_digits(c->digits + step * c->entries * c->words, c->entries, c->words, c->weights,
                                     c->sums + step * 2 * c->words);
    return 0;
}

int64_t xl_native_combine_digits(const xl_instructions *set, const uint32_t *digits, int64_t steps, int64_t entries,
                                 int64_t words, const int32_t *weights, int64_t *sums, int64_t threads) {
    const combination c = {set, digits, entries, words, weights, sums};
    return xl_for_each(xl_team(threads, steps * entries * words, steps), steps, combine_step, &c);
}

typedef struct {
    const xl_instructions *set;
    const xl_numbers *numbers;
    int64_t begin, end;
} numbers_job;

static int64_t some_numbers(const void *about, int64_t piece) {
    const numbers_job *job = about;
    const int64_t begin = job->begin + piece * ENTRIES;
    return job->set->elements->numbers(job->numbers, begin, minimum(begin + ENTRIES, job->end));
}

int64_t xl_native_numbers(const xl_instructions *set, const xl_numbers *numbers, int64_t begin, int64_t end,
                          int64_t threads) {
    const numbers_job job = {set, numbers, begin, end};
    const int64_t pieces = divide_up(end - begin, ENTRIES), each = numbers->positions * numbers->groups;
    return xl_for_each(xl_team(threads, (end - begin) * each, pieces), pieces, some_numbers, &job);
}
