/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes a small trace with every kind of event.
 *
 *   make_trace FILE         as the recorder writes it
 *   make_trace --fixed FILE the same in every run, but for the machine's clock
 *                           and names: how the files in this folder were made
 */
#include "file_support.h"

#include "file/file_write.h"
#include "record/record_capture.h"

static uint64_t ticks = 1000000, rng = 99;

static uint64_t read_fixed(void)
{
    return ticks += 10 + ts_random(&rng) % 90;
}

static int make_fixed(const char *path)
{
    axp__clock_set_test(read_fixed);
    axp_profiler *p = axp_profiler_create(&(axp_options){.title = "compat"});
    fs_everything(p, 40);
    if (axp_finish(p)) return 1;
    struct axp__capture *c = axp__capture_take(p);
    if (!c) return 1;
    c->process_id = 4711;
    for (size_t i = 0; i < c->n_rows; i++) {
        c->rows[i].process_id = 4711;
        c->rows[i].tid = 4711 + i;
    }
    struct axp__file_head head = {.version = AXP__FILE_VERSION,
                                  .run_id = "a run of axprof",
                                  .process_id = 4711,
                                  .rank = -1,
                                  .start_ticks = c->start_ticks,
                                  .clock = {1000000, 1000000, 1},
                                  .clock_source = 2};
    struct axp__to_write what = {.capture = c, .head = &head, .epoch = 1};
    axp_status status = axp__file_write(path, false, &what);
    if (status) fprintf(stderr, "make_trace: %s\n", axp_last_error());
    axp__capture_free(c);
    axp_profiler_destroy(p);
    return status ? 1 : 0;
}

/* Which of 300 stacks, all of other lengths, comes next is never the same. */
static void allocate(axp_profiler *p)
{
    void *frames[30];
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t which = ts_random(&rng) % 300;
        for (uint64_t k = 0; k < 30; k++)
            frames[k] = (void *)(uintptr_t)(0x400000 + which * 4096 + k * 64);
        axp_record_alloc_ex(p, &(axp_alloc){.name = "with a stack",
                                            .bytes = 64,
                                            .stack = frames,
                                            .n_frames = 1 + which % 30});
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--fixed")) return make_fixed(argv[2]);
    if (argc != 2) return 2;
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = argv[1]});
    if (!p) {
        fprintf(stderr, "make_trace: %s\n", axp_last_error());
        return 1;
    }
    fs_everything(p, 3000);
    allocate(p);
    return axp_finish(p) ? 1 : 0;
}
