/* Memory pools: pieces of malloc in a list. */
#include "pool.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct pool_piece {
    struct pool_piece *before;
};

void *pool_take(pool *from, int64_t count, int64_t size) {
    const size_t around = sizeof(struct pool_piece) + ALIGNMENT;
    if (count < 0 || size < 0 || (size > 0 && (uint64_t)count > (PTRDIFF_MAX - around) / (uint64_t)size))
        give_up("%lld times %lld octets are more than this machine can address", (long long)count, (long long)size);
    const size_t octets = (size_t)count * (size_t)size;
    struct pool_piece *piece = malloc(octets + around);
    if (piece == NULL)
        give_up("there is no memory for %llu octets", (unsigned long long)octets);
    piece->before = from->last;
    from->last = piece;
    char *start = (char *)(piece + 1);
    start += (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    return memset(start, 0, octets);
}

void pool_release(pool *all) {
    while (all->last) {
        struct pool_piece *piece = all->last;
        all->last = piece->before;
        free(piece);
    }
}
