/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples that somebody takes of a process from outside: beside a recording of
 * two threads whose scopes are known to the nanosecond, in any order, and each
 * finds the scopes that were open on its thread then. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/base_bytes.h"
#include "file_support.h"
#include "model/model_stream.h"
#include "sampling/sampling_file.h"
#include "wire/wire_block.h"
#include "wire/wire_samples.h"
#include "wire/wire_stack.h"

#define START 1000000000u
#define A_STEP 1000u /* ns */
#define STEPS 200u

/* Known to both sides: the recorder's thread ids. */
struct shared {
    uint64_t pid, main_tid, worker_tid, end;
};

static uint64_t own_tid(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

/* In each step: nothing for 100, "outer" for 800 with "inner" from 200 to 600
 * of it, then nothing. */
static void step(axp_profiler *p, const char *outer, const char *inner)
{
    ts_tick(100);
    axp_start(p, outer);
    ts_tick(200);
    axp_start(p, inner);
    ts_tick(400);
    axp_stop(p, inner);
    ts_tick(200);
    axp_stop(p, outer);
    ts_tick(100);
}

struct worker {
    axp_profiler *p;
    struct shared *to;
};

static void *work(void *arg)
{
    const struct worker *w = arg;
    w->to->worker_tid = own_tid();
    for (unsigned i = 0; i < STEPS; i++)
        step(w->p, "worker", "deep");
    return NULL;
}

/* The main thread first, then the worker, which ends; a scope stays open. */
static void record(const char *path, struct shared *to)
{
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
    if (!p) _exit(1);
    ts_tick(A_STEP);
    to->main_tid = own_tid();
    for (unsigned i = 0; i < STEPS; i++)
        step(p, "outer", "inner");
    ts_run(work, &(struct worker){p, to});
    axp_start(p, "open");
    ts_tick(A_STEP);
    axp_instant(p, "last");
    to->end = ts_read_fake();
    kill(getpid(), SIGKILL);
}

static struct shared record_and_die(const char *path)
{
    int status;
    struct shared *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (!child) record(path, at);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    struct shared s = *at;
    s.pid = (uint64_t)child;
    munmap(at, sizeof *at);
    return s;
}

/* ---- samples --------------------------------------------------------------------------- */

static void put(struct axp__sampled *to, uint64_t pid, uint64_t tid,
                uint64_t ticks)
{
    uint64_t frames[3] = {0x5000 + ticks % 7, 0x6000, tid};
    struct axp__sample s = {.ticks = ticks,
                            .pid = pid,
                            .tid = tid,
                            .weight = ticks % 11,
                            .kind = (uint32_t)(ticks % 2),
                            .frames = frames,
                            .n_frames = ticks % 13 ? 3 : 0};
    assert_true(axp__sampled_put(to, &s));
}

/* Every 37 ns, backwards, from before the first scope to after the last, on
 * both threads and one that recorded nothing. */
static uint64_t put_all(const char *path, const struct shared *s)
{
    struct axp__sampled *to = axp__sampled_create(path, "samples");
    if (!to) fail_msg("%s", axp_last_error());
    uint64_t n = 0;
    for (uint64_t t = s->end + 500; t > START - 500; t -= 37, n += 3) {
        put(to, s->pid, s->worker_tid, t);
        put(to, s->pid, s->main_tid, t);
        put(to, s->pid, 99999999, t);
        if (n % 30000 == 0) axp__sampled_flush(to, false);
    }
    if (axp__sampled_close(to)) fail_msg("%s", axp_last_error());
    return n;
}

/* A recording and samples of it, in one file. */
static uint64_t record_and_sample(const char *path, struct shared *s)
{
    const char *parts[] = {fs_path("process.axp"), fs_path("sampled.axp")};
    *s = record_and_die(parts[0]);
    uint64_t n = put_all(parts[1], s);
    axp_drain *d = axp_drain_open(parts[0]);
    if (!d || axp_drain_close(d, true)) fail_msg("%s", axp_last_error());
    if (axp_file_join(parts, 2, path, false)) fail_msg("%s", axp_last_error());
    unlink(parts[0]);
    unlink(parts[1]);
    return n;
}

struct truth {
    const axp_view *v;
    struct shared s, other; /* of the processes there are */
    uint64_t n, n_wrong, n_loose, last_ns, last_tid, last_pid;
};

/* What a thread was in, by the clock alone. */
static const char *scopes_at(const struct shared *s, uint64_t tid, uint64_t now)
{
    uint64_t main_from = START + A_STEP, worker_from = main_from + STEPS * 1000;
    uint64_t open_from = worker_from + STEPS * 1000;
    bool is_worker = tid == s->worker_tid;
    uint64_t from = is_worker ? worker_from : main_from;
    if (tid != s->main_tid && !is_worker) return "";
    if (!is_worker && now >= open_from)
        return "open"; /* it was seen, so it lived */
    if (now < from || now >= from + STEPS * 1000) return "";
    uint64_t in = (now - from) % 1000;
    if (in < 100 || in >= 900) return "";
    if (in < 300 || in >= 700) return is_worker ? "worker" : "outer";
    return is_worker ? "worker/deep" : "outer/inner";
}

static int compare(const axp_sample *x, void *ctx)
{
    struct truth *t = ctx;
    char path[128] = "";
    axp_frame f[4];
    for (size_t i = 0; i < x->n_scopes; i++) {
        strcat(path, i ? "/" : "");
        strcat(path, x->scopes[i]);
    }
    /* ticks are ns from START on; what was before has no time of its own */
    uint64_t now = x->time_ns + START;
    bool is_early = x->time_ns == 0;
    bool is_other = x->thread_id == t->other.main_tid ||
                    x->thread_id == t->other.worker_tid;
    t->n_wrong += strcmp(path, scopes_at(is_other ? &t->other : &t->s,
                                         x->thread_id, now)) != 0;
    size_t n = axp_view_stack(t->v, x->stack, f, 4);
    if (!is_early) {
        t->n_wrong += n != (now % 13 ? 3 : 0);
        t->n_wrong += n && f[0].offset != 0x5000 + now % 7;
        t->n_wrong += x->weight != now % 11 || x->kind != now % 2;
    }
    t->n_wrong += n && f[2].offset != x->thread_id;
    t->n_wrong += t->last_tid == x->thread_id && t->last_pid == x->process_id &&
                  x->time_ns < t->last_ns;
    t->n_loose += x->thread_id == 99999999;
    t->last_tid = x->thread_id;
    t->last_pid = x->process_id;
    t->last_ns = x->time_ns;
    t->n++;
    return 0;
}

static void assert_joined(const char *path, struct shared s, uint64_t n)
{
    axp_view *v = fs_open(path);
    struct truth t = {.v = v, .s = s};
    assert_int_equal(axp_view_sample_count(v), n);
    assert_int_equal(axp_view_samples(v, compare, &t), AXP_OK);
    assert_int_equal(t.n, n);
    assert_int_equal(t.n_loose, n / 3);
    assert_int_equal(t.n_wrong, 0);
    assert_int_equal(axp_view_damage(v), 0);
    axp_view_destroy(v);
}

static void samples_find_their_scopes(void **state)
{
    (void)state;
    struct shared s;
    uint64_t n = record_and_sample(fs_path("a.axp"), &s);
    assert_joined(fs_path("a.axp"), s, n);
    char *said;
    if (fs_check(fs_path("a.axp"), &said)) fail_msg("%s", said);
    free(said);
    assert_int_equal(axp_file_pack(fs_path("a.axp"), fs_path("b.axp")), AXP_OK);
    assert_joined(fs_path("b.axp"), s, n);
    FILE *to = open_memstream(&said, &(size_t){0});
    const char *paths[] = {fs_path("b.axp")};
    assert_int_equal(axp_file_info_write(paths, 1, to), AXP_OK);
    fclose(to);
    assert_non_null(strstr(said, "  samples   "));
    assert_non_null(strstr(said, "  stacks    "));
    free(said);
}

/* Among the records, too: also those that a thread has before its first word, by
 * which the graph knows what it did until then. */
static void samples_come_at_their_time(void **state)
{
    (void)state;
    struct shared s;
    uint64_t n = record_and_sample(fs_path("a.axp"), &s), n_found = 0;
    axp_view *v = fs_open(fs_path("a.axp"));
    struct axp__stream *stream = NULL;
    const struct axp__record *r;
    axp_ns last = 0;
    assert_int_equal(axp__stream_open(v, AXP__STREAM_SAMPLES, &stream), AXP_OK);
    while ((r = axp__stream_next(stream))) {
        assert_true(r->time_ns >= last);
        last = r->time_ns;
        if (r->kind != AXP__R_SAMPLE) continue;
        assert_int_equal(r->time_ns, r->begin_ns);
        n_found++;
    }
    assert_int_equal(n_found, n / 3 * 2); /* of threads that have words */
    axp__stream_close(stream);
    axp_view_destroy(v);
}

static int count(const axp_sample *x, void *ctx)
{
    (void)x;
    return ++*(uint64_t *)ctx == 1000;
}

static void reading_may_stop(void **state)
{
    (void)state;
    struct shared s;
    record_and_sample(fs_path("a.axp"), &s);
    axp_view *v = fs_open(fs_path("a.axp"));
    uint64_t n = 0;
    assert_int_equal(axp_view_samples(v, count, &n), AXP_OK);
    assert_int_equal(n, 1000);
    assert_int_equal(axp_view_samples(v, NULL, NULL), AXP_E_INVALID);
    assert_int_equal(axp_view_samples(NULL, count, &n), AXP_E_INVALID);
    axp_view_destroy(v);
}

/* Stacks and threads of two processes with the same ids. */
static void samples_of_processes_are_kept_apart(void **state)
{
    (void)state;
    struct shared a, b;
    uint64_t n = record_and_sample(fs_path("a.axp"), &a);
    assert_int_equal(record_and_sample(fs_path("b.axp"), &b), n);
    const char *paths[] = {fs_path("a.axp"), fs_path("b.axp")};
    assert_int_equal(axp_file_join(paths, 2, fs_path("c.axp"), false), AXP_OK);
    axp_view *v = fs_open(fs_path("c.axp"));
    struct truth t = {.v = v, .s = a, .other = b};
    assert_int_equal(axp_view_sample_count(v), 2 * n);
    assert_int_equal(axp_view_samples(v, compare, &t), AXP_OK);
    assert_int_equal(t.n, 2 * n);
    assert_int_equal(t.n_wrong, 0);
    axp_view_destroy(v);
}

/* ---- damage -------------------------------------------------------------------------------- */

static uint8_t *find_samples(uint8_t *bytes, size_t len)
{
    struct axp__block b;
    for (size_t at = AXP__FILE_HEAD; at + AXP__BLOCK_HEAD <= len;
         at += axp__block_span(&b)) {
        if (axp__block_get(bytes + at, &b)) return NULL;
        if (b.kind == AXP__B_SAMPLES) return bytes + at;
    }
    return NULL;
}

/* Bytes of the body changed one by one, and what the head claims. */
static void what_samples_claim_is_not_believed(void **state)
{
    (void)state;
    struct shared s = record_and_die(fs_path("process.axp"));
    put_all(fs_path("a.axp"), &s);
    size_t len;
    uint8_t *bytes = fs_read(fs_path("a.axp"), &len);
    uint8_t *head = find_samples(bytes, len);
    struct axp__block sound;
    uint64_t rng = 5;
    assert_non_null(head);
    assert_int_equal(axp__block_get(head, &sound), AXP__BLOCK_OK);
    uint8_t *body = head + AXP__BLOCK_HEAD;
    for (unsigned i = 0; i < (TS_SLOW ? 40 : 300); i++) {
        static const uint32_t claims[] = {0, 1, 65536, 65537, UINT32_MAX};
        struct axp__block b = sound;
        size_t at = i < 100 ? i : ts_random(&rng) % b.body_bytes;
        uint8_t before = body[at];
        if (i % 7 == 0) b.n = claims[i / 7 % 5];
        body[at] ^= (uint8_t)(1 + ts_random(&rng) % 255);
        b.body_crc = axp__crc32c(0, body, (size_t)b.body_bytes);
        axp__block_put(head, &b);
        fs_write(fs_path("b.axp"), bytes, len - AXP__FILE_TAIL);
        body[at] = before;
        axp_view *v = fs_open(fs_path("b.axp"));
        uint64_t n = 0;
        assert_int_equal(axp_view_samples(v, count, &n), AXP_OK);
        axp_view_destroy(v);
        fs_check(fs_path("b.axp"), NULL);
    }
    free(bytes);
}

int main(void)
{
    ts_set_clock(START);
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        FS_TEST(samples_find_their_scopes),
        FS_TEST(samples_come_at_their_time),
        FS_TEST(reading_may_stop),
        FS_TEST(samples_of_processes_are_kept_apart),
        FS_TEST(what_samples_claim_is_not_believed),
    };
    return TS_RUN(tests);
}
