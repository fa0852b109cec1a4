/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that are wrong in one way each: the status, the sentence, the byte. */
#include <errno.h>

#include "file_support.h"

#include "file/file_fold.h"
#include "file/file_open.h"
#include "file/file_walk.h"
#include "file/file_pack.h"
#include "file/file_write.h"
#include "view_dump.h"
#include "wire/wire_body.h"
#include "wire/wire_index.h"

static uint8_t *make_file(const char *path, size_t *len, unsigned rounds)
{
    axp_profiler *p = fs_record(path, (axp_options){.title = "small"});
    fs_everything(p, rounds);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    return fs_read(path, len);
}

static void expect(const char *path, axp_status status, const char *words)
{
    axp_view *v = NULL;
    assert_int_equal(axp_open(&path, 1, &v), status);
    assert_null(v);
    if (!strstr(axp_last_error(), words))
        fail_msg("'%s' does not say '%s'", axp_last_error(), words);
}

/* The first block of a kind. */
static struct axp__index_entry find_block(const char *path,
                                          enum axp__block_kind kind)
{
    struct axp__file *f;
    struct axp__file_walk w;
    struct axp__index_entry found = {0};
    assert_int_equal(axp__file_open(path, &f), AXP_OK);
    axp__file_walk_begin(&w, f);
    while (!found.at && axp__file_walk_next(&w))
        if (w.entry.block.kind == kind) found = w.entry;
    axp__file_close(f);
    assert_true(found.at);
    return found;
}

/* ---- what is no trace -------------------------------------------------------------- */

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    const char *path = fs_path("x");
    expect(fs_path("not there"), AXP_E_NOT_FOUND, "No such file");
    expect(fs_folder, AXP_E_FORMAT, "not a regular file");
    fs_write(path, "", 0);
    expect(path, AXP_E_FORMAT, "no trace");
    char text[4096];
    memset(text, 'x', sizeof text);
    fs_write(path, text, sizeof text);
    expect(path, AXP_E_FORMAT, "no trace");
    expect("/dev/zero", AXP_E_FORMAT, "not a regular file");
    assert_int_equal(mkfifo(fs_path("pipe"), 0600), 0);
    expect(fs_path("pipe"), AXP_E_FORMAT, "not a regular file");
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    axp_view *v;
    const char *none = NULL;
    assert_int_equal(axp_open(NULL, 1, &v), AXP_E_INVALID);
    assert_int_equal(axp_open(&none, 0, &v), AXP_E_INVALID);
    assert_int_equal(axp_open(&none, 1, &v), AXP_E_INVALID);
    assert_int_equal(axp_file_check(NULL, stdout), AXP_E_INVALID);
    assert_int_equal(axp_file_pack(NULL, NULL), AXP_E_INVALID);
    assert_int_equal(axp_file_info_write(&none, 1, stdout), AXP_E_INVALID);
}

static void a_newer_version_is_named(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 1);
    bytes[8] = 9;
    fs_write(path, bytes, len);
    expect(path, AXP_E_FORMAT, "version 9");
    bytes[8] = 1;
    bytes[40] ^= 1;
    fs_write(path, bytes, len);
    expect(path, AXP_E_FORMAT, "header is damaged (byte 0)");
    free(bytes);
}

/* ---- blocks ---------------------------------------------------------------------------- */

/* The file without its index, so that it is read from block to block. */
static void write_unfinished(const char *path, const uint8_t *bytes, size_t len)
{
    struct axp__file_tail tail;
    if (!axp__file_tail_get(bytes + len - AXP__FILE_TAIL, &tail))
        len = (size_t)tail.index_at;
    fs_write(path, bytes, len);
}

static void damage_is_passed_over_and_counted(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *bad = fs_path("y.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 400);
    axp_view *whole = fs_open(path);
    struct axp__index_entry e = find_block(path, AXP__B_PACK);
    bytes[e.at + AXP__BLOCK_HEAD + 5] ^= 8; /* its body */
    write_unfinished(bad, bytes, len);
    axp_view *v = fs_open(bad);
    assert_int_equal(ts_view_warnings(v, "damaged_blocks"), 1);
    assert_true(axp_view_event_count(v) < axp_view_event_count(whole));
    assert_true(axp_view_event_count(v) > 0);
    axp_view_destroy(v);
    struct axp__file *f;
    assert_int_equal(axp__file_open(bad, &f), AXP_OK);
    assert_int_equal(f->fault.at, e.at);
    assert_string_equal(f->fault.what, "a block is damaged");
    axp__file_close(f);

    bytes[e.at + AXP__BLOCK_HEAD + 5] ^= 8;
    bytes[e.at + 9] ^= 8; /* its head: the next one is looked for */
    write_unfinished(bad, bytes, len);
    assert_int_equal(axp__file_open(bad, &f), AXP_OK);
    assert_int_equal(f->fault.at, e.at);
    assert_string_equal(f->fault.what, "no block begins here");
    assert_int_equal(f->n_damaged, 1);
    assert_int_equal(f->end, f->bytes);
    axp__file_close(f);
    /* the statistics are there, and they are all of them */
    v = fs_open(bad);
    assert_int_equal(ts_view_op(v, "matmul").calls,
                     ts_view_op(whole, "matmul").calls);
    axp_view_destroy(v);
    axp_view_destroy(whole);
    free(bytes);
}

/* In a finished file damage in the timeline shows when it is read. */
static void damage_in_a_finished_file(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 100);
    struct axp__index_entry e = find_block(path, AXP__B_PACK);
    bytes[e.at + AXP__BLOCK_HEAD + 5] ^= 8;
    fs_write(path, bytes, len);
    axp_view *v = fs_open(path);
    char *dump = vd_dump(v, false);
    free(dump);
    axp_view_destroy(v);
    char *said, where[64];
    assert_int_equal(fs_check(path, &said), AXP_E_FORMAT);
    snprintf(where, sizeof where, "byte %llu, pack block: its checksum",
             (unsigned long long)e.at);
    assert_non_null(strstr(said, where));
    free(said);
    free(bytes);
}

static size_t append(uint8_t *bytes, size_t at, struct axp__block b,
                     const void *body, size_t n)
{
    struct iovec piece = {(void *)(uintptr_t)body, n};
    axp__block_seal(bytes + at, &b, &piece, 1);
    memset(bytes + at + AXP__BLOCK_HEAD, 0, (n + 7) & ~(size_t)7);
    memcpy(bytes + at + AXP__BLOCK_HEAD, body, n);
    return at + (size_t)axp__block_span(&b);
}

/* A file to which a block can be added in the place of its index. */
static uint8_t *make_extensible(const char *path, size_t *index_at)
{
    size_t len;
    uint8_t *bytes = make_file(path, &len, 2);
    struct axp__file_tail tail;
    assert_int_equal(axp__file_tail_get(bytes + len - AXP__FILE_TAIL, &tail),
                     AXP__BLOCK_OK);
    *index_at = (size_t)tail.index_at;
    return realloc(bytes, len + 1000);
}

static void unknown_kinds_are_named(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t index_at;
    uint8_t *bytes = make_extensible(path, &index_at);
    size_t end = append(bytes, index_at,
                        (struct axp__block){.kind = (enum axp__block_kind)777},
                        "future", 6);
    fs_write(path, bytes, end);
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_warnings(v, "unknown_blocks"), 1);
    axp_view_destroy(v);
    char *said = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&said, &n);
    assert_int_equal(axp_file_info_write(&path, 1, to), AXP_OK);
    fclose(to);
    assert_non_null(strstr(said, "1 block of kind 777"));
    free(said);
    free(bytes);
}

static void a_claim_of_two_gigabytes_is_not_believed(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 2);
    struct axp__file_tail tail;
    axp__file_tail_get(bytes + len - AXP__FILE_TAIL, &tail);
    struct axp__block b = {.kind = AXP__B_STATE,
                           .body_bytes = AXP__BODY_MAX - 8};
    axp__block_put(bytes + tail.index_at, &b);
    fs_write(path, bytes, len);
    struct axp__file *f;
    assert_int_equal(axp__file_open(path, &f), AXP_OK);
    assert_int_equal(f->fault.at, tail.index_at);
    assert_string_equal(f->fault.what, "the file ends within a block");
    axp__file_close(f);
    free(bytes);
}

/* Room is made for the names that a file of its length may have. */
static void names_past_a_million_are_not_believed(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t index_at;
    uint8_t *bytes = make_extensible(path, &index_at);
    size_t end =
        append(bytes, index_at,
               (struct axp__block){
                   .kind = AXP__B_NAMES, .seq = AXP__MAX_NAMES - 2, .n = 1},
               "\0\0\1\0x", 5);
    fs_write(path, bytes, end);
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    assert_true(o.capture->n_names >= 20 && o.capture->n_names <= end / 4);
    o.capture->release(o.capture);
    axp_view *v = fs_open(path);
    assert_true(ts_view_op(v, "matmul").calls > 0);
    axp_view_destroy(v);
    free(bytes);
}

/* Statistics that cannot be read are counted again from the timeline. */
static void without_state_the_timeline_is_folded(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 100);
    axp_view *whole = fs_open(path);
    struct axp__index_entry e = find_block(path, AXP__B_STATE);
    bytes[e.at + AXP__BLOCK_HEAD + 3] ^= 1;
    fs_write(path, bytes, len);
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_warnings(v, "folded_again"), 1);
    axp_op a = ts_view_op(whole, "matmul"), b = ts_view_op(v, "matmul");
    assert_int_equal(a.calls, b.calls);
    assert_int_equal(a.total_ns, b.total_ns);
    assert_int_equal(a.self_ns, b.self_ns);
    assert_int_equal(a.p99_ns, b.p99_ns);
    assert_int_equal(axp_view_memory(whole).peak_bytes,
                     axp_view_memory(v).peak_bytes);
    assert_int_equal(axp_view_steps(whole).count, axp_view_steps(v).count);
    assert_int_equal(axp_view_threads(whole, NULL, 0),
                     axp_view_threads(v, NULL, 0));
    axp_view_destroy(v);
    axp_view_destroy(whole);
    free(bytes);
}

static void names_that_are_lost(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 3);
    struct axp__index_entry e = find_block(path, AXP__B_NAMES);
    bytes[e.at + AXP__BLOCK_HEAD + 3] ^= 1;
    fs_write(path, bytes, len);
    axp_view *v = fs_open(path);
    axp_op ops[4];
    assert_true(axp_view_ops(v, AXP_BY_SELF, ops, 4) > 0);
    assert_non_null(ops[0].name);
    axp_view_destroy(v);
    free(bytes);
}

/* ---- words that do not tell what was counted ------------------------------------------------ */

/* The file once more with one word changed, every checksum right. */
static void write_changed(const char *path, const char *to,
                          enum axp__word_kind kind)
{
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    struct axp__capture *c = o.capture;
    uint64_t *copies[64] = {0};
    bool is_done = false;
    assert_true(c->n_chunks < 64);
    for (size_t i = 0; i < c->n_chunks; i++) {
        struct axp__cap_words w;
        assert_true(axp__words_load(&c->chunks[i], 0, &w));
        copies[i] = malloc(w.n_words * 8);
        memcpy(copies[i], w.words, w.n_words * 8);
        assert_true(w.n_words <= AXP__CHUNK_WORDS);
        for (size_t k = 0; k < w.n_words && !is_done;
             k += 1 + axp__payload_words(axp__word_kind(copies[i][k]))) {
            if (axp__word_kind(copies[i][k]) == AXP__W_EXT) break;
            if (axp__word_kind(copies[i][k]) != kind) continue;
            copies[i][k] += (uint64_t)1 << AXP__TIME_SHIFT; /* a tick later */
            is_done = true;
        }
        c->chunks[i].words = copies[i];
        c->chunks[i].n_words = w.n_words;
        axp__words_unload(&w);
    }
    assert_true(is_done);
    struct axp__to_write what = {.capture = c,
                                 .head = &o.file->head,
                                 .about = &o.about,
                                 .epoch = o.epoch};
    assert_int_equal(axp__file_write(to, true, &what), AXP_OK);
    for (size_t i = 0; i < c->n_chunks; i++)
        free(copies[i]);
    c->release(c);
}

static void one_end_a_tick_later_is_found(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *bad = fs_path("y.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    for (int i = 0; i < 100; i++) {
        AXP_SCOPE_IN(p, "a");
        AXP_SCOPE_IN(p, "b");
    }
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    fs_assert_sound(path);
    write_changed(path, bad, AXP__W_END);
    char *said;
    assert_int_equal(fs_check(bad, &said), AXP_E_FORMAT);
    assert_non_null(strstr(said, "total ticks: stored"));
    free(said);
}

/* ---- packs whose checksum is right -------------------------------------------------------------- */

/* Every byte of a pack's body changed in turn: it is refused, or gives other
 * words, and never more than it claims. */
static void hostile_packs_do_no_harm(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len, 30);
    struct axp__index_entry e = find_block(path, AXP__B_PACK);
    uint8_t *body = bytes + e.at + AXP__BLOCK_HEAD;
    uint64_t rng = 7;
    size_t n = (size_t)e.block.body_bytes, n_refused = 0;
    for (size_t i = 0; i < 20 * n; i++) {
        struct axp__unpacked u;
        size_t at = ts_random(&rng) % (i % 2 ? n : n < 400 ? n : 400);
        uint8_t before = body[at];
        body[at] = (uint8_t)ts_random(&rng);
        if (axp__file_unpack(&e.block, body, &u) == AXP__UNPACK_OK)
            assert_true(u.n_words <= e.block.n_words + 2 * e.block.n);
        else
            n_refused++;
        axp__unpacked_fini(&u);
        body[at] = before;
    }
    assert_true(n_refused > 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(what_is_no_trace_is_refused),
        FS_TEST(wrong_arguments_are_refused),
        FS_TEST(a_newer_version_is_named),
        FS_TEST(damage_is_passed_over_and_counted),
        FS_TEST(damage_in_a_finished_file),
        FS_TEST(unknown_kinds_are_named),
        FS_TEST(a_claim_of_two_gigabytes_is_not_believed),
        FS_TEST(names_past_a_million_are_not_believed),
        FS_TEST(without_state_the_timeline_is_folded),
        FS_TEST(names_that_are_lost),
        FS_TEST(one_end_a_tick_later_is_found),
        FS_TEST(hostile_packs_do_no_harm),
    };
    return TS_RUN(tests);
}
