/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Exports: how they are asked for, how they fail, what they need of memory,
 * and that nothing in a capture breaks them. What they say is compared in
 * tests/golden. */
#include "axprof/axprof_read.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record_name.h"
#include "test_support.h"
#include "unit/made_capture.h"

static int n_formats(void)
{
    int n = 0;
    while (axp_export_format_name((axp_export_format)n, NULL))
        n++;
    return n;
}

static char *export(const axp_view *v, axp_export_format format, size_t *len)
{
    char *bytes = NULL;
    FILE *f = open_memstream(&bytes, len);
    assert_non_null(f);
    assert_int_equal(axp_export_write(v, format, f), AXP_OK);
    fclose(f);
    return bytes;
}

/* ---- asking ------------------------------------------------------------------ */

static void formats_have_names(void **state)
{
    (void)state;
    assert_int_equal(n_formats(), AXP_EXPORT_CSV_SHAPES + 1);
    for (int i = 0; i < n_formats(); i++) {
        const char *description = NULL;
        axp_export_format found = (axp_export_format)-1;
        const char *name =
            axp_export_format_name((axp_export_format)i, &description);
        assert_true(description && *description);
        assert_int_equal(axp_export_format_by_name(name, &found), AXP_OK);
        assert_int_equal(found, i);
    }
    const char *none = "";
    assert_null(axp_export_format_name((axp_export_format)-1, &none));
    assert_null(none);
}

static void an_unknown_format_lists_the_known(void **state)
{
    (void)state;
    axp_export_format f = AXP_EXPORT_PPROF;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    char longest[4096];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    const char *const unknown[] = {"chrom", "", NULL, "CHROME", longest};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(axp_export_format_by_name(unknown[i], &f),
                         AXP_E_INVALID);
        assert_non_null(strstr(axp_last_error(), "chrome, perfetto"));
        assert_non_null(strstr(axp_last_error(), "openmetrics"));
        assert_int_equal(f, AXP_EXPORT_PPROF);
    }
    assert_int_equal(axp_export_format_by_name("chrome", NULL), AXP_E_INVALID);
    assert_int_equal(axp_export(v, "x", (axp_export_format)77), AXP_E_INVALID);
    assert_non_null(strstr(axp_last_error(), "77"));
    assert_non_null(strstr(axp_last_error(), "memory-viz"));
    assert_int_equal(axp_export(NULL, "x", AXP_EXPORT_CHROME), AXP_E_INVALID);
    assert_int_equal(axp_export(v, NULL, AXP_EXPORT_CHROME), AXP_E_INVALID);
    assert_int_equal(axp_export(v, "", AXP_EXPORT_CHROME), AXP_E_INVALID);
    assert_int_equal(axp_export_write(v, AXP_EXPORT_CHROME, NULL),
                     AXP_E_INVALID);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- failing ------------------------------------------------------------------- */

static size_t n_files(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void a_failure_leaves_no_file(void **state)
{
    (void)state;
    char folder[] = "test_export.XXXXXX", path[64];
    axp_profiler *p = ts_profiler();
    axp_instant(p, "mark");
    axp_view *v = ts_snapshot(p);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/none/x", folder);
    for (int i = 0; i < n_formats(); i++) {
        assert_int_equal(axp_export(v, path, (axp_export_format)i), AXP_E_IO);
        assert_non_null(strstr(axp_last_error(), path));
        assert_int_equal(n_files(folder), 0);
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        bool is_empty =
            i == AXP_EXPORT_FOLDED ||
            (i >= AXP_EXPORT_FOLDED_PEAK && i <= AXP_EXPORT_FOLDED_TEMPORARY);
        assert_int_equal(axp_export_write(v, (axp_export_format)i, full),
                         is_empty ? AXP_OK : AXP_E_IO);
        fclose(full);
    }
    snprintf(path, sizeof path, "%s/x", folder);
    assert_int_equal(axp_export(v, path, AXP_EXPORT_CHROME), AXP_OK);
    assert_int_equal(n_files(folder), 1);
    unlink(path);
    rmdir(folder);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- what the clock cannot tell apart --------------------------------------------- */

/* Times in common: the outer scope comes first in the file. */
static void a_scope_stands_before_those_it_holds(void **state)
{
    (void)state;
    size_t len;
    axp_profiler *p = ts_profiler();
    axp_start(p, "outermost");
    axp_start(p, "outer");
    for (int i = 0; i < 3; i++) {
        axp_start(p, "inner");
        axp_start(p, "innermost");
        axp_stop(p, "innermost");
        axp_stop(p, "inner");
    }
    axp_stop(p, "outer");
    axp_stop(p, "outermost");
    axp_view *v = ts_snapshot(p);
    char *text = export(v, AXP_EXPORT_CHROME, &len), *at = text;
    static const char *const order[] = {"outermost", "outer", "inner",
                                        "innermost", "Window"};
    for (size_t i = 0; i < 5; i++) {
        char quoted[40];
        snprintf(quoted, sizeof quoted, i < 4 ? "\"%s\"" : "%s", order[i]);
        at = strstr(at, quoted);
        if (!at) fail_msg("%s is not where it belongs in\n%s", quoted, text);
    }
    free(text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- places in the source -------------------------------------------------------- */

static void a_place_goes_with_its_name(void **state)
{
    (void)state;
    static const axp_export_format formats[] = {
        AXP_EXPORT_PERFETTO, AXP_EXPORT_SPEEDSCOPE, AXP_EXPORT_CSV_OPS,
        AXP_EXPORT_MEMORY_VIZ};
    axp__name_register("with a place", "deep/in/source.c\0"
                                       "1234");
    axp_profiler *p = ts_profiler();
    axp_start(p, "with a place");
    axp_track_alloc(p, "block", (void *)0x1000, 64);
    axp_stop(p, "with a place");
    axp_view *v = ts_snapshot(p);
    for (size_t i = 0; i < 4; i++) {
        size_t len;
        char *bytes = export(v, formats[i], &len);
        assert_non_null(memmem(bytes, len, "deep/in/source.c", 16));
        free(bytes);
    }
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- memory ------------------------------------------------------------------------ */

struct meter {
    size_t most;
    uint64_t n_bytes;
};

/* ---- clocks -------------------------------------------------------------------- */

static bool says(const axp_view *v, const char *text)
{
    size_t len;
    char *bytes = export(v, AXP_EXPORT_CHROME, &len);
    bool is_found = strstr(bytes, text);
    free(bytes);
    return is_found;
}

/* The clocks were read at one moment; what is said is what they were at our 0,
 * before or after it. What cannot be is not said. */
static void clocks_are_those_of_the_beginning(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    struct axp__capture *c = v->capture;
    struct axp__view_clocks at;
    assert_false(axp__view_clocks(v, &at)); /* of a test's clock: none */
    c->rate_mult = (uint64_t)1 << 32;       /* a tick is a nanosecond */
    c->start_ticks = 5000;
    c->clock.ticks = 7000;
    c->clock.monotonic_ns = 1000000;
    c->clock.realtime_ns = 1700000000000000000;
    assert_true(axp__view_clocks(v, &at));
    assert_int_equal(at.monotonic_ns, 998000);
    assert_true(says(v, "\"baseTimeNanoseconds\":1699999999999998000,"));
    c->clock.ticks = 4000;
    assert_true(axp__view_clocks(v, &at));
    assert_int_equal(at.monotonic_ns, 1001000);
    assert_int_equal(at.realtime_ns, 1700000000000001000);
    c->clock.ticks = 5000 + 1000001; /* before the monotonic clock began */
    assert_false(axp__view_clocks(v, &at));
    assert_false(says(v, "baseTimeNanoseconds"));
    c->clock.ticks = 0; /* not known */
    assert_false(axp__view_clocks(v, &at));
    c->clock.ticks = 4000;
    c->clock.realtime_ns = UINT64_MAX;
    assert_false(axp__view_clocks(v, &at));
    c->clock.realtime_ns = 1;
    c->start_ticks = UINT64_MAX;
    assert_false(axp__view_clocks(v, &at));
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static size_t heap_in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static ssize_t measure(void *cookie, const char *bytes, size_t len)
{
    (void)bytes;
    struct meter *m = cookie;
    size_t now = heap_in_use();
    if (now > m->most) m->most = now;
    m->n_bytes += len;
    return (ssize_t)len;
}

/* The most heap that an export of so many rounds needs. */
static size_t most_heap(uint64_t rounds, axp_export_format format,
                        uint64_t *n_bytes)
{
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.memory_limit = 512u << 20});
    axp_track *t = axp_track_create(p, "queue");
    for (uint64_t i = 0; i < rounds; i++) {
        AXP_SCOPE_IN(p, "outer");
        axp_start(p, "a");
        axp_start(p, "b");
        axp_stop(p, "a");
        axp_stop(p, "b");
        axp_track_alloc(p, "block", (void *)(0x1000 + i % 50 * 64), 64);
        axp_track_free(p, (void *)(0x1000 + i % 50 * 64));
        axp_track_span(t, "kernel", (i ^ 7) * 100, (i ^ 7) * 100 + 150, NULL);
        axp_async_begin(p, "request", i);
        if (i >= 8) axp_async_end(p, "request", i - 8);
        axp_counter(p, "value", (double)i);
    }
    axp_view *v = ts_snapshot(p);
    axp_profiler_destroy(p);
    struct meter m = {0, 0};
    FILE *f = fopencookie(&m, "w", (cookie_io_functions_t){.write = measure});
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    size_t before = heap_in_use();
    assert_int_equal(axp_export_write(v, format, f), AXP_OK);
    fclose(f);
    axp_view_destroy(v);
    *n_bytes = m.n_bytes;
    return m.most - before;
}

static void memory_does_not_grow_with_events(void **state)
{
    (void)state;
    static const axp_export_format formats[] = {
        AXP_EXPORT_CHROME,     AXP_EXPORT_PERFETTO,    AXP_EXPORT_SPEEDSCOPE,
        AXP_EXPORT_CSV_EVENTS, AXP_EXPORT_JSON_EVENTS, AXP_EXPORT_MEMORY_VIZ,
    };
    for (size_t i = 0; i < 6; i++) {
        uint64_t few_bytes, many_bytes;
        size_t few = most_heap(2000, formats[i], &few_bytes);
        size_t many = most_heap(20000, formats[i], &many_bytes);
        assert_true(many_bytes > few_bytes * 8);
        /* 56 bytes a chunk of 16 KiB are the list of chunks */
        if (many > few + 32768)
            fail_msg("%s: %zu bytes of heap for few events, %zu for many",
                     axp_export_format_name(formats[i], NULL), few, many);
    }
}

/* ---- series --------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A reader refuses all of it if one series comes twice. */
static void assert_series_once(const axp_view *v)
{
    size_t len, n = 0;
    char *bytes = export(v, AXP_EXPORT_OPENMETRICS, &len), *rest = bytes, *line;
    char **series = calloc(len + 1, sizeof *series);
    assert_non_null(series);
    while ((line = strtok_r(rest, "\n", &rest))) {
        if (*line == '#') continue;
        *strrchr(line, ' ') = 0;
        series[n++] = line;
    }
    qsort(series, n, sizeof *series, by_text);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(series[i - 1], series[i])) fail_msg("twice: %s", series[i]);
    free(series);
    free(bytes);
}

static void names_that_read_alike_are_series_of_their_own(void **state)
{
    (void)state;
    static const char *const names[] = {"", "(unnamed)", "\xff", "\xfe",
                                        "\xef\xbf\xbd"};
    char longest[2][10000];
    axp_profiler *p = ts_profiler();
    for (size_t i = 0; i < 7; i++) {
        const char *name = i < 5 ? names[i] : longest[i - 5];
        if (i >= 5) {
            memset(longest[i - 5], 'x', 9999);
            longest[i - 5][9998] = i == 5 ? 'a' : 'b';
            longest[i - 5][9999] = 0;
        }
        axp_start(p, name);
        axp_track_alloc(p, name, (void *)(0x1000 * (i + 1)), 64);
        axp_counter(p, name, 3);
        axp_stop(p, name);
    }
    axp_view *v = ts_snapshot(p);
    assert_series_once(v);
    size_t len;
    char *bytes = export(v, AXP_EXPORT_OPENMETRICS, &len);
    assert_non_null(strstr(bytes, "{op=\"(unnamed)\",nth=\"2\",quantile"));
    assert_non_null(strstr(bytes, "{name=\"\xef\xbf\xbd\",nth=\"3\"}"));
    free(bytes);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- anything -------------------------------------------------------------------------- */

static void nothing_in_a_capture_breaks_an_export(void **state)
{
    (void)state;
    uint64_t seed = 4101842887655102017u;
    struct made *m = malloc(sizeof *m);
    for (int i = 0; i < (TS_SLOW ? 20 : 100); i++) {
        make_capture(m, &seed, (uint64_t)i % 4);
        if (i % 5 == 0) m->c.timeline_capacity = 100;
        axp_view *v = axp__view_make(&m->c);
        assert_non_null(v);
        for (int k = 0; k < n_formats(); k++) {
            size_t len;
            char *bytes = export(v, (axp_export_format)k, &len);
            assert_null(memmem(bytes, len, "\xff utf", 5));
            free(bytes);
        }
        assert_series_once(v);
        axp_view_destroy(v);
    }
    free(m);
}

int main(void)
{
    ts_use_fake_clock(); /* which nobody moves: all times are in common */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(an_unknown_format_lists_the_known),
        cmocka_unit_test(a_failure_leaves_no_file),
        cmocka_unit_test(a_place_goes_with_its_name),
        cmocka_unit_test(clocks_are_those_of_the_beginning),
        cmocka_unit_test(names_that_read_alike_are_series_of_their_own),
        cmocka_unit_test(memory_does_not_grow_with_events),
        cmocka_unit_test(nothing_in_a_capture_breaks_an_export),
        cmocka_unit_test(a_scope_stands_before_those_it_holds),
    };
    return TS_RUN(tests);
}
