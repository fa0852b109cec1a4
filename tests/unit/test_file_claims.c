/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks that claim to hold far more words than their bytes explain: readers
 * refuse the file before they make room for them, whether it is one recording
 * or many. */
#include <unistd.h>

#include "test_support.h"

#include "../attack/bomb_write.h"
#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"

#define WORDS_A_BLOCK (AXP__PACK_CHUNKS * AXP__CHUNK_WORDS)
#define BLOCKS_FREE (AXP__WORDS_FREE / WORDS_A_BLOCK)

static char path[] = "/tmp/axprof-claims-XXXXXX";

/* A body that is no pack's: whoever looks at it passes over it. */
static void claim(struct bomb *b, unsigned n_blocks)
{
    static const uint8_t body[64];
    for (unsigned i = 0; i < n_blocks; i++)
        bomb_block(b,
                   (struct axp__block){.kind = AXP__B_PACK,
                                       .row = 1,
                                       .seq = 1 + AXP__PACK_CHUNKS * i,
                                       .n = AXP__PACK_CHUNKS,
                                       .n_words = WORDS_A_BLOCK},
                   body, sizeof body);
}

static axp_status open_it(void)
{
    axp_view *v = NULL;
    const char *paths[] = {path};
    axp_status status = axp_open(paths, 1, &v);
    axp_view_destroy(v);
    return status;
}

/* AXP_E_FORMAT, by every way to read it. */
static void assert_refused(void)
{
    FILE *to = tmpfile();
    const char *paths[] = {path};
    char out[sizeof path + 8];
    snprintf(out, sizeof out, "%s.out", path);
    assert_int_equal(open_it(), AXP_E_FORMAT);
    assert_int_equal(axp_file_check(path, to), AXP_E_FORMAT);
    assert_int_equal(axp_file_pack(path, out), AXP_E_FORMAT);
    assert_int_not_equal(axp_file_info_write(paths, 1, to), AXP_OK);
    assert_int_not_equal(access(out, F_OK), 0);
    fclose(to);
}

static void some_are_free(void **state)
{
    (void)state;
    struct bomb b;
    bomb_init(&b);
    claim(&b, BLOCKS_FREE - 1);
    bomb_write(&b, path);
    assert_int_not_equal(open_it(), AXP_E_FORMAT);
}

static void more_are_refused(void **state)
{
    (void)state;
    struct bomb b;
    bomb_init(&b);
    claim(&b, BLOCKS_FREE + 2);
    bomb_write(&b, path);
    assert_refused();
}

/* What is free is free once, not for each recording. */
static void many_recordings_share_them(void **state)
{
    (void)state;
    struct bomb b;
    bomb_init(&b);
    for (unsigned i = 0; i < 8; i++) {
        if (i) bomb_head(&b, 1 + i);
        claim(&b, BLOCKS_FREE / 2);
    }
    bomb_write(&b, path);
    assert_refused();
}

/* Sixteen words a byte is what a packer does at most. */
static void packed_as_tightly_as_can_be(void **state)
{
    (void)state;
    struct bomb b;
    bomb_init(&b);
    for (size_t i = 0; i < 4 * WORDS_A_BLOCK; i++)
        bomb_word(&b, AXP__W_INSTANT, 5);
    bomb_row_end(&b, 1, true);
    uint64_t bytes = bomb_write(&b, path);
    assert_true(4 * WORDS_A_BLOCK <= AXP__WORDS_A_BYTE * bytes);
    assert_int_equal(open_it(), AXP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_are_free),
        cmocka_unit_test(more_are_refused),
        cmocka_unit_test(many_recordings_share_them),
        cmocka_unit_test(packed_as_tightly_as_can_be),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = TS_RUN(tests);
    unlink(path);
    return failed;
}
