/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_table.c: reads a profile through axprof_read.h and prints it: how to
 * write a report of one's own. (axp_print_summary writes a finished one.) */
#include "gpt_table.h"

#include <axprof/axprof_read.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef char text[24]; /* a formatted number */

static const char *format_ns(text buf, axp_ns ns)
{
    return axp_format_ns(buf, sizeof(text), ns);
}

static const char *format_bytes(text buf, uint64_t bytes)
{
    return axp_format_bytes(buf, sizeof(text), bytes);
}

static const char *format_rate(text buf, double rate)
{
    if (isnan(rate)) return "-";
    snprintf(buf, sizeof(text), "%.1f", rate);
    return buf;
}

static void write_op(const axp_op *op, FILE *to)
{
    text total, self, p99, gflops, gbps;
    fprintf(to, "%-19.19s %6" PRIu64 " %10s %10s %5.1f%% %10s %7s %5s\n",
            op->name, op->calls, format_ns(total, op->total_ns),
            format_ns(self, op->self_ns), 100 * op->time_share,
            format_ns(p99, op->p99_ns), format_rate(gflops, axp_op_gflops(op)),
            format_rate(gbps, axp_op_gbps(op)));
}

static int write_ops(const axp_view *view, FILE *to)
{
    const size_t count = axp_view_ops(view, AXP_BY_SELF, NULL, 0);
    axp_op *ops = calloc(count + 1, sizeof *ops);
    if (!ops) return -1;

    fprintf(to, "%-19s %6s %10s %10s %6s %10s %7s %5s\n", "operation", "calls",
            "total", "self", "share", "p99", "GFLOP/s", "GB/s");
    axp_view_ops(view, AXP_BY_SELF, ops, count);
    for (size_t i = 0; i < count; i++)
        write_op(&ops[i], to);
    free(ops);
    return 0;
}

static int write_memory(const axp_view *view, FILE *to)
{
    const axp_memory memory = axp_view_memory(view);
    const size_t count = axp_view_memory_names(view, NULL, 0);
    axp_memory_name *names = calloc(count + 1, sizeof *names);
    if (!names) return -1;

    text bytes;
    fprintf(to, "\n%-30s %10s %6s %8s\n", "memory", "at peak", "share",
            "allocs");
    axp_view_memory_names(view, names, count);
    for (size_t i = 0; i < count && names[i].at_peak_bytes > 0; i++)
        fprintf(to, "%-30.30s %10s %5.1f%% %8" PRIu64 "\n", names[i].name,
                format_bytes(bytes, names[i].at_peak_bytes),
                100 * (double)names[i].at_peak_bytes /
                    (double)memory.peak_bytes,
                names[i].n_allocs);
    fprintf(to, "%-30s %10s\n", "all", format_bytes(bytes, memory.peak_bytes));
    free(names);
    return 0;
}

static void write_steps(const axp_view *view, FILE *to)
{
    const axp_step_stats steps = axp_view_steps(view);
    if (steps.count == 0) return;
    text avg, p50, p99, max;
    fprintf(to, "\nsteps: %" PRIu64 ", average %s, p50 %s, p99 %s, max %s\n",
            steps.count, format_ns(avg, steps.avg_ns),
            format_ns(p50, steps.p50_ns), format_ns(p99, steps.p99_ns),
            format_ns(max, steps.max_ns));
}

int gpt_table_write(FILE *to)
{
    axp_view *view = axp_snapshot(axp_global());
    if (!view) {
        fprintf(stderr, "gpt: no profile: %s\n", axp_last_error());
        return -1;
    }
    int status = write_ops(view, to);
    if (status == 0) status = write_memory(view, to);
    if (status == 0)
        write_steps(view, to);
    else
        fprintf(stderr, "gpt: no memory for the tables\n");
    axp_view_destroy(view);
    return status;
}
