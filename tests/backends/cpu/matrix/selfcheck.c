/* Runs the check of all kernels of a build, for machines without Python: prints what each said, fails if one is wrong.
 */
#include "matrix.h"

#include <stdio.h>

int main(void) {
    int failures = 0;
    for (int i = 0; xl_matrix_listed(i); ++i) {
        const char *name = xl_matrix_name(xl_matrix_listed(i));
        const xl_matrix_kernels *kernels = xl_matrix_select(name);
        const int found = kernels ? xl_matrix_check(kernels) : 0;
        puts(name);
        puts(!kernels ? "absent" : found == 1 ? "right" : "WRONG");
        failures += kernels && found != 1;
    }
    return failures;
}
