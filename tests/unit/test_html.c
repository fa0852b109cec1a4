/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The HTML report, read back here: what was recorded comes out of the chunks,
 * the budget holds, nothing that a name says leaves its script. How the page
 * looks and behaves is tests/viewer's. */
#include <zlib.h>

#include "emit/emit_html.h"
#include "viewer/random_run.h"
#include "wire/wire_word.h"

/* ---- reading a page ---------------------------------------------------------------- */

struct page {
    char *text;
    size_t len;
};

static struct page make_page(const axp_view *v, uint64_t budget)
{
    struct page p = {0};
    axp_report_options o = {.max_events = budget};
    FILE *f = open_memstream(&p.text, &p.len);
    assert_non_null(f);
    if (axp_report_write_ex(v, AXP_FORMAT_HTML, &o, f))
        fail_msg("%s", axp_last_error());
    fclose(f);
    return p;
}

/* What stands in the script of that id; NULL: there is none. */
static const char *script(const struct page *p, const char *id, size_t *len)
{
    char mark[64];
    snprintf(mark, sizeof mark, "id=\"%s\">", id);
    const char *at = memmem(p->text, p->len, mark, strlen(mark));
    if (!at) return NULL;
    at += strlen(mark);
    const char *end = strstr(at, "</script>");
    assert_non_null(end);
    *len = (size_t)(end - at);
    return at;
}

static uint64_t number(const struct page *p, const char *id, const char *key)
{
    char mark[64];
    size_t len;
    const char *json = script(p, id, &len);
    assert_non_null(json);
    snprintf(mark, sizeof mark, "\"%s\":", key);
    const char *at = memmem(json, len, mark, strlen(mark));
    if (!at) fail_msg("%s has no %s", id, key);
    at += strlen(mark);
    return strtoull(at + (*at == '"'), NULL, 10);
}

static uint8_t *from_base64(const char *text, size_t len, size_t *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *out = malloc(len + 4);
    uint32_t bits = 0, n_bits = 0;
    *n = 0;
    for (size_t i = 0; i < len && text[i] != '='; i++) {
        const char *d = memchr(digits, text[i], 64);
        assert_non_null(d);
        bits = bits << 6 | (uint32_t)(d - digits);
        n_bits += 6;
        if (n_bits >= 8) out[(*n)++] = (uint8_t)(bits >> (n_bits -= 8));
    }
    return out;
}

/* The planes of a chunk; malloc. */
static uint8_t *chunk(const struct page *p, unsigned id)
{
    char name[32];
    size_t len, n;
    snprintf(name, sizeof name, "axp-c%u", id);
    const char *text = script(p, name, &len);
    assert_non_null(text);
    uint8_t *packed = from_base64(text, len, &n);
    uLongf size = 64u << 20;
    uint8_t *out = malloc(size);
    assert_int_equal(uncompress(out, &size, packed, n), Z_OK);
    free(packed);
    return out;
}

/* Column number k; malloc. */
static uint64_t *column(const uint8_t *planes, unsigned k, uint32_t *n)
{
    memcpy(n, planes, 4);
    assert_true(k < planes[4]);
    uint64_t *out = calloc(*n + 1, sizeof *out);
    const uint8_t *at = planes + 5;
    for (unsigned c = 0; c <= k; c++) {
        unsigned mask = *at++;
        for (unsigned b = 0; b < 8; b++) {
            if (!(mask >> b & 1)) continue;
            for (uint32_t i = 0; c == k && i < *n; i++)
                out[i] |= (uint64_t)at[i] << 8 * b;
            at += *n;
        }
    }
    return out;
}

/* ---- tests --------------------------------------------------------------------------- */

static void test_random_runs_come_out_as_they_went_in(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < (TS_SLOW ? 4 : 12); seed++) {
        struct run r;
        uint32_t n;
        random_run(&r, seed, 3000);
        axp_view *v = ts_snapshot(r.p);
        struct page p = make_page(v, 0);
        uint8_t *planes = chunk(&p, 0);
        uint64_t *start = column(planes, 0, &n), *dur = column(planes, 1, &n);
        uint64_t *nesting = column(planes, 4, &n);
        uint64_t t0 = number(&p, "axp-meta", "t0"), at = 0;
        assert_int_equal(n, r.n);
        /* the first track is the first thread's scopes, as they began */
        uint64_t ends[MOST_DEPTH + 1];
        uint32_t depth = 0;
        for (size_t i = 0, k = 0; i < r.n && r.all[i].thread == 0; i++) {
            const struct kept *e = &r.all[i];
            if (e->depth >= MARK) continue;
            at += start[k];
            assert_int_equal(t0 + at, e->start);
            assert_int_equal(dur[k], e->dur);
            uint32_t d = 0;
            while (d < depth && ends[d] > at)
                d++;
            assert_int_equal(d + nesting[k], e->depth);
            ends[e->depth] = at + dur[k];
            depth = e->depth + 1;
            k++;
        }
        free(start), free(dur), free(nesting), free(planes), free(p.text);
        axp_view_destroy(v);
        axp_profiler_destroy(r.p);
        free(r.all);
    }
}

/* Of a timeline that is much longer than its budget, the first part: what is
 * read is bounded, and what is not is said. */
static void expect_a_part(const axp_view *v, const struct page *p,
                          uint64_t budget)
{
    uint64_t all = axp_view_event_count(v);
    uint64_t unread = number(p, "axp-index", "unread");
    assert_true(unread > 0 && unread < all);
    assert_true(all - unread >= 20 * budget);
    assert_true(all - unread < 20 * budget + AXP__CHUNK_WORDS);
    assert_true(number(p, "axp-index", "unread_from_ns") > 0);
}

static void test_the_budget_holds(void **state)
{
    (void)state;
    struct run r;
    random_run(&r, 5, 20000);
    axp_view *v = ts_snapshot(r.p);
    for (uint64_t budget = 100; budget < 40000; budget *= 3) {
        struct page p = make_page(v, budget);
        uint64_t shown = number(&p, "axp-index", "shown");
        uint64_t blocks = number(&p, "axp-index", "blocks");
        uint64_t merged = number(&p, "axp-index", "merged");
        uint64_t left_out = number(&p, "axp-index", "left_out");
        if (20 * budget >= axp_view_event_count(v))
            assert_int_equal(shown + merged + left_out, r.n);
        else
            expect_a_part(v, &p, budget);
        /* blocks that could not grow any more, and one for each track */
        assert_true(shown + blocks <= budget + 2 * THREADS * 66);
        if (budget > r.n) assert_int_equal(merged, 0);
        free(p.text);
    }
    axp_view_destroy(v);
    axp_profiler_destroy(r.p);
    free(r.all);
}

static void test_names_stay_in_their_scripts(void **state)
{
    (void)state;
    static const char *const names[] = {"</script><script>alert(1)</script>",
                                        "<!--",
                                        "]]>",
                                        "\xff\xfe\x80",
                                        ("a\xe2\x80\xa8"
                                         "b"),
                                        "\"\\\n\t\x01",
                                        ""};
    axp_profiler *p = ts_profiler();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        axp_start(p, names[i]);
        axp_record_alloc(p, names[i], 100);
        axp_counter(p, names[i], 1);
        axp_event(p, names[i], AXP_EVENT_CUSTOM, names[i]);
        ts_tick(1000);
        axp_stop(p, names[i]);
    }
    axp_view *v = ts_snapshot(p);
    struct page page = make_page(v, 0);
    size_t scripts = 0, len;
    for (const char *at = page.text; (at = strstr(at, "<script")); at++)
        scripts++;
    /* the page's own, meta, index, and the chunks */
    assert_int_equal(scripts, 3 + number(&page, "axp-index", "chunks"));
    for (int i = 0; i < 2; i++) {
        const char *json = script(&page, i ? "axp-index" : "axp-meta", &len);
        assert_null(memchr(json, '<', len));
        assert_null(memmem(json, len, "\xe2\x80\xa8", 3));
        assert_null(memmem(json, len, "\xff", 1));
    }
    free(page.text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void test_the_template_is_whole(void **state)
{
    (void)state;
    assert_true(axp__html_template_size > 50000);
    assert_true(axp__html_template_size < 200000);
    assert_int_equal(strlen(axp__html_template), axp__html_template_size);
    assert_non_null(strstr(axp__html_template, "<!--axprof-data-->"));
}

static void test_an_empty_run_has_a_page(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    struct page page = make_page(v, 0);
    assert_int_equal(number(&page, "axp-index", "chunks"), 0);
    assert_int_equal(number(&page, "axp-index", "shown"), 0);
    assert_null(memmem(page.text, page.len, "<!--axprof-data-->", 18));
    free(page.text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void test_memory_keeps_its_peaks(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    uint64_t seed = 9, live = 0, peak = 0;
    axp_record_alloc(p, "held", live = 5000);
    for (int i = 0; i < 20000; i++) {
        uint64_t bytes = ts_random(&seed) % 10000 + 1;
        ts_tick(ts_random(&seed) % 5000);
        axp_record_alloc(p, i % 2 ? "even" : "odd", bytes);
        if (live + bytes > peak) peak = live + bytes;
        ts_tick(ts_random(&seed) % 5000);
        axp_record_free(p, i % 2 ? "even" : "odd", bytes);
    }
    axp_view *v = ts_snapshot(p);
    struct page page = make_page(v, 0);
    uint32_t n;
    uint8_t *planes = chunk(&page, 0); /* no scope: the only table */
    uint64_t *total = column(planes, 1, &n), *held = column(planes, 2, &n);
    uint64_t highest = 0;
    assert_in_range(n, 100, AXP__HTML_LINES);
    for (uint32_t i = 0; i < n; i++) {
        if (total[i] > highest) highest = total[i];
        assert_true(total[i] >= 5000 || !i);
    }
    assert_int_equal(highest, peak);
    assert_int_equal(highest, axp_view_memory(v).peak_bytes);
    assert_int_equal(total[n - 1], 5000);
    (void)held;
    free(total), free(held), free(planes), free(page.text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void test_shapes_are_in_meta(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    axp_work work = axp_work_gemm(2, 3, 5, AXP_F32), none = {.dims = {7}};
    axp_track_span(t, "product", 0, 100, &work);
    axp_track_span(t, "product", 100, 300, &work);
    axp_track_span(t, "product", 300, 310, &none);
    axp_view *v = ts_snapshot(p);
    struct page page = make_page(v, 0);
    size_t len;
    const char *json = script(&page, "axp-meta", &len);
    static const char shapes[] =
        "\"shapes\":[[0,[2,3,5],1,2,300,120,248,300,300,null,null,null],"
        "[0,[7],1,1,10,null,null,null,null,null,null,null]]";
    char *plain = malloc(len + 1), *to = plain; /* without its spaces */
    assert_true(json && plain);
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \n", json[i])) *to++ = json[i];
    *to = 0;
    assert_non_null(strstr(plain, shapes));
    free(plain);
    free(page.text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Of one thread as well. */
static void test_the_path_is_a_table(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 3; i++) {
        uint64_t scope = axp_begin(p, i % 2 ? "odd" : "even");
        ts_tick(1000);
        axp_end(scope);
    }
    axp_view *v = ts_snapshot(p);
    struct page page = make_page(v, 0);
    size_t len;
    const char *json = script(&page, "axp-index", &len);
    static const char mark[] = "\"path\"";
    assert_non_null(json);
    assert_non_null(memmem(json, len, mark, sizeof mark - 1));
    free(page.text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void test_a_full_disk_is_an_error(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    FILE *f = fopen("/dev/full", "w");
    if (f) {
        assert_int_equal(axp_report_write(v, AXP_FORMAT_HTML, f), AXP_E_IO);
        fclose(f);
    }
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_runs_come_out_as_they_went_in),
        cmocka_unit_test(test_the_budget_holds),
        cmocka_unit_test(test_names_stay_in_their_scripts),
        cmocka_unit_test(test_the_template_is_whole),
        cmocka_unit_test(test_an_empty_run_has_a_page),
        cmocka_unit_test(test_memory_keeps_its_peaks),
        cmocka_unit_test(test_shapes_are_in_meta),
        cmocka_unit_test(test_the_path_is_a_table),
        cmocka_unit_test(test_a_full_disk_is_an_error),
    };
    return TS_RUN(tests);
}
