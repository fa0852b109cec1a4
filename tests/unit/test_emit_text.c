/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text report, and the calls that write reports, on what is unusual: every
 * width, hostile names, very many threads and names, files that cannot be
 * written, a program with a locale of its own. */
#include "test_support.h"

#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "axprof/axprof_adapter.h"
#include "emit/emit_name.h"
#include "emit/emit_out.h"
#include "model/model_view.h"
#include "record/record_capture.h"

#define MS 1000000u

static void scope(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

static char *report_as(axp_profiler *p, axp_format format,
                       const axp_report_options *o)
{
    axp_view *v = ts_snapshot(p);
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(axp_report_write_ex(v, format, o, f), AXP_OK);
    fclose(f);
    axp_view_destroy(v);
    return text;
}

static char *report(axp_profiler *p, int width)
{
    return report_as(p, AXP_FORMAT_TEXT, &(axp_report_options){.width = width});
}

/* No line is wider, nothing but \n is a control character. */
static void check_lines(const char *text, size_t width)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        char *line = strndup(text, len);
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
                fail_msg("raw control character in: %s", line);
        if (axp__columns(line) > width)
            fail_msg("%zu columns of %zu: %s", axp__columns(line), width, line);
        free(line);
        text += len + (text[len] == '\n');
    }
}

/* A number and its unit are in one line. */
static void check_units(const char *text)
{
    for (const char *end = strchr(text, '\n'); end;
         end = strchr(end + 1, '\n')) {
        const char *next = end + 1 + strspn(end + 1, " ");
        bool is_number = end > text && end[-1] >= '0' && end[-1] <= '9';
        if (is_number && (*next == '%' || !strncmp(next, "ms ", 3) ||
                          !strncmp(next, "us ", 3)))
            fail_msg("a unit without its number: %.40s", next);
    }
}

static axp_profiler *busy_profiler(void)
{
    static const char *const names[] = {
        "transformer.encoder.layers.11.attention.self.query",
        "transformer.encoder.layers.12.attention.self.query",
        "wide \xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
        "\x1b[2J\x1b]0;owned\x07",
        "e\xcc\x81\xcc\x81\xcc\x81",
        "x"};
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.title = "a rather long title of a "
                                                    "run that goes on and on"});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        axp_start(p, "outer scope with a long name of its own");
        axp_start_work(p, names[i], (axp_work){.flops = 1e6, .bytes = 1e5});
        ts_tick(10 * MS);
        axp_stop(p, names[i]);
        axp_stop(p, "outer scope with a long name of its own");
        axp_record_alloc(p, names[i], 1000000);
        axp_counter(p, names[i], 1e9 / (double)(i + 1));
        axp_step(p);
    }
    axp_track *t = axp_track_create(p, names[0]);
    axp_track_span(t, names[1], 10, 1000, NULL);
    axp_stop(p, names[1]);
    return p;
}

static void every_width(void **state)
{
    (void)state;
    axp_profiler *p = busy_profiler();
    for (int width = 40; width <= 200; width++) {
        char *text = report(p, width);
        check_lines(text, (size_t)width);
        check_units(text);
        assert_null(strstr(text, " \n"));
        free(text);
    }
    char *zero = report(p, 0), *usual = report(p, 80), *least = report(p, 40);
    char *less = report(p, 1), *negative = report(p, -5);
    assert_string_equal(zero, usual);
    assert_string_equal(negative, usual);
    assert_string_equal(less, least);
    free(zero);
    free(usual);
    free(least);
    free(less);
    free(negative);
    axp_profiler_destroy(p);
}

/* Colour changes nothing but colour, and comes only when asked for. */
static void colour(void **state)
{
    (void)state;
    axp_profiler *p = busy_profiler();
    char *plain = report(p, 80);
    char *color =
        report_as(p, AXP_FORMAT_TEXT, &(axp_report_options){.color = true});
    assert_null(strchr(plain, 0x1b));
    assert_non_null(strchr(color, 0x1b));
    char *to = color;
    for (const char *from = color; *from; from++) {
        if (*from == 0x1b) {
            from += strcspn(from, "m");
            continue;
        }
        *to++ = *from;
    }
    *to = 0;
    assert_string_equal(color, plain);
    free(plain);
    free(color);
    axp_profiler_destroy(p);
}

static void a_name_of_a_mebibyte(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    size_t len = 1 << 20;
    char *name = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        name[i] = "\x1b\xff\nA"[i % 4];
    name[len] = 0;
    scope(p, name, MS);
    axp_record_alloc(p, name, 10);
    char *text = report(p, 80);
    check_lines(text, 80);
    assert_true(strlen(text) < 10000);
    free(text);
    for (int format = AXP_FORMAT_JSON; format <= AXP_FORMAT_MARKDOWN;
         format++) {
        text = report_as(p, (axp_format)format, NULL);
        for (const char *c = text; *c; c++)
            assert_true((unsigned char)*c >= 0x20 || *c == '\n');
        free(text);
    }
    free(name);
    axp_profiler_destroy(p);
}

/* ---- any names ------------------------------------------------------------------ */

/* Mostly what has a meaning somewhere. */
static void random_name(uint64_t *rng, char *out, size_t size)
{
    static const char *const parts[] = {"\x1b[31m",
                                        "\x1b]0;x\x07",
                                        "\n",
                                        "|",
                                        "`",
                                        "``",
                                        "<b>",
                                        "</td>",
                                        "\\",
                                        "\\|",
                                        "&amp;",
                                        "\"",
                                        "\xff",
                                        "\xe2\x80\xae",
                                        "\xc2\x9b",
                                        "\xcc\x81",
                                        "\xe6\xbc\xa2",
                                        "a",
                                        " ",
                                        "%s",
                                        "*_~",
                                        "\xf0\x9f\x9a\x80"};
    size_t len = 0;
    out[0] = 0;
    for (uint64_t n = 1 + ts_random(rng) % 12; n; n--) {
        uint64_t pick = ts_random(rng) % (sizeof parts / sizeof *parts + 4);
        char byte[2] = {(char)(1 + ts_random(rng) % 255), 0};
        const char *part =
            pick < sizeof parts / sizeof *parts ? parts[pick] : byte;
        if (len + strlen(part) >= size) break;
        len += strlen(strcpy(out + len, part));
    }
}

static axp_profiler *random_profiler(uint64_t *rng)
{
    char name[200];
    random_name(rng, name, sizeof name);
    axp_profiler *p = axp_profiler_create(&(axp_options){.title = name});
    random_name(rng, name, sizeof name);
    axp_thread_name(p, name);
    for (int i = 0; i < 30; i++) {
        random_name(rng, name, sizeof name);
        axp_start(p, name);
        ts_tick(ts_random(rng) % MS);
        axp_record_alloc(p, name, ts_random(rng) % 100000);
        if (ts_random(rng) % 3) axp_stop(p, name);
        random_name(rng, name, sizeof name);
        axp_counter(p, name, (double)ts_random(rng));
        axp_record_free(p, name, 10);
    }
    return p;
}

static void check_bytes(const char *text)
{
    size_t left = strlen(text), n;
    for (; left; text += n, left -= n) {
        n = axp__utf8_len(text, left);
        assert_true(n > 0);
        assert_true(n > 1 || (unsigned char)*text >= 0x20 || *text == '\n');
        assert_true(*text != 0x7f);
    }
}

/* The rows of a table have as many cells as its head. */
static void check_tables(const char *text)
{
    size_t cells = 0;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t n = 0;
        if (*text != '|') {
            cells = 0;
            continue;
        }
        for (size_t i = 0; i < strcspn(text, "\n"); i++)
            n += text[i] == '|';
        if (cells) assert_int_equal(n, cells);
        cells = n;
    }
}

static void any_names(void **state)
{
    (void)state;
    uint64_t rng = 20240607;
    for (int round = 0; round < (TS_SLOW ? 20 : 200); round++) {
        axp_profiler *p = random_profiler(&rng);
        char *text = report(p, 0);
        check_lines(text, 80);
        check_bytes(text);
        free(text);
        text = report_as(p, AXP_FORMAT_JSON, NULL);
        check_bytes(text);
        free(text);
        text = report_as(p, AXP_FORMAT_MARKDOWN, NULL);
        check_bytes(text);
        check_tables(text);
        free(text);
        axp_profiler_destroy(p);
    }
}

static void *one_scope(void *arg)
{
    scope(arg, "in a thread", 1000);
    return NULL;
}

static void very_many_threads(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    unsigned n = TS_SLOW ? 300 : 3000;
    char want[32];
    for (unsigned i = 0; i < n; i++)
        ts_run(one_scope, p);
    char *text = report(p, 80);
    check_lines(text, 80);
    snprintf(want, sizeof want, "and %s more, in scopes for",
             TS_SLOW ? "290" : "2990");
    assert_non_null(strstr(text, want));
    assert_true(strlen(text) < 8000);
    free(text);
    axp_profiler_destroy(p);
}

static void very_many_names(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    unsigned n = TS_SLOW ? 2000 : 50000;
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "name %u", i);
        scope(p, name, 1000 + i);
        axp_record_alloc(p, name, i);
    }
    char *text = report(p, 80);
    check_lines(text, 80);
    assert_true(strlen(text) < 8000);
    free(text);
    axp_profiler_destroy(p);
}

/* A recursion does not make a report of a thousand lines. */
static void very_deep(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 1000; i++)
        axp_start(p, i % 2 ? "odd" : "even");
    ts_tick(MS);
    for (int i = 999; i >= 0; i--)
        axp_stop(p, i % 2 ? "odd" : "even");
    char *text = report(p, 80);
    check_lines(text, 80);
    assert_true(strlen(text) < 12000);
    assert_non_null(strstr(text, "more places"));
    free(text);
    axp_profiler_destroy(p);
}

/* Twenty levels of which 80 columns have no room: what is below the last that does
 * says how far, and none stands where another level does. */
static void levels_without_room(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char names[20][64];
    unsigned n_more = 0, n_levels = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i],
                 "a name that takes some room, of level %d", i);
        axp_start(p, names[i]);
        ts_tick(MS);
    }
    for (int i = 20; i--;)
        axp_stop(p, names[i]);
    char *text = report(p, 80), want[16];
    check_lines(text, 80);
    for (unsigned i = 1; i < 20; i++) {
        snprintf(want, sizeof want, " +%u  ", i);
        n_more += strstr(text, want) != NULL;
    }
    for (const char *at = text; (at = strstr(at, "└ ")); at++)
        n_levels++;
    assert_true(n_more > 0);
    assert_int_equal(n_levels + n_more, 19); /* the first has no mark */
    free(text);
    axp_profiler_destroy(p);
}

/* Counters whose names end in a unit are shown with it. */
static void units_of_counters(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_counter(p, "rss_bytes", 1536);
    axp_counter(p, "wait_ns", 2500);
    axp_counter(p, "bytes left", 4096);
    char *text = report(p, 80);
    assert_non_null(strstr(text, "1.50 KB"));
    assert_non_null(strstr(text, "2.50 us"));
    assert_non_null(strstr(text, " 4096"));
    free(text);
    axp_profiler_destroy(p);
}

/* What counts up has a rate, whatever it is called: whole numbers that never
 * fall. 512 each 10 ms, from the first reading on. */
static void rates_of_counters(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    ts_tick(500 * MS); /* before the first nothing is known */
    axp_start_work(p, "op", (axp_work){.flops = 1e9});
    for (int i = 1; i <= 101; i++) {
        axp_counter(p, "seen", 512.0 * i);
        axp_counter(p, "tokens/s", 51200 + i % 2);
        axp_counter(p, "rate", 1e-3 * i);
        axp_counter(p, "falls once", i == 50 ? 1 : i);
        axp_counter(p, "same", 7);
        if (i > 99) axp_counter(p, "twice", i);
        axp_outside_counter(p, "process.faults", i);
        if (i <= 100) ts_tick(10 * MS);
    }
    axp_stop(p, "op");
    axp_view *v = ts_snapshot(p);
    axp_counter_info all[8];
    size_t n = axp_view_counters(v, all, 8);
    assert_int_equal(n, 7);
    for (size_t i = 0; i < n; i++) {
        double want = strcmp(all[i].name, "seen") ? 0 : 51200;
        assert_true(fabs(all[i].rate - want) < 1e-3);
    }
    axp_view_destroy(v);
    const axp_thresholds peaks = {
        .set = (const char *const[]){"low_throughput.peak_gflops=2"},
        .n_set = 1};
    char *text = report_as(p, AXP_FORMAT_TEXT,
                           &(axp_report_options){.thresholds = &peaks});
    assert_non_null(strstr(text, "seen: 51200 a second"));
    assert_non_null(strstr(text, "a second\n"));
    assert_null(strstr(text, "tokens/s: "));
    free(text);
    text = report_as(p, AXP_FORMAT_JSON, NULL);
    assert_non_null(strstr(text, "\"rate_per_s\": 51200"));
    free(text);
    axp_profiler_destroy(p);
}

static void few_findings(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char name[16];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "op %d", i);
        scope(p, name, 10 * MS);
    }
    char *text =
        report_as(p, AXP_FORMAT_TEXT, &(axp_report_options){.max_findings = 2});
    assert_non_null(strstr(text, "Found 5 bottlenecks"));
    assert_non_null(strstr(text, "\n2. "));
    assert_null(strstr(text, "\n3. "));
    assert_non_null(strstr(text, "and 3 more"));
    free(text);
    axp_profiler_destroy(p);
}

static void the_thresholds_in_force(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    const char *const set[] = {"memory_leak.percent=7.5"};
    const char *const ignore[] = {"high_call_count", "slow_operation:a\x1b"};
    const axp_thresholds t = {
        .set = set, .n_set = 1, .ignore = ignore, .n_ignore = 2};
    const axp_report_options o = {.thresholds = &t};
    char *text = report_as(p, AXP_FORMAT_TEXT, &o);
    check_lines(text, 80);
    assert_non_null(strstr(text, "thresholds: memory_leak.percent=7.50, else "
                                 "the defaults; ignored:"));
    assert_non_null(strstr(text, "slow_operation:a\\x1b"));
    free(text);
    text = report_as(p, AXP_FORMAT_JSON, &o);
    assert_non_null(strstr(text, "\"memory_leak.percent\": 7.5,"));
    assert_non_null(strstr(text, "\"slow_operation:a\\u001b\""));
    free(text);
    axp_profiler_destroy(p);
}

/* A program's decimal comma does not show, and its locale stays. */
static void another_locale(void **state)
{
    (void)state;
    axp_profiler *p = busy_profiler();
    static const axp_format formats[] = {AXP_FORMAT_TEXT, AXP_FORMAT_JSON,
                                         AXP_FORMAT_MARKDOWN};
    char *before[3];
    for (int i = 0; i < 3; i++)
        before[i] = report_as(p, formats[i], NULL);
    const char *set = setlocale(LC_ALL, "de_DE.UTF-8");
    if (!set) set = setlocale(LC_ALL, "C.UTF-8");
    for (int i = 0; i < 3; i++) {
        char *after = report_as(p, formats[i], NULL);
        assert_string_equal(before[i], after);
        free(before[i]);
        free(after);
    }
    assert_string_equal(setlocale(LC_ALL, NULL), set ? set : "C");
    const char *const seven[] = {"slow_operation.percent=7.5"};
    free(report_as(p, AXP_FORMAT_TEXT,
                   &(axp_report_options){.thresholds = &(axp_thresholds){
                                             .set = seven, .n_set = 1}}));
    setlocale(LC_ALL, "C");
    axp_profiler_destroy(p);
}

/* A file may hold any numbers. */
static void spoil(struct axp__capture *c, double number, uint64_t count)
{
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t k = 0; k < lane->n_nodes; k++) {
            lane->nodes[k].flops = lane->nodes[k].bytes = number;
            lane->nodes[k].self_ticks = lane->nodes[k].calls = count;
            lane->nodes[k].total_ticks = lane->nodes[k].flops_ticks = count;
        }
        for (uint32_t k = 0; k < lane->n_counters; k++)
            lane->counters[k].last = lane->counters[k].sum = number;
        for (uint32_t k = 0; k < lane->n_traffic; k++)
            lane->traffic[k].allocated_bytes = count;
    }
    for (size_t i = 0; i < c->n_live; i++)
        c->live[i].at_peak_bytes = c->live[i].current_bytes = count;
    c->peak_bytes = count / 3;
}

static void any_numbers(void **state)
{
    (void)state;
    static const double numbers[] = {NAN, INFINITY, -INFINITY, -1, 1e300, 0};
    static const uint64_t counts[] = {0, 1, UINT64_MAX, UINT64_MAX / 2};
    const char *const set[] = {
        "low_throughput.peak_gflops=1e300", "low_throughput.roof_percent=1e9",
        "slow_operation.percent=0", "memory_leak.percent=0"};
    const axp_thresholds t = {.set = set, .n_set = 4};
    const axp_report_options o = {.thresholds = &t};
    for (size_t i = 0; i < 24; i++) {
        axp_profiler *p = busy_profiler();
        struct axp__capture *c = axp__capture_take(p);
        assert_non_null(c);
        spoil(c, numbers[i % 6], counts[i / 6]);
        axp_view *v = axp__view_make(c);
        assert_non_null(v);
        for (int k = AXP_FORMAT_TEXT; k <= AXP_FORMAT_MARKDOWN; k++) {
            char *text = NULL;
            size_t len;
            FILE *f = open_memstream(&text, &len);
            assert_int_equal(axp_report_write_ex(v, (axp_format)k, &o, f),
                             AXP_OK);
            fclose(f);
            check_bytes(text);
            assert_null(strstr(text, ": inf"));
            assert_null(strstr(text, ": nan"));
            assert_null(strstr(text, ": -inf"));
            free(text);
        }
        axp_view_destroy(v);
        axp_profiler_destroy(p);
    }
}

/* ---- the calls ------------------------------------------------------------------ */

static void what_cannot_be_written(void **state)
{
    (void)state;
    axp_profiler *p = busy_profiler();
    axp_view *v = ts_snapshot(p);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(axp_report_write(v, AXP_FORMAT_TEXT, full), AXP_E_IO);
    assert_non_null(strstr(axp_last_error(), "No space left"));
    fclose(full);
    assert_int_equal(axp_report_export(v, "/dev/full", AXP_FORMAT_JSON),
                     AXP_E_IO);
    assert_non_null(strstr(axp_last_error(), "/dev/full: No space left"));
    assert_int_equal(
        axp_report_export(v, "/no/such/dir/x.txt", AXP_FORMAT_TEXT), AXP_E_IO);
    assert_non_null(strstr(axp_last_error(), "/no/such/dir/x.txt"));
    assert_int_equal(axp_report_export(v, "", AXP_FORMAT_TEXT), AXP_E_INVALID);
    assert_int_equal(axp_report_export(NULL, "x", AXP_FORMAT_TEXT),
                     AXP_E_INVALID);
    assert_int_equal(axp_report_write(v, AXP_FORMAT_TEXT, NULL), AXP_E_INVALID);
    assert_int_equal(axp_report_write(NULL, AXP_FORMAT_TEXT, stderr),
                     AXP_E_INVALID);
    assert_int_equal(axp_report_write(v, (axp_format)99, stderr),
                     AXP_E_INVALID);
    assert_non_null(strstr(axp_last_error(), "text json markdown html"));
    assert_int_equal(axp_findings_write(NULL, stderr), AXP_E_INVALID);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* What fails leaves nothing behind, and no half of a report. */
static void what_fails_leaves_the_old_file(void **state)
{
    (void)state;
    axp_profiler *p = busy_profiler();
    axp_view *v = ts_snapshot(p);
    char path[] = "test_emit_text.XXXXXX", line[16];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old\n", 4), 4);
    close(fd);
    assert_int_equal(axp_report_export(v, path, (axp_format)99), AXP_E_INVALID);
    FILE *f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "old\n");
    fclose(f);
    unlink(path);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Ten rows are shown, so more than ten are grouped by who waited: whose end is not
 * known is no thread that ended some. */
static void waits_that_nobody_knows_the_end_of(void **state)
{
    (void)state;
    enum { N_NAMES = 11 };
    static char names[N_NAMES][16];
    axp_profiler *p = busy_profiler();
    axp_view *v = ts_snapshot(p);
    v->ops[0].is_wait = true;
    free(v->waits);
    v->waits = calloc(2 * N_NAMES + 1, sizeof *v->waits);
    for (size_t i = 0; i < N_NAMES; i++) {
        axp_waits w = {names[i], 1, 2, "waiter", 0, NULL, 3, 3 * MS, MS};
        snprintf(names[i], sizeof names[i], "wait %zu", i);
        v->waits[v->n_waits++] = w;
        w.count = 4;
        w.by_thread_id = 5;
        w.by_thread = "owner";
        if (i) v->waits[v->n_waits++] = w;
    }
    v->waits[v->n_waits++] =
        (axp_waits){names[2], 1, 2, "waiter", 6, "other", 1, MS, MS};
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(axp_report_write_ex(v, AXP_FORMAT_TEXT,
                                         &(axp_report_options){.width = 120},
                                         f),
                     AXP_OK);
    fclose(f);
    assert_null(strstr(text, "wait 0, ended by"));
    assert_non_null(strstr(text, "wait 1, ended by owner/5 (3 not known)"));
    assert_non_null(strstr(text, "wait 2, ended by 2 threads (3 not known)"));
    free(text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width),
        cmocka_unit_test(colour),
        cmocka_unit_test(a_name_of_a_mebibyte),
        cmocka_unit_test(any_names),
        cmocka_unit_test(any_numbers),
        cmocka_unit_test(very_many_threads),
        cmocka_unit_test(very_many_names),
        cmocka_unit_test(very_deep),
        cmocka_unit_test(levels_without_room),
        cmocka_unit_test(units_of_counters),
        cmocka_unit_test(rates_of_counters),
        cmocka_unit_test(waits_that_nobody_knows_the_end_of),
        cmocka_unit_test(few_findings),
        cmocka_unit_test(the_thresholds_in_force),
        cmocka_unit_test(another_locale),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(what_fails_leaves_the_old_file),
    };
    return TS_RUN(tests);
}
