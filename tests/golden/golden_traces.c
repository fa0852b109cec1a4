/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The six runs; see golden_traces.h. */
#include "golden/golden_traces.h"

#include "test_support.h"

#include "model/model_view.h"
#include "record/record_capture.h"
#include "record/record_name.h"

#define US 1000u
#define MS 1000000u
#define KB 1024u
#define PROCESS_ID 4242
#define FIRST_TID 4242

const char *const golden_names[GOLDEN_N] = {"empty",   "one_scope", "nested",
                                            "threads", "memory",    "hostile"};

static void scope(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

static void work_scope(axp_profiler *p, const char *name, uint64_t ns,
                       axp_work work)
{
    axp_start_work(p, name, work);
    ts_tick(ns);
    axp_stop(p, name);
}

static void run_empty(axp_profiler *p)
{
    (void)p;
}

static void run_one_scope(axp_profiler *p)
{
    axp_thread_name(p, "main");
    work_scope(p, "matmul", 1 * MS,
               (axp_work){.flops = 2e9, .bytes = 3e6, .dtype = AXP_F32});
}

/* ---- nested ------------------------------------------------------------------ */

static void descend(axp_profiler *p, int depth)
{
    axp_start(p, "tree");
    ts_tick(10 * US);
    if (depth > 1) descend(p, depth - 1);
    axp_stop(p, "tree");
}

static void train_step(axp_profiler *p, unsigned i)
{
    const axp_work product = {
        .flops = 4e6, .bytes = 6e5, .dtype = AXP_F32, .dims = {100, 100, 200}};
    axp_start(p, "forward");
    axp_category(p, AXP_CAT_FORWARD);
    work_scope(p, "matmul", (200 + 10 * i) * US, product);
    scope(p, "relu", 20 * US);
    ts_tick(5 * US);
    axp_stop(p, "forward");
    axp_start(p, "backward");
    axp_category(p, AXP_CAT_BACKWARD);
    work_scope(p, "matmul", 400 * US, product);
    ts_tick(15 * US);
    axp_stop(p, "backward");
    axp_start(p, "adam");
    axp_category(p, AXP_CAT_OPTIMIZER);
    ts_tick(50 * US);
    axp_stop(p, "adam");
    axp_counter(p, "loss", 4.0 / (i + 1));
    axp_step(p);
}

static void run_nested(axp_profiler *p)
{
    axp__name_register("matmul", "examples/model.c\0"
                                 "42");
    axp_thread_name(p, "main");
    ts_tick(100 * US);
    axp_event(p, "epoch", AXP_EVENT_CUSTOM, "{\"number\": 1}");
    for (unsigned i = 0; i < 3; i++)
        train_step(p, i);
    descend(p, 3);
    axp_instant(p, "checkpoint");
}

/* ---- threads ------------------------------------------------------------------- */

static void *first_worker(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "worker 1");
    axp_start(p, "batch");
    axp_flow_in(p, 7);
    ts_tick(300 * US);
    axp_stop(p, "batch");
    axp_async_end(p, "request", 1);
    axp_start(p, "handed over"); /* the second worker stops it */
    ts_tick(50 * US);
    return NULL;
}

static void *second_worker(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "worker 2");
    axp_start(p, "batch");
    ts_tick(200 * US);
    axp_stop(p, "batch");
    axp_start(p, "wait");
    axp_category(p, AXP_CAT_SYNC);
    ts_tick(100 * US);
    axp_stop(p, "wait");
    axp_stop(p, "handed over");
    return NULL;
}

static void run_threads(axp_profiler *p)
{
    axp_thread_name(p, "main");
    axp_track *device = axp_track_create(p, "gpu 0");
    axp_start(p, "load");
    axp_category(p, AXP_CAT_DATA);
    ts_tick(100 * US);
    axp_flow_out(p, 7);
    axp_stop(p, "load");
    axp_async_begin(p, "request", 1);
    ts_run(first_worker, p);
    ts_run(second_worker, p);
    axp_start(p, "a"); /* a and b overlap */
    ts_tick(40 * US);
    axp_start(p, "b");
    ts_tick(30 * US);
    axp_stop(p, "a");
    ts_tick(20 * US);
    axp_stop(p, "b");
    axp_track_span(device, "gemm kernel", 120 * US, 320 * US,
                   &(axp_work){.flops = 2e9, .bytes = 4e8, .dtype = AXP_F16});
    axp_track_span(device, "copy kernel", 320 * US, 400 * US,
                   &(axp_work){.bytes = 8e7});
    axp_counter(p, "queue depth", 3);
    ts_tick(10 * US);
    axp_counter(p, "queue depth", 1);
}

/* ---- memory -------------------------------------------------------------------- */

static void alloc_kind(axp_profiler *p, const char *name, size_t bytes,
                       axp_mem kind)
{
    axp_record_alloc_ex(
        p, &(axp_alloc){.name = name, .bytes = bytes, .kind = kind});
}

static void run_memory(axp_profiler *p)
{
    char *address = (char *)(uintptr_t)0x10000; /* never read */
    axp_thread_name(p, "main");
    axp_track *device = axp_track_create(p, "gpu 0");
    alloc_kind(p, "weights", 4096 * KB, AXP_MEM_WEIGHT);
    alloc_kind(p, "adam state", 8192 * KB, AXP_MEM_OPTIMIZER);
    for (unsigned i = 0; i < 3; i++) {
        axp_start(p, "forward");
        axp_record_alloc_ex(p, &(axp_alloc){.ptr = address,
                                            .bytes = 2048 * KB,
                                            .kind = AXP_MEM_ACTIVATION});
        axp_track_alloc(p, "scratch", address + 1, 512 * KB + i);
        ts_tick(100 * US);
        axp_track_free(p, address + 1);
        axp_stop(p, "forward");
        axp_track_free(p, address);
        axp_record_alloc(p, "cache", 64 * KB); /* never freed: it grows */
        axp_step(p);
    }
    axp_track_alloc_at(device, "device buffer", 0x7000, 1024 * KB, 20 * US);
    axp_track_free_at(device, 0x7000, 280 * US);
    axp_record_free(p, "unknown", 10);
}

/* ---- hostile names --------------------------------------------------------------- */

static const char *const hostile[] = {
    "line\nbreak\r\n\ttab",
    "\"quoted\" 'single' \\back\\slash",
    "<script>alert(1)</script>&amp;</title>",
    "</script><!-- ]]> {{x}} ${x} %s %n %%",
    "| pipe | `code` ``two`` **bold** [a](b) _i_ ~~s~~ # h",
    "=1+1,\"csv\";@cell",
    "a;b c{d=\"e\"}",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "invalid \xff\xfe \xc3( \xed\xa0\x80 utf-8",
    "\x01\x02\x7f control",
    "c1 \xc2\x9b"
    "31m",
    "wide \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x9a\x80",
    "combining e\xcc\x81 a\xcc\x8a",
    "bidi \xe2\x80\xae"
    "gnp.exe\xe2\x81\xa6 \xe2\x80\x8b zero",
    "separators \xe2\x80\xa8 \xe2\x80\xa9",
    "transformer.encoder.layers.11.attention.self.query.forward.first.kernel",
    "transformer.encoder.layers.12.attention.self.query.forward.first.kernel",
    "transformer.encoder.layers.11.attention.self.query.forward.third.kernel",
    "null",
    "-1",
    "__proto__",
};

static void run_hostile(axp_profiler *p)
{
    const size_t n = sizeof hostile / sizeof *hostile;
    axp_thread_name(p, "thread <b>\"\x1b[1m|`\n");
    axp_track *track = axp_track_create(p, "track \"<i>\n\x1b[2J");
    for (size_t i = 0; i < n; i++)
        scope(p, hostile[i], (n - i) * 10 * US);
    for (size_t i = 0; i < n; i++)
        axp_record_alloc(p, hostile[i], (n - i) * KB);
    axp_event(p, hostile[2], AXP_EVENT_CUSTOM,
              "not json: \" < \x1b[0m \xff \n }");
    axp_event(p, "metadata", AXP_EVENT_CUSTOM, "{\"a\": \"</script>\"}");
    axp_counter(p, hostile[6], 1e300);
    axp_counter(p, hostile[6], -0.1);
    axp_track_span(track, hostile[7], 10 * US, 30 * US, NULL);
    scope(p, "", 10 * US);
    axp_stop(p, hostile[0]);  /* never started */
    axp_start(p, hostile[4]); /* never stopped */
    ts_tick(10 * US);
}

/* ---- the kernel's choices replaced ------------------------------------------------- */

/* Threads are numbered in the order of their rows. */
static void settle(struct axp__capture *c)
{
    uint64_t seen[16];
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        size_t k = 0;
        while (k < n && seen[k] != c->rows[i].tid)
            k++;
        if (k == 16) abort();
        if (k == n) seen[n++] = c->rows[i].tid;
        c->rows[i].tid = FIRST_TID + k;
        c->rows[i].process_id = PROCESS_ID;
    }
    c->process_id = PROCESS_ID;
}

static int by_row_id(const void *a, const void *b)
{
    const struct axp__cap_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Rows in the order of their ids; lanes keep pointing at theirs. */
static void sort_rows(struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_lanes; i++)
        if (c->lanes[i].row >= 0)
            c->lanes[i].row = (int32_t)c->rows[c->lanes[i].row].id;
    qsort(c->rows, c->n_rows, sizeof *c->rows, by_row_id);
    for (size_t i = 0; i < c->n_lanes; i++)
        for (size_t k = 0; c->lanes[i].row >= 0 && k < c->n_rows; k++)
            if (c->rows[k].id == (uint32_t)c->lanes[i].row) {
                c->lanes[i].row = (int32_t)k;
                break;
            }
}

void golden_init(void)
{
    ts_use_fake_clock();
}

axp_view *golden_view(size_t i)
{
    static void (*const run[GOLDEN_N])(axp_profiler *) = {
        run_empty,   run_one_scope, run_nested,
        run_threads, run_memory,    run_hostile};
    const char *title =
        i == 5 ? "hostile \x1b[31m<b>|`title`\n\xff" : golden_names[i];
    ts_set_clock(1000000000u);
    axp_profiler *p = axp_profiler_create(&(axp_options){.title = title});
    if (!p) abort();
    run[i](p);
    axp_finish(p);
    struct axp__capture *c = axp__capture_take(p);
    if (!c) abort();
    sort_rows(c);
    settle(c);
    axp_view *v = axp__view_make(c);
    if (!v) abort();
    axp_profiler_destroy(p);
    return v;
}
