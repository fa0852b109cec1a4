/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_save: what a profiler holds in memory, as a recording.
 *
 *   profiler ─► capture ─► file_write.c
 *
 * The way for one that records without a file, since none was wanted, or since
 * there was no place for its spool, which takes much more than the recording.
 *
 * Input      a live profiler; its threads may go on.
 * Failure    nothing is left, and the profiler is as it was.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "axprof/axprof_file.h"
#include "file/file_write.h"
#include "os/os_about.h"
#include "os/os_clock.h"
#include "os/os_namespace.h"
#include "record/record_capture.h"
#include "record/record_head.h"
#include "record/record_thread.h"

struct saved {
    struct axp__about about;
    bool is_out_of_memory;
};

static bool tell(void *ctx, const char *key, const char *value, size_t len)
{
    struct saved *s = ctx;
    struct axp__about *a = &s->about;
    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 32;
        void *wider = realloc(a->pair, cap * sizeof *a->pair);
        s->is_out_of_memory |= !wider;
        if (!wider) return false;
        a->pair = wider;
        a->cap = cap;
    }
    struct axp__about_pair pair = {strdup(key), strndup(value, len), len};
    s->is_out_of_memory |= !pair.key || !pair.value;
    a->pair[a->n++] = pair;
    return !s->is_out_of_memory;
}

static void tell_text(struct saved *s, const char *key, const char *text)
{
    if (text) tell(s, key, text, strlen(text));
}

static void tell_number(struct saved *s, const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    if (number) tell_text(s, key, text);
}

/* By which a reader knows a recording that it is given twice. */
static void tell_id(struct saved *s)
{
    char id[33];
    uint64_t random[2] = {axp__clock_now(), (uintptr_t)s};
    (void)!getrandom(random, sizeof random, GRND_NONBLOCK);
    snprintf(id, sizeof id, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    tell_text(s, "id", id);
}

static void tell_all(struct saved *s, const struct axp__capture *c)
{
    tell_text(s, "title", c->title);
    tell_id(s);
    tell_number(s, "clock.mult", c->rate_mult);
    tell_number(s, "own_cost_ticks", c->own_cost.around_ticks);
    tell_number(s, "own_inside_ticks", c->own_cost.inside_ticks);
    tell_number(s, "own_alloc_ticks", c->own_cost.alloc_ticks);
    tell_number(s, "options.timeline_capacity", c->timeline_capacity);
    tell_number(s, "process_id", c->process_id);
    tell_number(s, "pid_namespace", axp__pid_namespace(0));
    tell_text(s, "program", c->about.program);
    tell_text(s, "arguments", c->about.arguments);
    tell_text(s, "host", c->about.host);
    tell_text(s, "cpu", c->about.cpu);
    tell_number(s, "memory.bytes", c->about.memory_bytes);
    tell_number(s, "cpus.allowed", c->about.n_cpus);
    tell_number(s, "limit.address_space_bytes", c->about.address_limit_bytes);
    axp__about_maps(tell, s);
}

static void forget(struct saved *s)
{
    for (size_t i = 0; i < s->about.n; i++) {
        free((char *)s->about.pair[i].key);
        free((char *)s->about.pair[i].value);
    }
    free(s->about.pair);
}

static axp_status save(const struct axp__capture *c, const char *path)
{
    struct saved s = {.is_out_of_memory = false};
    struct axp__file_head head = {.process_id = c->process_id,
                                  .incarnation = 1,
                                  .rank = c->rank,
                                  .start_ticks = c->start_ticks};
    axp__head_run_id(head.run_id);
    axp__head_clock(&head);
    head.clock.ticks = c->clock.ticks;
    head.clock.monotonic_ns = c->clock.monotonic_ns;
    head.clock.realtime_ns = c->clock.realtime_ns;
    tell_all(&s, c);
    axp_status status = AXP_E_NO_MEMORY;
    if (!s.is_out_of_memory)
        status = axp__file_write(
            path, false,
            &(struct axp__to_write){
                .capture = c, .head = &head, .about = &s.about, .epoch = 1});
    else
        axp__fail(status, "no memory to write %s", path);
    forget(&s);
    return status;
}

axp_status axp_file_save(axp_profiler *p, const char *path)
{
    if (!p || !path)
        return axp__fail(AXP_E_INVALID, "axp_file_save needs a profiler and a "
                                        "path for the file that it makes");
    struct axp__capture *c = axp__capture_take(p);
    if (!c) return AXP_E_STATE; /* or no memory: it has said so */
    axp_status status = save(c, path);
    c->release(c);
    return status;
}
