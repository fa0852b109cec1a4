/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes against a golden file. With AXP_GOLDEN_UPDATE=1 in the environment the
 * file is written instead: read what changed before it is committed. */
#ifndef GOLDEN_COMPARE_H
#define GOLDEN_COMPARE_H
#include "test_support.h"

#include <errno.h>
#include <unistd.h>

static inline void golden_write(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f))
        fail_msg("%s: %s", path, strerror(errno));
}

/* NULL: there is none. */
static inline char *golden_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*len + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *len, f), *len);
    bytes[*len] = 0;
    fclose(f);
    return bytes;
}

/* What was made stays beside the test, for a diff. */
static inline void golden_compare(const char *path, const char *bytes,
                                  size_t len)
{
    size_t expected_len = 0, at = 0, line = 1;
    const char *update = getenv("AXP_GOLDEN_UPDATE");
    if (update && *update == '1') {
        golden_write(path, bytes, len);
        return;
    }
    char *expected = golden_read(path, &expected_len);
    if (!expected) fail_msg("%s: %s", path, strerror(errno));
    while (at < len && at < expected_len && bytes[at] == expected[at])
        if (bytes[at++] == '\n') line++;
    bool is_same = at == len && at == expected_len;
    free(expected);
    if (is_same) return;
    char made[600];
    const char *slash = strrchr(path, '/');
    snprintf(made, sizeof made, "made.%s", slash ? slash + 1 : path);
    golden_write(made, bytes, len);
    fail_msg("%s differs in line %zu from what was made (now in %s)", path,
             line, made);
}

#endif
