/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace files of any bytes: opened, looked at, checked, packed. Nothing may
 * crash, hang, or ask for memory out of proportion.
 *
 * The first byte says how the rest is taken:
 *   0  a file as it is
 *   1  a file whose checksums are made right first, so that what lies behind
 *      them is reached
 *   2  the same, and packed
 *   3  the body of a PACK
 *   4  the body of a STATE
 *
 * Built by clang with -fsanitize=fuzzer it searches; else fuzz_run.c feeds it
 * the corpus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"
#include "file/file_fold.h"
#include "file/file_image.h"
#include "file/file_pack.h"
#include "fuzz_cost.h"
#include "fuzz_repair.h"
#include "model/model_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES 65536u
#define MOST_EVENTS 20000u

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
    return l->n > MOST_EVENTS;
}

static int stop_samples(const axp_sample *s, void *ctx)
{
    struct looks *l = ctx;
    axp_frame frames[8];
    (void)axp_view_stack(l->v, s->stack, frames, 8);
    for (size_t i = 0; i < s->n_scopes; i++)
        l->n += s->scopes[i] != NULL;
    return ++l->n > MOST_EVENTS;
}

static void look_at(axp_view *v)
{
    struct looks n = {.v = v}, samples = {.v = v};
    axp_op op;
    axp_view_ops(v, AXP_BY_TIME, &op, 1);
    axp_view_events(v, NULL, stop_after, &n);
    axp_view_samples(v, stop_samples, &samples);
    (void)axp_view_span(v, "forward");
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere) {
        axp_report_write(v, AXP_FORMAT_JSON, nowhere);
        fclose(nowhere);
    }
}

static void try_file(const uint8_t *bytes, size_t size, bool is_packed)
{
    static int fd = -1;
    char path[64];
    const char *list = path;
    axp_view *v = NULL;
    if (fd < 0) fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) ||
        pwrite(fd, bytes, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (axp_open(&list, 1, &v) == AXP_OK) {
        look_at(v);
        axp_view_destroy(v);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere) {
        (void)axp_file_check(path, nowhere);
        (void)axp_file_info_write(&list, 1, nowhere);
        fclose(nowhere);
    }
    if (!is_packed) return;
    char out[64];
    list = out;
    snprintf(out, sizeof out, "/dev/shm/axp-fuzz-%d", (int)getpid());
    if (axp_file_pack(path, out) == AXP_OK) {
        if (axp_open(&list, 1, &v)) abort(); /* what pack makes can be read */
        axp_view_destroy(v);
    }
    unlink(out);
}

static void try_pack(const uint8_t *bytes, size_t size)
{
    struct axp__unpacked u;
    if (size < 12) return;
    struct axp__block head = {.kind = AXP__B_PACK,
                              .n = 1 + bytes[0] % AXP__PACK_CHUNKS,
                              .n_words = axp__get_u32(bytes + 1) % (64 * 1024),
                              .base_ticks = axp__get_u32(bytes + 5),
                              .n_events = bytes[9],
                              .body_bytes = size - 12};
    (void)axp__file_unpack(&head, bytes + 12, &u);
    axp__unpacked_fini(&u);
}

static struct axp__cap_name some_name(const struct axp__capture *c, uint32_t id)
{
    (void)c;
    return (struct axp__cap_name){.text = id % 2 ? "odd" : "even"};
}

static void try_image(const uint8_t *bytes, size_t size)
{
    struct axp__capture empty = {0}, *c = axp__cap_take(&empty, 1, sizeof *c);
    if (!c) return;
    *c =
        (struct axp__capture){.memory = empty.memory, .release = axp__cap_free};
    struct axp__bytes body = {bytes, bytes + size, false};
    if (axp__image_read(c, body) != AXP__IMAGE_OK) {
        axp__cap_free(c);
        return;
    }
    c->title = "";
    c->name_at = some_name;
    axp_view *v = axp__view_make(c);
    if (v) look_at(v);
    axp_view_destroy(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MOST_BYTES) return 0;
    uint8_t *bytes = malloc(size);
    if (!bytes) return 0;
    struct fuzz_cost cost = fuzz_cost_begin();
    memcpy(bytes, data + 1, size - 1);
    switch (data[0] % 5) {
    case 0: try_file(bytes, size - 1, false); break;
    case 1:
    case 2:
        fuzz_repair(bytes, size - 1);
        try_file(bytes, size - 1, data[0] % 5 == 2);
        break;
    case 3: try_pack(bytes, size - 1); break;
    default: try_image(bytes, size - 1); break;
    }
    fuzz_cost_end(&cost, size);
    free(bytes);
    return 0;
}
