/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How `doctor` speaks: one line a thing, and where it could be better, why and
 * the command that makes it so. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* "ok      clock         …" */
void cli_doctor_ok(const char *what, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "better  …", then the advice on lines of its own. */
void cli_doctor_better(const char *what, const char *advice, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* What was left by those that were killed; clean removes it. */
void cli_doctor_left(void);
int cli_doctor_clean(void);
/* Of the program that was given. */
int cli_doctor_program(char *const *argv);

#endif
