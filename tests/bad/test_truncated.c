/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file that ends anywhere opens to its longest valid prefix; one with any
 * byte changed opens or says why not, and check finds it. */
#include "file_support.h"

#include "file/file_read.h"
#include "view_dump.h"

#define STRIDE (TS_SLOW || AXP_EMULATED ? 11u : 1u)

static uint8_t *make_file(const char *path, size_t *len)
{
    axp_profiler *p = fs_record(path, (axp_options){.title = "small"});
    fs_everything(p, 4);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    return fs_read(path, len);
}

static void every_length_opens(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *cut = fs_path("y.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len);
    uint64_t last_events = 0;
    axp_view *whole = fs_open(path);
    for (size_t n = 0; n < len; n += STRIDE) {
        axp_view *v = NULL;
        fs_write(cut, bytes, n);
        axp_status status = axp_open(&cut, 1, &v);
        if (n < AXP__FILE_HEAD) {
            assert_int_equal(status, AXP_E_FORMAT);
            assert_non_null(strstr(axp_last_error(), "no trace"));
            continue;
        }
        assert_int_equal(status, AXP_OK);
        uint64_t events = axp_view_event_count(v);
        assert_true(events >= last_events);
        last_events = events;
        /* said, where something is missing that was begun */
        struct axp__file *f;
        assert_int_equal(axp__file_open(cut, &f), AXP_OK);
        assert_false(f->is_finished);
        assert_true(f->end <= n);
        uint64_t n_index = ts_view_warnings(v, "cut_index");
        assert_true(ts_view_warnings(v, "cut_file") + n_index == n - f->end);
        if (f->end < n) assert_int_equal(axp_view_damage(v) == 0, n_index > 0);
        if (n_index) assert_int_equal(events, axp_view_event_count(whole));
        if (f->end < n) assert_int_equal(f->fault.at, f->end);
        assert_int_equal(f->n_damaged, 0);
        axp__file_close(f);
        char *dump = vd_dump(v, false);
        assert_true(strlen(dump) > 0);
        free(dump);
        axp_view_destroy(v);
    }
    assert_int_equal(last_events, axp_view_event_count(whole));
    axp_view_destroy(whole);
    free(bytes);
}

static void every_changed_byte_is_found(void **state)
{
    (void)state;
    const char *path = fs_path("x.axp"), *changed = fs_path("y.axp");
    size_t len;
    uint8_t *bytes = make_file(path, &len);
    assert_int_equal(fs_check(path, NULL), AXP_OK);
    for (size_t i = 0; i < len; i += STRIDE) {
        bytes[i] ^= (uint8_t)(1u << i % 8);
        fs_write(changed, bytes, len);
        axp_status status = fs_check(changed, NULL);
        if (status == AXP_OK) fail_msg("byte %zu of %zu was changed", i, len);
        axp_view *v = NULL;
        if (i >= AXP__FILE_HEAD) assert_int_equal(axp_open(&changed, 1, &v), 0);
        axp_view_destroy(v);
        bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(every_length_opens),
        FS_TEST(every_changed_byte_is_found),
    };
    return TS_RUN(tests);
}
