/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a file's small blocks say: texts by key (ABOUT), names by id (NAMES),
 * threads and tracks (ROWS). Copied into a capture's memory. And texts as they may
 * be printed.
 *
 * Input    untrusted: ids are bounded, texts end in 0 here, blocks that are
 *          damaged are passed over.
 */
#ifndef AXP_FILE_TEXTS_H
#define AXP_FILE_TEXTS_H
#include <stdio.h>

#include "file/file_read.h"
#include "wire/wire_body.h"

struct axp__about_pair {
    const char *key, *value; /* a value may hold 0 bytes; it ends in one too */
    size_t len;
};

struct axp__about {
    struct axp__about_pair *pair; /* in the order of the file */
    size_t n, cap;
};

/* Calls fn with the body of every block of a kind; what cannot be read is
 * passed over. False: no memory, or fn said so. */
typedef bool (*axp__body_fn)(void *ctx, const struct axp__block *b,
                             struct axp__bytes body);
bool axp__file_each_body(struct axp__file *f, enum axp__block_kind kind,
                         axp__body_fn fn, void *ctx);

/* Each false: no memory. */
bool axp__file_about(struct axp__file *f, struct axp__capture *c,
                     struct axp__about *out);
/* Sets name_at and own of c. */
bool axp__file_names(struct axp__file *f, struct axp__capture *c);
/* *out in c's memory, *n of them, by id; the last of an id counts. */
bool axp__file_rows(struct axp__file *f, struct axp__capture *c,
                    struct axp__row_record **out, size_t *n);

/* The last value of a key, NULL: there is none. */
const char *axp__about_text(const struct axp__about *a, const char *key);
/* As a number; `otherwise` where there is none. */
uint64_t axp__about_number(const struct axp__about *a, const char *key,
                           uint64_t otherwise);

/* ---- for the terminal ------------------------------------------------------ */

/* Control characters as blanks, bytes that are not UTF-8 as question marks. */
void axp__text_put(FILE *to, const char *text, size_t len);
/* A line, where it was counted at all: how often, what, and on what last. */
void axp__text_put_warning(FILE *to, const char *label,
                           const struct axp__capture *c,
                           const struct axp__cap_warning *w);

#endif
