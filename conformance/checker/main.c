/* Recomputes the digests of the conformance cases from a case file, in integers only and without Python.
 *
 *     checker FILE             compares all cases with their frozen digests
 *     checker --sha256 FILE    prints the SHA-256 of a file
 */
#include "calls.h"
#include "kernels_under_test.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_digest(const char *label, const uint8_t digest[SHA256_OCTETS]) {
    fputs(label, stdout);
    for (int i = 0; i < SHA256_OCTETS; ++i)
        printf("%02x", digest[i]);
    putchar('\n');
}

static int print_file_digest(const char *path) {
    pool memory = {NULL};
    const reader data = read_file(path, &memory);
    uint8_t digest[SHA256_OCTETS];
    sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, data.at, (size_t)(data.end - data.at));
    sha256_end(&hash, digest);
    print_digest("", digest);
    pool_release(&memory);
    return ALL_PASSED;
}

/* Compares digests; says which differ of the case. */
static int same(const test_case *which, const char *what, const uint8_t *found, const uint8_t *frozen) {
    if (memcmp(found, frozen, SHA256_OCTETS) == 0)
        return 1;
    printf("%s: the digest of the %s differs\n", which->name, what);
    print_digest("    found  ", found);
    print_digest("    frozen ", frozen);
    return 0;
}

static int check(const case_file *file, const test_case *which, pool *memory) {
    array results[MAX_RESULTS];
    uint8_t digest[SHA256_OCTETS];
    int count = 0;
    array_digest(which->operands, which->operand_count, digest);
    if (!same(which, "operands", digest, which->input))
        return 0;
    const problem found = compute(file, which, results, &count, memory);
    if (found) {
        printf("%s: %s\n", which->name, found);
        return 0;
    }
    array_digest(results, count, digest);
    return same(which, "results", digest, which->output);
}

static int check_file(const char *path) {
    const uint16_t two_octets = 1;
    case_file file;
    int64_t failed = 0;
    case_file_open(&file, path);
    if (file.case_count == 0)
        give_up("%s holds no cases", path);
    printf("%s-endian, %u-bit addresses\n", *(const char *)&two_octets ? "little" : "big",
           (unsigned)(8 * sizeof(void *)));
    printf("bits version %" PRId64 ", %" PRId64 " cases\n", file.bits_version, file.case_count);
    if (xl_matrix_check(&CHECKER_MATRIX) != 1)
        give_up("the matrix kernels fail their own check");
    for (int64_t i = 0; i < file.case_count; ++i) {
        pool memory = {NULL};
        test_case which;
        case_file_next(&file, &which, &memory);
        failed += !check(&file, &which, &memory);
        pool_release(&memory);
    }
    printf("%" PRId64 " passed, %" PRId64 " failed\n", file.case_count - failed, failed);
    case_file_close(&file);
    return failed == 0 ? ALL_PASSED : SOME_FAILED;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "--sha256") == 0)
        return print_file_digest(arguments[2]);
    if (count == 2)
        return check_file(arguments[1]);
    give_up("use: checker FILE, or checker --sha256 FILE");
}
