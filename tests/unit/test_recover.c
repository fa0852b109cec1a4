/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A spool read from outside: it says what the profiler itself says, and
 * whatever is done to its bytes, reading it ends and harms nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/file_recount.h"
#include "model/model_view.h"
#include "os/os_space.h"
#include "record/record_profiler.h"
#include "outside/outside_recover.h"
#include "record/record_spool.h"
#include "record/record_tape.h"
#include "test_support.h"

static char path[] = "/tmp/axprof-recover-XXXXXX";
static unsigned n_seeks;

/* libc's, counted. */
off_t lseek(int fd, off_t at, int whence)
{
    n_seeks++;
    return syscall(SYS_lseek, fd, at, whence);
}
static axp_profiler *prof;

/* The spool's bytes as they are now. */
struct bytes {
    char *at;
    size_t len;
};

/* As aligned as the struct that it begins with. */
static void *alloc_spool(size_t len)
{
    size_t align = _Alignof(struct axp__space);
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static struct bytes read_spool(void)
{
    size_t used = axp__get(&axp__prof_of(prof)->budget.space->end_bytes);
    int fd = open(axp__prof_of(prof)->tape->spool_path, O_RDONLY);
    assert_true(fd >= 0);
    struct bytes b = {alloc_spool(used), used}; /* all that is in it */
    assert_int_equal(pread(fd, b.at, b.len, 0), b.len);
    close(fd);
    return b;
}

static int file_of(struct bytes b)
{
    int fd = memfd_create("spool", MFD_CLOEXEC);
    assert_int_equal(write(fd, b.at, b.len), b.len);
    return fd;
}

static void *a_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 300; i++) {
        AXP_SCOPE_IN(prof, "thread");
        axp_add_work(prof, (axp_work){.flops = 10, .bytes = 20});
    }
    return NULL;
}

static void deep(unsigned n)
{
    AXP_SCOPE_IN(prof, "deep");
    if (n) deep(n - 1);
}

static int record(void **state)
{
    (void)state;
    prof = axp_profiler_create(
        &(axp_options){.path = path, .title = "run", .flags = AXP_OVERWRITE});
    if (!prof) return -1;
    for (int i = 0; i < 3; i++) {
        pthread_t t = ts_spawn(a_thread, NULL);
        ts_join(t);
    }
    for (int i = 0; i < 200; i++) {
        char name[24];
        snprintf(name, sizeof name, "name %d", i);
        axp_start(prof, name);
        axp_record_alloc(prof, name, 100);
        void *frames[3] = {(void *)0x1000, (void *)(0x2000 + (uintptr_t)i),
                           (void *)0x3000};
        axp_record_alloc_ex(prof, &(axp_alloc){.name = name,
                                               .bytes = 10,
                                               .stack = frames,
                                               .n_frames = 3});
        axp_counter(prof, "loss", i);
        axp_stop(prof, name);
        axp_step(prof);
    }
    deep(100);
    /* The drain finds out the constants in its own time. */
    struct axp__space *s = axp__prof_of(prof)->budget.space;
    while (!__atomic_load_n(&s->root[AXP__ROOT_RATE], __ATOMIC_ACQUIRE))
        ts_sleep_ms(1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    axp_profiler_destroy(prof);
    unlink(path);
    return 0;
}

/* ---- the same as the live one ------------------------------------------------------- */

static void expect_same_ops(const axp_view *a, const axp_view *b)
{
    axp_op x[256], y[256];
    size_t n = axp_view_ops(a, AXP_BY_SELF, x, 256);
    assert_true(n <= 256);
    assert_int_equal(axp_view_ops(b, AXP_BY_SELF, y, 256), n);
    for (size_t i = 0; i < n; i++) {
        axp_op other = ts_view_op(b, x[i].name);
        assert_int_equal(other.calls, x[i].calls);
        assert_int_equal(other.total_ns, x[i].total_ns);
        assert_int_equal(other.self_ns, x[i].self_ns);
        assert_int_equal(other.p99_ns, x[i].p99_ns);
        assert_true(other.flops == x[i].flops);
    }
}

static int count_event(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return 0;
}

static void it_says_what_the_profiler_says(void **state)
{
    (void)state;
    struct axp__recovered r;
    struct bytes b = read_spool();
    axp_view *live = ts_snapshot(prof);
    assert_int_equal(axp__spool_recover(file_of(b), &r), AXP_OK);
    axp_view *dead = axp__view_make(r.capture);
    assert_non_null(dead);
    expect_same_ops(live, dead);
    assert_int_equal(axp_view_event_count(dead), axp_view_event_count(live));
    uint64_t n = 0;
    axp_view_events(dead, NULL, count_event, &n);
    assert_int_equal(n, axp_view_event_count(live));
    assert_int_equal(axp_view_cut_count(dead), 0);
    axp_memory m = axp_view_memory(dead), l = axp_view_memory(live);
    assert_memory_equal(&m, &l, sizeof m);
    axp_memory_name names[256], others[256];
    size_t k = axp_view_memory_names(live, names, 256);
    assert_int_equal(axp_view_memory_names(dead, others, 256), k);
    for (size_t i = 0; i < k; i++) {
        assert_string_equal(names[i].name, others[i].name);
        assert_int_equal(names[i].at_peak_bytes, others[i].at_peak_bytes);
        assert_int_equal(names[i].peak_bytes, others[i].peak_bytes);
    }
    assert_int_equal(axp_view_steps(dead).count, 200);
    assert_int_equal(axp_view_steps(dead).p50_ns, axp_view_steps(live).p50_ns);
    assert_int_equal(axp_view_tree(dead, NULL, 0),
                     axp_view_tree(live, NULL, 0));
    assert_int_equal(axp_view_threads(dead, NULL, 0), 4);
    axp_view_destroy(dead);
    axp_view_destroy(live);
    free(b.at);
}

/* In no timeline, from which the rest is counted again. */
static void what_recording_took_is_kept(void **state)
{
    (void)state;
    struct axp__recovered r;
    axp__count_cost(prof, "test", 1e9);
    struct bytes b = read_spool();
    assert_int_equal(axp__spool_recover(file_of(b), &r), AXP_OK);
    free(b.at);
    assert_int_equal(axp__recount(&r), AXP_OK);
    axp_view *v = axp__view_make(r.capture);
    axp_ns took = 0;
    for (size_t i = 0; i < r.capture->n_lanes; i++)
        took += axp__lane_beside_ns(v, &r.capture->lanes[i]);
    assert_true(took >= 1000000000);
    axp_view_destroy(v);
}

enum { MANY = 20000 };

static void *many_names(void *is_freed)
{
    for (int i = 0; i < MANY; i++) {
        char name[24];
        snprintf(name, sizeof name, "one of many %d", i);
        axp_record_alloc(prof, name, 64);
        if (is_freed) axp_record_free(prof, name, 64);
    }
    return NULL;
}

/* On two threads, so that peaks are those that the spool knows. */
static void names_of_memory_may_be_many(void **state)
{
    (void)state;
    struct axp__recovered r;
    for (int i = 0; i < 2; i++)
        ts_join(ts_spawn(many_names, i ? &r : NULL));
    struct bytes b = read_spool();
    assert_int_equal(axp__spool_recover(file_of(b), &r), AXP_OK);
    free(b.at);
    assert_int_equal(axp__recount(&r), AXP_OK);
    size_t n = 0;
    for (size_t i = 0; i < r.capture->n_live; i++) {
        const struct axp__cap_live *live = &r.capture->live[i];
        const char *name = r.capture->name_at(r.capture, live->name).text;
        if (strncmp(name, "one of many ", 12) != 0) continue;
        n++;
        assert_int_equal(live->current_bytes, 64);
        assert_int_equal(live->peak_bytes, 128);
    }
    assert_int_equal(n, MANY);
    axp_view_destroy(axp__view_make(r.capture));
}

static void open_scopes_are_there(void **state)
{
    (void)state;
    struct axp__recovered r;
    axp_start(prof, "running");
    axp_start(prof, "inside");
    struct bytes b = read_spool();
    axp_stop(prof, "inside");
    axp_stop(prof, "running");
    assert_int_equal(axp__spool_recover(file_of(b), &r), AXP_OK);
    axp_view *v = axp__view_make(r.capture);
    assert_int_equal(ts_view_op(v, "running").calls, 1);
    assert_int_equal(ts_view_op(v, "inside").calls, 1);
    assert_int_equal(ts_view_warnings(v, "open_scopes"), 2);
    axp_view_destroy(v);
    free(b.at);
}

/* ---- hostile ---------------------------------------------------------------------------- */

static void look_at_all(struct axp__capture *c)
{
    uint64_t n = 0;
    axp_view *v = axp__view_make(c);
    if (!v) return;
    axp_view_events(v, NULL, count_event, &n);
    axp_view_destroy(v);
}

/* Some words become others: small, large, addresses of the spool. */
static void spoil(struct bytes b, uint64_t *seed)
{
    unsigned n = 1 + (unsigned)(ts_random(seed) % 12);
    const struct axp__space *s = (const struct axp__space *)(void *)b.at;
    while (n--) {
        const struct axp__extent *e = &s->extent[ts_random(seed) % 16];
        size_t range = ts_random(seed) % 2 ? 8192 : b.len;
        size_t at = e->offset < b.len ? e->offset : 0;
        at = (at + ts_random(seed) % range) % (b.len - 8);
        uint64_t x = ts_random(seed);
        switch (x % 5) {
        case 0: x = ts_random(seed) % 256; break;
        case 1: x = ts_random(seed); break;
        case 2: x = UINT64_MAX; break;
        case 3: x = e->address + ts_random(seed) % 65536; break;
        default: memcpy(&x, b.at + at / 2, 8); /* another word of it */
        }
        memcpy(b.at + (at & ~(size_t)7), &x, 8);
    }
}

static void spoiled_spools_are_read_or_refused(void **state)
{
    (void)state;
    struct bytes whole = read_spool();
    struct bytes b = {alloc_spool(whole.len), whole.len};
    uint64_t seed = 12345;
    int n_read = 0;
    for (int i = 0; i < (TS_SLOW ? 300 : 1000); i++) {
        struct axp__recovered r;
        memcpy(b.at, whole.at, whole.len);
        spoil(b, &seed);
        if (axp__spool_recover(file_of(b), &r)) continue;
        n_read++;
        look_at_all(r.capture);
    }
    assert_true(n_read > 100); /* the spoiling is not too coarse */
    free(b.at);
    free(whole.at);
}

static void shortened_spools_too(void **state)
{
    (void)state;
    struct bytes whole = read_spool();
    for (size_t len = 0; len < whole.len;
         len += len < 65536 ? 4096 : whole.len / 97) {
        struct axp__recovered r;
        struct bytes b = {whole.at, len};
        if (!axp__spool_recover(file_of(b), &r)) look_at_all(r.capture);
    }
    free(whole.at);
}

/* Whatever lies in an extent has the alignment it had in its process. */
static void extents_begin_with_pages(void **state)
{
    (void)state;
    struct bytes b = read_spool();
    struct axp__space *s = (struct axp__space *)(void *)b.at;
    for (uint32_t i = 1; i < s->n_extents && i < 64; i++) {
        struct axp__extent saved = s->extent[i];
        for (uint64_t off = 1; off <= 2048; off *= 2) {
            struct axp__recovered r;
            s->extent[i].address = saved.address + off;
            axp_status status = axp__spool_recover(file_of(b), &r);
            if (!status) look_at_all(r.capture);
            if (saved.kind == AXP__EXTENT_SLOT)
                assert_int_equal(status, AXP_E_FORMAT);
        }
        s->extent[i] = saved;
    }
    free(b.at);
}

/* Reads the spool in a process of its own; its memory at most, in bytes. */
static uint64_t memory_to_read(int fd)
{
    struct rusage use;
    int status;
    pid_t pid = fork();
    if (!pid) {
        struct axp__recovered r;
        if (!axp__spool_recover(fd, &r)) look_at_all(r.capture);
        _exit(0);
    }
    close(fd);
    assert_int_equal(wait4(pid, &status, 0, &use), pid);
    assert_int_equal(status, 0);
    return (uint64_t)use.ru_maxrss * 1024;
}

/* A spool is as long as it may grow and backed as it does: what it claims and
 * has not costs nothing, in however many extents. */
static void holes_take_no_memory(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    struct bytes b = read_spool();
    struct axp__space *s = (struct axp__space *)(void *)b.at;
    const uint64_t far = (uint64_t)1 << 40, long_one = (uint64_t)3 << 30;
    const uint64_t end = (b.len + 4095) / 4096 * 4096;
    int fd = file_of(b);
    uint64_t before = memory_to_read(dup(fd));
    uint32_t n = s->n_extents;
    for (uint32_t i = 0; i < 2; i++)
        s->extent[n + i] =
            (struct axp__extent){far + i * long_one, end, long_one,
                                 i ? AXP__EXTENT_CHUNKS : AXP__EXTENT_NAMES, 0};
    s->n_extents = n + 2;
    s->root[AXP__ROOT_NAMES] = far;
    assert_int_equal(pwrite(fd, b.at, b.len, 0), b.len);
    assert_int_equal(ftruncate(fd, (off_t)(end + long_one)), 0);
    uint64_t after = memory_to_read(fd);
    if (after > before + ((uint64_t)64 << 20))
        fail_msg("%llu bytes instead of %llu", (unsigned long long)after,
                 (unsigned long long)before);
    free(b.at);
}

/* The same pages claimed by every extent there can be. What a child inherits in
 * a register alone valgrind calls lost. */
static void one_place_is_read_once(void **state)
{
    static char *volatile kept;
    if (AXP_EMULATED) skip();
    (void)state;
    struct bytes b = read_spool();
    kept = b.at;
    (void)kept;
    struct axp__space *s = (struct axp__space *)(void *)b.at;
    int fd = file_of(b);
    uint64_t before = memory_to_read(dup(fd));
    uint32_t n = s->n_extents;
    for (uint32_t i = n; i < AXP__SPACE_EXTENTS; i++)
        s->extent[i] = (struct axp__extent){
            ((uint64_t)i << 32), 0, b.len / 4096 * 4096, AXP__EXTENT_CHUNKS, 0};
    s->n_extents = AXP__SPACE_EXTENTS;
    assert_int_equal(pwrite(fd, b.at, b.len, 0), b.len);
    uint64_t after = memory_to_read(fd);
    assert_true(after < before + 8 * b.len + ((uint64_t)64 << 20));
    free(b.at);
}

/* Scopes until so many chunks are there that wait to be written: a writer that has a
 * processor of its own may be about as fast. */
static struct bytes many_chunks(size_t n_least, size_t *n_chunks)
{
    for (int tries = 100;; tries--) {
        struct axp__recovered r;
        for (int i = 0; i < 600000; i++) {
            AXP_SCOPE_IN(prof, "many");
        }
        struct bytes b = read_spool();
        n_seeks = 0;
        assert_int_equal(axp__spool_recover(file_of(b), &r), AXP_OK);
        *n_chunks = r.capture->n_chunks;
        look_at_all(r.capture);
        if (*n_chunks >= n_least || !tries) return b;
        free(b.at);
    }
}

/* Asking where a hole begins may take the kernel a look at every page up to it:
 * once a chunk, a recording of 20 million scopes took 40 s to be opened. */
static void holes_are_asked_for_seldom(void **state)
{
    if (AXP_EMULATED) skip(); /* so slow that most chunks are written before */
    (void)state;
    size_t n_chunks;
    struct bytes b = many_chunks(50, &n_chunks); /* without any hole */
    uint32_t n_extents = ((struct axp__space *)(void *)b.at)->n_extents;
    if (n_chunks < 50 || n_seeks > 4 * n_extents)
        fail_msg("%u seeks for %zu chunks in %u extents", n_seeks, n_chunks,
                 n_extents);
    free(b.at);
}

static void *complete_soon(void *space)
{
    ts_sleep_ms(30);
    axp__put_release(&((struct axp__space *)space)->is_complete, 1);
    return NULL;
}

/* Whoever reads a run while one of its processes begins. */
static void one_that_begins_is_waited_for(void **state)
{
    (void)state;
    struct axp__space *s = axp__prof_of(prof)->budget.space;
    axp_view *v = NULL;
    axp_warning warnings[32];
    axp__put(&s->is_complete, 0);
    pthread_t t = ts_spawn(complete_soon, s);
    assert_int_equal(axp_open(&(const char *){path}, 1, &v), AXP_OK);
    ts_join(t);
    size_t n = axp_view_warnings(v, warnings, 32);
    for (size_t i = 0; i < n; i++)
        assert_string_not_equal(warnings[i].code, AXP__CODE_NO_END);
    assert_true(axp_view_ops(v, AXP_BY_TIME, NULL, 0) > 200);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_the_profiler_says),
        cmocka_unit_test(what_recording_took_is_kept),
        cmocka_unit_test(open_scopes_are_there),
        cmocka_unit_test(spoiled_spools_are_read_or_refused),
        cmocka_unit_test(shortened_spools_too),
        cmocka_unit_test(extents_begin_with_pages),
        cmocka_unit_test(holes_take_no_memory),
        cmocka_unit_test(one_place_is_read_once),
        cmocka_unit_test(names_of_memory_may_be_many),
        cmocka_unit_test(one_that_begins_is_waited_for),
        cmocka_unit_test(holes_are_asked_for_seldom),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    return cmocka_run_group_tests(tests, record, stop);
}
