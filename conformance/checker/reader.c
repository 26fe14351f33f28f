/* Reads little-endian numbers on hosts of either order of octets. */
#include "reader.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const uint8_t *read_octets(reader *from, uint64_t octets) {
    if ((uint64_t)(from->end - from->at) < octets)
        give_up("the file ends in the middle of a record");
    from->at += octets;
    return from->at - octets;
}

uint64_t read_number(reader *from, int octets) {
    const uint8_t *at = read_octets(from, (uint64_t)octets);
    uint64_t number = 0;
    for (int i = 0; i < octets; ++i)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

int64_t read_count(reader *from) {
    const uint64_t count = read_number(from, 4);
    if (count > (uint64_t)(from->end - from->at))
        give_up("the file is too short for what it claims to hold");
    return (int64_t)count;
}

void read_text(reader *from, char *target) {
    const uint64_t length = read_number(from, 1);
    memcpy(target, read_octets(from, length), (size_t)length);
    target[length] = '\0';
}

void read_numbers(reader *from, void *target, int64_t count, int octets) {
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t number = read_number(from, octets);
        if (octets == 1)
            ((uint8_t *)target)[i] = (uint8_t)number;
        else if (octets == 2)
            ((uint16_t *)target)[i] = (uint16_t)number;
        else if (octets == 4)
            ((uint32_t *)target)[i] = (uint32_t)number;
        else
            ((uint64_t *)target)[i] = number;
    }
}

const uint32_t *read_words(reader *from, int64_t count, pool *memory) {
    if (count < 0 || count > (from->end - from->at) / 4)
        give_up("the file is too short for a table that it claims to hold");
    uint32_t *words = pool_take(memory, count, sizeof *words);
    read_numbers(from, words, count, 4);
    return words;
}

static int64_t file_octets(FILE *file, const char *path) {
    long octets = -1;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (octets = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        give_up("%s: %s", path, strerror(errno));
    return octets;
}

reader read_file(const char *path, pool *memory) {
    FILE *file = fopen(path, "rb");
    const int64_t octets = file_octets(file, path);
    uint8_t *data = pool_take(memory, octets + 1, 1);
    if (fread(data, 1, (size_t)octets, file) != (size_t)octets)
        give_up("%s: it could not be read", path);
    fclose(file);
    return (reader){data, data + octets};
}
