/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was recorded of devices is the same from a file, a spool, a fold and
 * several files together; and a file may say anything of them. */
#include <signal.h>
#include <sys/wait.h>

#include "device_support.h"

#include "file/file_open.h"
#include "file/file_write.h"
#include "record/record_profiler.h"
#include "record/record_tape.h"
#include "view_dump.h"

/* ---- files ----------------------------------------------------------------------- */

static void expect_same(const axp_view *a, const axp_view *b)
{
    char *x = vd_dump(a, true), *y = vd_dump(b, true);
    assert_true(vd_same(x, y));
    free(x);
    free(y);
    for (int f = AXP_FORMAT_TEXT; f <= AXP_FORMAT_MARKDOWN; f++) {
        x = report_of(a, (axp_format)f);
        y = report_of(b, (axp_format)f);
        assert_string_equal(x, y);
        free(x);
        free(y);
    }
}

static void a_file_says_what_the_profiler_said(void **state)
{
    (void)state;
    const char *path = fs_path("a.axp"), *packed = fs_path("p.axp");
    axp_profiler *p = fs_record(path, (axp_options){.title = "run"});
    record_devices(p, 2000);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_view *live = ts_snapshot(p), *read = fs_open(path);
    expect_same(live, read);
    assert_int_equal(memory_of(read, "cuda:1").peak_bytes, 77);
    axp_view_destroy(read);
    fs_assert_sound(path);
    assert_int_equal(axp_file_pack(path, packed), AXP_OK);
    fs_assert_sound(packed);
    read = fs_open(packed);
    expect_same(live, read);
    axp_view_destroy(read);
    axp_view_destroy(live);
    axp_profiler_destroy(p);
}

/* The sums that a view of a killed process must have. */
static void expect_recovered(const char *path, unsigned rounds)
{
    axp_view *v = fs_open(path);
    uint64_t held = 0, host = 0;
    for (unsigned i = 0; i < rounds; i++) {
        held += i % 2 ? 0 : 1000 + i;
        host += 10 + i % 3;
    }
    axp_memory a = memory_of(v, "cuda:0"), b = memory_of(v, "cuda:1");
    assert_int_equal(axp_view_memory(v).current_bytes, host);
    assert_int_equal(axp_view_memory(v).peak_bytes, host);
    assert_int_equal(a.current_bytes, held);
    assert_true(a.peak_bytes >= held);
    assert_int_equal(a.n_allocs, rounds);
    assert_int_equal(b.current_bytes, 0);
    assert_int_equal(b.peak_bytes, 77);
    assert_int_equal(op_on(v, "matmul", NULL).calls, rounds);
    assert_int_equal(op_on(v, "matmul", "cuda:0").calls, rounds);
    assert_int_equal(op_on(v, "matmul", "cuda:0").category, AXP_CAT_BACKWARD);
    assert_int_equal(op_on(v, "copy", "cuda:1").calls, rounds);
    axp_track_info t[3];
    assert_int_equal(axp_view_tracks(v, t, 3), 2);
    for (int i = 0; i < 2; i++)
        if (!strcmp(t[i].name, "stream 2"))
            assert_int_equal(t[i].process_id, 4711);
        else
            assert_int_not_equal(t[i].process_id, 4711);
    axp_view_destroy(v);
}

static void record_and_die(const char *path, unsigned rounds, bool has_spool)
{
    pid_t pid = fork();
    if (!pid) {
        axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
        record_devices(p, rounds);
        axp_flush(p);
        if (!has_spool) unlink(axp__prof_of(p)->tape->spool_path);
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_kill_loses_nothing_of_devices(void **state)
{
    if (AXP_EMULATED) skip(); /* no threads in the child */
    (void)state;
    const char *path = fs_path("killed.axp"), *packed = fs_path("p.axp");
    record_and_die(path, 700, true);
    expect_recovered(path, 700);
    assert_int_equal(axp_file_pack(path, packed), AXP_OK);
    expect_recovered(packed, 700);
    fs_assert_sound(packed);
}

/* What is left without the spool is folded from the timeline. */
static void a_file_without_statistics_has_devices(void **state)
{
    if (AXP_EMULATED) skip(); /* no threads in the child */
    (void)state;
    const char *path = fs_path("killed.axp");
    record_and_die(path, 300, false);
    expect_recovered(path, 300);
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_warnings(v, "folded_again"), 1);
    axp_view_destroy(v);
}

/* ---- several files ------------------------------------------------------------------ */

static struct axp__cap_name (*true_name)(const struct axp__capture *c,
                                         uint32_t id);

static uint32_t numbers[2]; /* of two devices that change places */

static uint32_t swapped(uint32_t device)
{
    return device == numbers[0]   ? numbers[1]
           : device == numbers[1] ? numbers[0]
                                  : device;
}

static struct axp__cap_name swapped_name(const struct axp__capture *c,
                                         uint32_t id)
{
    struct axp__cap_name name = true_name(c, id);
    uint32_t device = swapped(axp__device_of(name.flags));
    name.flags &= ~AXP__DEVICE_FLAGS(0xff);
    name.flags |= AXP__DEVICE_FLAGS(device);
    return name;
}

static void write_as(
    const char *to, const struct axp__opened *o,
    struct axp__cap_name (*name_at)(const struct axp__capture *c, uint32_t id),
    bool is_stateless)
{
    struct axp__capture *c = o->capture;
    struct axp__to_write what = {.capture = c,
                                 .head = &o->file->head,
                                 .about = &o->about,
                                 .epoch = o->epoch,
                                 .is_stateless = is_stateless};
    true_name = c->name_at;
    c->name_at = name_at;
    assert_int_equal(axp__file_write(to, true, &what), AXP_OK);
    c->name_at = true_name;
}

/* The file as a process would have written it that met its devices in another
 * order. */
static void write_swapped(const char *path, const char *to)
{
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    struct axp__capture *c = o.capture;
    assert_int_equal(c->n_domains, 2);
    for (int i = 0; i < 2; i++)
        numbers[i] = c->domains[i].device;
    for (int i = 0; i < 2; i++)
        c->domains[i].device = swapped(c->domains[i].device);
    write_as(to, &o, swapped_name, false);
    c->release(c);
}

static void record_rank(const char *path, axp_ns begin)
{
    axp_profiler *p = fs_record(path, (axp_options){.title = "rank"});
    for (axp_ns i = 0; i < 2; i++) {
        axp_track *t = track_on(p, "s", i ? "joined:1" : "joined:0");
        axp_track_span(t, "matmul", begin, 100 + i * 1000, NULL);
        axp_track_alloc_at(t, "m", 1, begin + i, 1);
    }
    axp_start(p, "matmul");
    axp_stop(p, "matmul");
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
}

/* Devices are told by their names, whatever numbers their processes gave. */
static void joined_recordings_have_devices_in_common(void **state)
{
    (void)state;
    const char *paths[] = {fs_path("a.axp"), fs_path("b.axp")};
    const char *other = fs_path("other.axp");
    record_rank(paths[0], 10);
    record_rank(other, 30);
    write_swapped(other, paths[1]);
    fs_assert_sound(paths[1]);
    axp_view *v = NULL;
    assert_int_equal(axp_open(paths, 2, &v), AXP_OK);
    assert_int_equal(op_on(v, "matmul", NULL).calls, 2);
    assert_int_equal(op_on(v, "matmul", "joined:0").total_ns, 90 + 70);
    assert_int_equal(op_on(v, "matmul", "joined:1").total_ns, 1090 + 1070);
    assert_int_equal(memory_of(v, "joined:0").current_bytes, 10 + 30);
    assert_int_equal(memory_of(v, "joined:1").current_bytes, 11 + 31);
    assert_int_equal(name_on(v, "m", "joined:1").current_bytes, 11 + 31);
    assert_int_equal(axp_view_memory_domains(v, NULL, 0), 3);
    assert_int_equal(ts_view_warnings(v, "joined_peaks"), 2);
    axp_view_destroy(v);
}

/* ---- hostile files ------------------------------------------------------------------ */

static uint64_t seed;

/* Any device, any kind, for some names. */
static struct axp__cap_name bent_name(const struct axp__capture *c, uint32_t id)
{
    struct axp__cap_name name = true_name(c, id);
    uint64_t x = seed * 0x9e3779b97f4a7c15u + id * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    if (x % 3) return name;
    name.flags ^= (uint32_t)(x >> 32) & (x & 4 ? 0xffffff00 : 0x00ff0000);
    return name;
}

static void write_bent(const char *path, const char *to, bool is_stateless)
{
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    struct axp__capture *c = o.capture;
    for (size_t i = 0; i < c->n_domains; i++)
        c->domains[i].device = (uint32_t)(ts_random(&seed) % 300);
    write_as(to, &o, bent_name, is_stateless);
    c->release(c);
}

/* Whatever devices they say there are, reading them ends and harms nothing. */
static void any_device_may_be_in_a_file(void **state)
{
    (void)state;
    const char *path = fs_path("a.axp"), *bent = fs_path("bent.axp");
    const char *both[] = {fs_path("b.axp"), bent};
    size_t len;
    for (int i = 0; i < 2; i++) {
        axp_profiler *p = fs_record(i ? both[0] : path, (axp_options){0});
        record_devices(p, 100);
        assert_int_equal(axp_finish(p), AXP_OK);
        axp_profiler_destroy(p);
    }
    for (seed = 1; seed < (TS_SLOW ? 12 : 60); seed++) {
        axp_view *v = NULL;
        write_bent(path, bent, seed % 4 == 0);
        (void)fs_check(bent, NULL);
        for (size_t n = 1; n <= 2; n++) {
            assert_int_equal(axp_open(both + 2 - n, n, &v), AXP_OK);
            for (int f = AXP_FORMAT_TEXT; f <= AXP_FORMAT_HTML; f++)
                free(report_of(v, (axp_format)f));
            for (int f = 0; axp_export_format_name((axp_export_format)f, NULL);
                 f++)
                free(export_of(v, (axp_export_format)f, &len));
            axp_view_destroy(v);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(a_file_says_what_the_profiler_said),
        FS_TEST(a_kill_loses_nothing_of_devices),
        FS_TEST(a_file_without_statistics_has_devices),
        FS_TEST(joined_recordings_have_devices_in_common),
        FS_TEST(any_device_may_be_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
