/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program as a user would write it: linked with libaxprof, it records itself
 * to a file and exports its own report.
 *
 *   real_program FILE.axp FILE.html [ARGUMENT ...]
 *
 * Two threads, steps, declared work, memory of which some stays, a counter,
 * a mark, an asynchronous span, a scope by name that another
 * thread stops.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <axprof/axprof.h>
#include <axprof/axprof_read.h>

#define STEPS 40

static volatile double sink;

static void spin(int n)
{
    for (int i = 0; i < n; i++)
        sink += i * 0.5;
}

static void matmul(axp_profiler *p)
{
    axp_start_work(p, "matmul", (axp_work){.flops = 2e6, .bytes = 3e5});
    spin(2000);
    axp_stop(p, "matmul");
}

static void *load(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "loader");
    for (int i = 0; i < STEPS; i++) {
        AXP_SCOPE_IN(p, "load_batch");
        spin(3000);
    }
    return NULL;
}

static void *take_over(void *p)
{
    axp_stop(p, "handed over");
    return NULL;
}

static void train(axp_profiler *p)
{
    for (int i = 0; i < STEPS; i++) {
        AXP_SCOPE_IN(p, "train_step");
        axp_record_alloc(p, "activations", 1 << 20);
        for (int k = 0; k < 12; k++)
            matmul(p);
        axp_record_free(p, "activations", 1 << 20);
        axp_record_alloc(p, "cache", 4096);
        axp_counter(p, "loss", 4.0 / (i + 1));
        axp_step(p);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: real_program FILE.axp FILE.html\n");
        return 2;
    }
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.title = "real program", .path = argv[1]});
    pthread_t loader;
    if (!p) {
        fprintf(stderr, "real_program: %s\n", axp_last_error());
        return 1;
    }
    axp_thread_name(p, "main");
    axp_start(p, "handed over");
    if (pthread_create(&loader, NULL, take_over, p)) return 1;
    pthread_join(loader, NULL);
    axp_async_begin(p, "whole run", 1);
    if (pthread_create(&loader, NULL, load, p)) return 1;
    train(p);
    pthread_join(loader, NULL);
    axp_async_end(p, "whole run", 1);
    axp_instant(p, "done");
    axp_finish(p);
    axp_view *v = axp_snapshot(p);
    axp_status status = v ? axp_report_export(v, argv[2], AXP_FORMAT_HTML) : -1;
    if (status) fprintf(stderr, "real_program: %s\n", axp_last_error());
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return status != AXP_OK;
}
