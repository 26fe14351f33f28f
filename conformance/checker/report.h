/* How the checker says that it cannot go on. */
#ifndef CHECKER_REPORT_H
#define CHECKER_REPORT_H

/* What is wrong with a case, or NULL. */
typedef const char *problem;

/* Exit statuses of the checker. */
enum { ALL_PASSED, SOME_FAILED, UNUSABLE };

/* Prints a message, as printf does, and ends the checker as UNUSABLE. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
