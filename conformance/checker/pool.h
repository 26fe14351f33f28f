/* Memory that is given back all at once. */
#ifndef CHECKER_POOL_H
#define CHECKER_POOL_H

#include <stdint.h>

/* Start with {NULL}. */
typedef struct {
    struct pool_piece *last;
} pool;

/* Ensures: room for count * size octets, all 0, at a multiple of 64; the checker ends where there is none. */
void *pool_take(pool *from, int64_t count, int64_t size);

/* Ensures: everything taken from the pool is gone. */
void pool_release(pool *all);

#endif
