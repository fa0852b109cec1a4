/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* After finish, everything that a view can give is the same, to the byte, from
 * the live profiler and from its file: whole, cut, packed once more, without
 * its index. And what was folded again is what was counted. */
#include "file_support.h"

#include "axprof/axprof_adapter.h"
#include "axprof/axprof_file.h"
#include "view_dump.h"

static void assert_same(axp_profiler *p, const char *path)
{
    axp_view *live = ts_snapshot(p), *file = fs_open(path);
    char *a = vd_dump(live, true), *b = vd_dump(file, true);
    assert_true(strlen(a) > 2000);
    assert_true(vd_same(a, b));
    free(a);
    free(b);
    axp_view_destroy(live);
    axp_view_destroy(file);
}

static void a_file_gives_the_live_view(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){.title = "identity"});
    fs_everything(p, 50);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    axp_profiler_destroy(p);
}

/* Much longer than a chunk, so that there are several blocks. */
static void a_long_file_too(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    fs_everything(p, TS_SLOW ? 400 : 2000);
    axp_flush(p); /* leaves copies that are replaced later */
    fs_everything(p, 100);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    axp_profiler_destroy(p);
}

/* The same where it was recorded without a file. */
static void what_memory_has_is_saved(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = axp_profiler_create(&(axp_options){.title = "saved"});
    fs_everything(p, 50);
    axp_outside_unrecorded(p, 2, "File too large");
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(axp_file_save(p, path), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    assert_int_equal(axp_file_save(p, path), AXP_E_STATE); /* it is there */
    assert_int_equal(axp_file_save(p, NULL), AXP_E_INVALID);
    assert_int_equal(axp_file_save(NULL, path), AXP_E_INVALID);
    axp_profiler_destroy(p);
    assert_int_equal(axp_file_save(p, fs_path("y.axp")), AXP_E_STATE);
}

static void open_scopes_are_the_same(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    axp_start(p, "outer");
    axp_start(p, "inner");
    fs_layers(p, 5);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    axp_profiler_destroy(p);
}

/* The oldest part of the timeline gives way; statistics stay. */
static void a_cut_file_gives_the_live_view(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){.file_limit = 256 * 1024});
    for (unsigned i = 0; i < 20; i++) {
        fs_everything(p, TS_SLOW ? 200 : 800);
        axp_flush(p);
    }
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_view *v = fs_open(path);
    assert_true(axp_view_cut_count(v) > 0);
    assert_true(axp_view_event_count(v) > 0);
    axp_view_destroy(v);
    assert_same(p, path);
    char *said;
    assert_int_equal(fs_check(path, &said), AXP_OK);
    assert_non_null(strstr(said, "its timeline was cut"));
    free(said);
    axp_profiler_destroy(p);
}

static void packing_again_changes_nothing(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *again = fs_path("y.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    fs_everything(p, 300);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(axp_file_pack(path, again), AXP_OK);
    assert_same(p, again);
    fs_assert_sound(again);
    assert_int_equal(axp_file_pack(path, NULL), AXP_OK);
    assert_same(p, path);
    /* nothing is overwritten that was not asked for */
    assert_int_equal(axp_file_pack(path, again), AXP_E_STATE);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    axp_profiler_destroy(p);
}

/* Index and trailer are a convenience. */
static void without_its_index_it_is_the_same(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *cut = fs_path("y.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    fs_everything(p, 100);
    assert_int_equal(axp_finish(p), AXP_OK);
    size_t len;
    uint8_t *bytes = fs_read(path, &len);
    fs_write(cut, bytes, len - 8);
    axp_view *whole = fs_open(path), *part = fs_open(cut);
    assert_int_equal(axp_view_event_count(whole), axp_view_event_count(part));
    assert_true(ts_view_warnings(part, "cut_index") > 0);
    assert_int_equal(axp_view_damage(part), 0);
    axp_view_destroy(whole);
    axp_view_destroy(part);
    assert_int_equal(fs_check(cut, NULL), AXP_E_FORMAT);
    assert_int_equal(axp_file_pack(cut, NULL), AXP_OK);
    assert_int_equal(fs_check(cut, NULL), AXP_OK);
    part = fs_open(cut);
    assert_int_equal(ts_view_warnings(part, "cut_index"), 0);
    axp_view_destroy(part);
    free(bytes);
    axp_profiler_destroy(p);
}

static void no_timeline_no_events(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){.flags = AXP_NO_TIMELINE});
    fs_everything(p, 20);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    assert_int_equal(fs_check(path, NULL), AXP_OK);
    axp_profiler_destroy(p);
}

static void *short_life(void *arg)
{
    fs_layers(arg, 3);
    axp_record_alloc(arg, "of many", 10);
    return NULL;
}

/* More threads than are kept apart. */
static void merged_threads_agree(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    for (int i = 0; i < 100; i++)
        ts_run(short_life, p);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    axp_profiler_destroy(p);
}

static void *allocate_in_turn(void *arg)
{
    for (unsigned i = 0; i < 2000; i++) {
        axp_record_alloc(arg, "shared", 16 + i % 100);
        if (i % 2) axp_record_free(arg, "shared", 16);
        AXP_SCOPE_IN(arg, "work");
    }
    return NULL;
}

/* Peaks are defined to a block in flight; everything else is exact. */
static void racing_threads_agree(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        t[i] = ts_spawn(allocate_in_turn, p);
    for (int i = 0; i < 3; i++)
        ts_join(t[i]);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_same(p, path);
    fs_assert_sound(path);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(a_file_gives_the_live_view),
        FS_TEST(a_long_file_too),
        FS_TEST(what_memory_has_is_saved),
        FS_TEST(open_scopes_are_the_same),
        FS_TEST(a_cut_file_gives_the_live_view),
        FS_TEST(packing_again_changes_nothing),
        FS_TEST(without_its_index_it_is_the_same),
        FS_TEST(no_timeline_no_events),
        FS_TEST(merged_threads_agree),
        FS_TEST(racing_threads_agree),
    };
    return TS_RUN(tests);
}
