/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program as a user would write it: linked with libaxprof, it records itself
 * to a file and exports its own report.
 *
 *   real_program FILE.axp FILE.html [ARGUMENT ...]
 *
 * Where the first ARGUMENT is "hostile" names of every kind say what no report
 * may do. Else:
 *
 * Two threads, steps, declared work, memory of which some stays, a counter,
 * a mark, an asynchronous span, a scope by name that another
 * thread stops.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool work(axp_profiler *p)
{
    pthread_t loader;
    axp_thread_name(p, "main");
    axp_start(p, "handed over");
    if (pthread_create(&loader, NULL, take_over, p)) return false;
    pthread_join(loader, NULL);
    axp_async_begin(p, "whole run", 1);
    if (pthread_create(&loader, NULL, load, p)) return false;
    train(p);
    pthread_join(loader, NULL);
    axp_async_end(p, "whole run", 1);
    axp_instant(p, "done");
    return true;
}

/* Names of scopes, memory, counters, marks and the thread. */
static void hostile(axp_profiler *p)
{
    static char huge[(1 << 20) + 1];
    static const char *const names[] = {
        "</script><script>window.hacked=1</script>",
        "<img src=x onerror=\"window.hacked=1\">",
        "\"><svg onload=window.hacked=1>",
        "<!--<script>",
        "line \xe2\x80\xa8 paragraph \xe2\x80\xa9 end",
        "invalid \xff\xfe \xc3( \xed\xa0\x80",
        "\x01\x1b[31m",
        "__proto__",
        "constructor",
        "{{STYLE}} $& <!--axprof-data-->",
        huge,
    };
    memset(huge, 'x', sizeof huge - 1);
    memcpy(huge, "</script>", 9);
    axp_thread_name(p, names[0]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        axp_start(p, names[i]);
        axp_record_alloc(p, names[i], 1000);
        axp_counter(p, names[i], (double)i);
        axp_event(p, names[i], AXP_EVENT_INSTANT, names[i]);
        spin(500);
        axp_stop(p, names[i]);
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
    if (!p) {
        fprintf(stderr, "real_program: %s\n", axp_last_error());
        return 1;
    }
    if (argc > 3 && !strcmp(argv[3], "hostile"))
        hostile(p);
    else if (!work(p))
        return 1;
    axp_finish(p);
    axp_view *v = axp_snapshot(p);
    axp_status status = v ? axp_report_export(v, argv[2], AXP_FORMAT_HTML) : -1;
    if (status) fprintf(stderr, "real_program: %s\n", axp_last_error());
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return status != AXP_OK;
}
