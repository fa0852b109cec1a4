/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spools with some of their words changed: recovered, looked at. Nothing may
 * crash, hang, or ask for memory out of proportion.
 *
 * A spool is megabytes, and its layout that of this version: so one is recorded
 * here, and an input is what is changed of it, 12 bytes each time: which word
 * (4 bytes, modulo their number), and its new value.
 *
 * Built by clang with -fsanitize=fuzzer it searches; else fuzz_run.c feeds it
 * the corpus.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "axprof/axprof_read.h"
#include "base/base_bytes.h"
#include "fuzz_cost.h"
#include "model/model_view.h"
#include "os/os_space.h"
#include "outside/outside_recover.h"
#include "record/record_profiler.h"
#include "record/record_tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_CHANGES 64u

static uint8_t *spool;
static size_t n_bytes;

static void record(axp_profiler *p)
{
    for (int i = 0; i < 50; i++) {
        char name[24];
        snprintf(name, sizeof name, "name %d", i % 10);
        AXP_SCOPE_IN(p, "outer");
        axp_start(p, name);
        axp_record_alloc(p, name, 100);
        void *frames[3] = {(void *)0x1000, (void *)(0x2000 + (uintptr_t)i),
                           (void *)0x3000};
        axp_record_alloc_ex(
            p, &(axp_alloc){
                   .name = "m", .bytes = 10, .stack = frames, .n_frames = 3});
        axp_counter(p, "loss", i);
        axp_stop(p, name);
        axp_step(p);
    }
    axp_start(p, "open");
}

static void make_spool(void)
{
    char path[] = "/tmp/axprof-fuzz-XXXXXX";
    int fd = mkstemp(path);
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = path, .flags = AXP_OVERWRITE});
    if (fd < 0 || !p) abort();
    close(fd);
    record(p);
    struct axp__prof *prof = axp__prof_of(p);
    n_bytes = prof->budget.space->end_bytes & ~(size_t)7;
    spool = malloc(n_bytes);
    fd = open(prof->tape->spool_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !spool || pread(fd, spool, n_bytes, 0) != (ssize_t)n_bytes)
        abort();
    close(fd);
    axp_profiler_destroy(p);
    unlink(path);
}

struct looks {
    const axp_view *v;
    size_t n;
};

static int stop_after(const axp_event_info *e, void *ctx)
{
    struct looks *l = ctx;
    axp_frame frames[8];
    l->n += e->name != NULL;
    if (e->stack) (void)axp_view_stack(l->v, e->stack, frames, 8);
    return l->n > 20000;
}

static void look_at(int fd)
{
    struct axp__recovered r;
    if (axp__spool_recover(fd, &r)) return;
    axp_view *v = axp__view_make(r.capture);
    struct looks n = {.v = v};
    FILE *nowhere = fopen("/dev/null", "w");
    if (v) axp_view_events(v, NULL, stop_after, &n);
    if (v && nowhere) axp_report_write(v, AXP_FORMAT_JSON, nowhere);
    if (nowhere) fclose(nowhere);
    axp_view_destroy(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!spool) make_spool();
    struct fuzz_cost cost = fuzz_cost_begin();
    int fd = memfd_create("spool", MFD_CLOEXEC);
    if (fd < 0 || write(fd, spool, n_bytes) != (ssize_t)n_bytes) abort();
    for (size_t i = 0; i + 12 <= size && i < 12 * MOST_CHANGES; i += 12) {
        uint64_t word = axp__get_u32(data + i) % (n_bytes / 8);
        if (pwrite(fd, data + i + 4, 8, (off_t)(8 * word)) != 8) abort();
    }
    look_at(fd);
    fuzz_cost_end(&cost, n_bytes);
    return 0;
}
