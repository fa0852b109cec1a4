/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who asks the kernel: the function of the program below which the kernel was
 * seen at work.
 *
 *   main ─► save ─► fsync ─► [kernel]
 *           ^ it    ^ a library's
 *
 * The program's is the innermost function of the module that the stack begins in;
 * of a thread, whose stack begins in the library that the kernel is asked through,
 * the first of another module than that.
 *
 * Input   samples of a view that nobody marked, which may claim anything.
 */
#ifndef AXP_ANALYZE_ASKER_H
#define AXP_ANALYZE_ASKER_H
#include "model/model_view.h"

struct axp__asker {
    const axp_op *kernel; /* of the view's functions; NULL: it was not seen */
    const axp_op *by;     /* that most of it is below; NULL: nobody's is */
};

/* False: no memory. */
bool axp__asker_find(const axp_view *v, struct axp__asker *out);

#endif
