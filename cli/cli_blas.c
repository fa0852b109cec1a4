/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of a BLAS that is linked into who calls it go past the adapter. What
 * tells of such a one: functions of products among those that were sampled, or
 * the program's own symbols. Both are names that anybody may use: so this is a
 * hint, and nothing else follows from it. */
#include "cli/cli_blas.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_adapter.h"
#include "cli/cli_elf.h"
#include "cli/cli_say.h"

#define LEAST_SHARE 0.01 /* of the processor time that was sampled */

/* The products, which every program has that uses a BLAS for long. */
static bool is_of_product(const char *name)
{
    return strstr(name, "gemm") || strstr(name, "gemv");
}

static bool is_product(const axp_op *op)
{
    static const char *const names[] = {"gemm", "gemv", "gemm3m", "gemm_batch"};
    const char *rest = op->name + (strncmp(op->name, "sb", 2) ? 1 : 2);
    if (!*op->name || !strchr("sdcz", *op->name)) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(rest, names[i])) return true;
    return false;
}

static bool is_seen(const axp_view *view)
{
    size_t n = axp_view_ops(view, AXP_BY_TIME, NULL, 0);
    axp_op *ops = cli_alloc(n + 1, sizeof *ops);
    bool is_any = false;
    n = axp_view_ops(view, AXP_BY_TIME, ops, n);
    for (size_t i = 0; i < n; i++)
        if (is_product(&ops[i])) is_any = true;
    free(ops);
    return is_any;
}

/* The function of a product that took most; NULL: none. It is the view's. */
static const char *sampled(const axp_view *view)
{
    size_t n = axp_view_functions(view, NULL, 0);
    axp_op *functions = cli_alloc(n + 1, sizeof *functions);
    const char *found = NULL;
    n = axp_view_functions(view, functions, n);
    for (size_t i = 0; i < n && !found; i++)
        if (functions[i].time_share >= LEAST_SHARE &&
            is_of_product(functions[i].name))
            found = functions[i].name;
    free(functions);
    return found;
}

void cli_blas_say(const cli_args *args, const cli_target *target,
                  const axp_view *view)
{
    cli_elf elf = {0};
    char *path = cli_adapter_when_needed(args, "blas");
    if (!path || is_seen(view)) {
        free(path);
        return;
    }
    free(path);
    bool is_own = cli_elf_read(target->binary, true, &elf) && elf.has_blas;
    const char *kernel = sampled(view);
    if (is_own)
        cli_note("no call of BLAS was seen: it is linked statically into %s, "
                 "where calls cannot be seen%s%s",
                 target->name, kernel ? "; sampled was " : "",
                 kernel ? kernel : "");
    else if (kernel)
        cli_note("no call of BLAS was seen, though %s ran: it is linked into "
                 "who calls it, or called by other names",
                 kernel);
}
