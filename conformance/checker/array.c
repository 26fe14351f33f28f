/* Arrays and their digests. */
#include "array.h"
#include "xl_host.h"
#include "host_blocks.h"

#include <stdio.h>
#include <string.h>

int64_t array_entries(const array *x) {
    int64_t count = 1;
    for (int64_t i = 0; i < x->dimensions; ++i)
        count *= x->shape[i];
    return count;
}

int64_t array_part_octets(const array *x) {
    return x->limbs ? 4 * x->limbs : xl_format_read(x->type->format).octets;
}

void array_allocate(array *x, pool *memory) {
    x->data = pool_take(memory, array_entries(x) * x->type->parts, array_part_octets(x));
}

/* ---- canonical octets -------------------------------------------------------------------------------------------- */

static void add_text(sha256 *hash, const char *text) {
    sha256_add(hash, text, strlen(text));
}

static void add_header(sha256 *hash, const array *x) {
    char number[32];
    add_text(hash, x->type->name);
    snprintf(number, sizeof number, " %lld", (long long)x->dimensions);
    add_text(hash, number);
    for (int64_t i = 0; i < x->dimensions; ++i) {
        snprintf(number, sizeof number, " %lld", (long long)x->shape[i]);
        add_text(hash, number);
    }
    add_text(hash, "\n");
}

static uint64_t canonical(uint64_t word, const xl_format *format) {
    const uint64_t magnitude = word & xl_ones(format->bits) >> 1;
    if (format->kind != XL_KIND_FLOAT || xl_is_finite(word, format) ||
        (format->has_infinity && magnitude == format->infinity))
        return word;
    return format->nan;
}

static void add_words(sha256 *hash, const array *x) {
    const xl_format format = xl_format_read(x->type->format);
    const int64_t count = array_entries(x) * x->type->parts;
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t word = canonical(xl_load((const char *)x->data + i * format.octets, format.octets), &format);
        uint8_t octets[8];
        for (int j = 0; j < 8; ++j)
            octets[j] = (uint8_t)(word >> 8 * j);
        sha256_add(hash, octets, (size_t)format.octets);
    }
}

/* Divides a magnitude by 10**9, in place; returns the remainder. */
static uint32_t divide(uint32_t *limbs, int64_t count) {
    uint64_t remainder = 0;
    for (int64_t j = count - 1; j >= 0; --j) {
        const uint64_t dividend = remainder << 32 | limbs[j];
        limbs[j] = (uint32_t)(dividend / 1000000000);
        remainder = dividend % 1000000000;
    }
    return (uint32_t)remainder;
}

/* Ensures: the decimal text of a magnitude, which is overwritten, ending before `end`; returns its start. */
static char *decimal(char *end, uint32_t *limbs, int64_t count) {
    char *start = end;
    while (count > 0 && limbs[count - 1] == 0)
        --count;
    while (count > 0) {
        uint32_t digits = divide(limbs, count);
        while (count > 0 && limbs[count - 1] == 0)
            --count;
        for (int i = 0; i < 9 && (count > 0 || digits > 0); ++i, digits /= 10)
            *--start = (char)('0' + digits % 10);
    }
    if (start == end)
        *--start = '0';
    return start;
}

static void add_integers(sha256 *hash, const array *x) {
    pool memory = {NULL};
    const int64_t count = array_entries(x), limbs = x->limbs, room = 10 * limbs + 1;
    uint32_t *magnitude = pool_take(&memory, limbs, sizeof(uint32_t));
    char *text = pool_take(&memory, room, 1);
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t *entry = (const uint32_t *)x->data + i * limbs;
        const uint32_t negative = 0u - (entry[limbs - 1] >> 31);
        uint32_t carry = negative & 1;
        for (int64_t j = 0; j < limbs; ++j) {
            magnitude[j] = (entry[j] ^ negative) + carry;
            carry &= (uint32_t)(magnitude[j] == 0);
        }
        const char *start = decimal(text + room, magnitude, limbs);
        if (negative)
            add_text(hash, "-");
        sha256_add(hash, start, (size_t)(text + room - start));
        add_text(hash, "\n");
    }
    pool_release(&memory);
}

void array_digest(const array *arrays, int count, uint8_t digest[SHA256_OCTETS]) {
    sha256 hash;
    sha256_begin(&hash);
    add_text(&hash, "exactla-digest-1\n");
    for (int i = 0; i < count; ++i) {
        add_header(&hash, &arrays[i]);
        if (arrays[i].limbs)
            add_integers(&hash, &arrays[i]);
        else
            add_words(&hash, &arrays[i]);
    }
    sha256_end(&hash, digest);
}
