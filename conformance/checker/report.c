/* The end of a checker that cannot go on. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void give_up(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fputs("checker: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(UNUSABLE);
}
