/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small blocks; see file_texts.h. */
#include "file/file_texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"

bool axp__file_each_body(struct axp__file *f, enum axp__block_kind kind,
                         axp__body_fn fn, void *ctx)
{
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct axp__block *b = &f->entry[i].block;
        axp_status status;
        if (b->kind != kind) continue;
        uint8_t *body = axp__file_body(f, &f->entry[i], &status);
        if (!body && status == AXP_E_NO_MEMORY) return false;
        if (!body) f->n_damaged++;
        if (!body) continue;
        bool ok =
            fn(ctx, b, (struct axp__bytes){body, body + b->body_bytes, false});
        free(body);
        if (!ok) return false;
    }
    return true;
}

/* Where texts go, each with a 0 behind it. */
static const char *keep(char **to, struct axp__slice text)
{
    char *at = *to;
    if (text.len) memcpy(at, text.at, text.len);
    at[text.len] = 0;
    *to += text.len + 1;
    return at;
}

/* ---- about -------------------------------------------------------------------- */

struct about_reader {
    struct axp__capture *c;
    struct axp__about *out;
};

static bool add_pair(struct about_reader *r, struct axp__about_pair pair)
{
    struct axp__about *a = r->out;
    if (a->n == a->cap) {
        size_t cap = a->cap ? a->cap * 2 : 256;
        struct axp__about_pair *wider = axp__cap_take(r->c, cap, sizeof *wider);
        if (!wider) return false;
        if (a->n) memcpy(wider, a->pair, a->n * sizeof *wider);
        a->pair = wider;
        a->cap = cap;
    }
    a->pair[a->n++] = pair;
    return true;
}

static bool read_about(void *ctx, const struct axp__block *b,
                       struct axp__bytes body)
{
    struct about_reader *r = ctx;
    struct axp__slice key, value;
    /* two varints become two zeros */
    char *to = axp__cap_take(r->c, (size_t)b->body_bytes + 2, 1);
    if (!to) return false;
    while (axp__about_get(&body, &key, &value)) {
        struct axp__about_pair pair = {.key = keep(&to, key)};
        pair.value = keep(&to, value);
        pair.len = value.len;
        if (!add_pair(r, pair)) return false;
    }
    return true;
}

bool axp__file_about(struct axp__file *f, struct axp__capture *c,
                     struct axp__about *out)
{
    struct about_reader r = {c, out};
    *out = (struct axp__about){0};
    return axp__file_each_body(f, AXP__B_ABOUT, read_about, &r);
}

const char *axp__about_text(const struct axp__about *a, const char *key)
{
    for (size_t i = a->n; i--;)
        if (!strcmp(a->pair[i].key, key)) return a->pair[i].value;
    return NULL;
}

uint64_t axp__about_number(const struct axp__about *a, const char *key,
                           uint64_t otherwise)
{
    const char *text = axp__about_text(a, key);
    uint64_t v = 0;
    if (!text || !*text) return otherwise;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (digit > 9 || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return otherwise;
    }
    return v;
}

/* ---- names ------------------------------------------------------------------------ */

struct names {
    struct axp__cap_name *at;
    uint32_t n;
};

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    const struct names *names = c->own;
    if (id >= AXP__CAP_SPECIALS && id < names->n && names->at[id].text)
        return names->at[id];
    return axp__cap_special(id);
}

struct name_reader {
    struct axp__capture *c;
    struct names *names;
};

#define LEAST_NAME 4u /* bytes that one takes */

static bool read_names(void *ctx, const struct axp__block *b,
                       struct axp__bytes body)
{
    struct name_reader *r = ctx;
    struct axp__name_record name;
    uint64_t id = b->seq;
    /* lengths become zeros */
    char *to = axp__cap_take(r->c, (size_t)b->body_bytes + 2, 1);
    if (!to) return false;
    for (; id < r->names->n && axp__name_get(&body, &name); id++) {
        struct axp__cap_name *at = &r->names->at[id];
        at->text = keep(&to, name.text);
        at->file = name.file.at ? keep(&to, name.file) : NULL;
        at->line = (int)name.line;
        at->flags = name.flags;
    }
    return true;
}

bool axp__file_names(struct axp__file *f, struct axp__capture *c)
{
    struct names *names = axp__cap_take(c, 1, sizeof *names);
    uint64_t end = 0;
    if (!names) return false;
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct axp__block *b = &f->entry[i].block;
        uint64_t most = b->body_bytes / LEAST_NAME;
        if (b->n < most) most = b->n;
        if (b->kind != AXP__B_NAMES || b->seq >= AXP__MAX_NAMES) continue;
        if (b->seq + most > end) end = b->seq + most;
    }
    /* Names before those of a block are in the file too, if only damaged. */
    if (end > f->bytes / LEAST_NAME) end = f->bytes / LEAST_NAME;
    if (end > AXP__MAX_NAMES) end = AXP__MAX_NAMES;
    names->at = axp__cap_take(c, (size_t)end, sizeof *names->at);
    if (!names->at) return false;
    names->n = (uint32_t)end;
    c->own = names;
    c->name_at = name_at;
    c->n_names = names->n;
    struct name_reader r = {c, names};
    return axp__file_each_body(f, AXP__B_NAMES, read_names, &r) &&
           axp__cap_list_names(c);
}

/* ---- rows --------------------------------------------------------------------------- */

struct row_reader {
    struct axp__row_record *at;
    size_t n, cap;
};

static bool read_rows(void *ctx, const struct axp__block *b,
                      struct axp__bytes body)
{
    struct row_reader *r = ctx;
    (void)b;
    while (r->n < r->cap && axp__row_get(&body, &r->at[r->n]))
        r->n++;
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct axp__row_record *x = *(const struct axp__row_record *const *)a;
    const struct axp__row_record *y = *(const struct axp__row_record *const *)b;
    if (x->id != y->id) return x->id > y->id ? 1 : -1;
    return (x > y) - (x < y);
}

/* By id, and of each id the last one. */
static bool settle_rows(struct axp__capture *c, struct row_reader *r)
{
    struct axp__row_record *rows = axp__cap_take(c, r->n, sizeof *rows);
    const struct axp__row_record **list = malloc((r->n + 1) * sizeof *list);
    size_t kept = 0;
    for (size_t i = 0; list && i < r->n; i++)
        list[i] = &r->at[i];
    if (list && r->n) qsort(list, r->n, sizeof *list, by_id);
    for (size_t i = 0; rows && list && i < r->n; i++)
        if (i + 1 == r->n || list[i]->id != list[i + 1]->id)
            rows[kept++] = *list[i];
    bool ok = rows && list;
    free(list);
    r->at = rows;
    r->n = kept;
    return ok;
}

bool axp__file_rows(struct axp__file *f, struct axp__capture *c,
                    struct axp__row_record **out, size_t *n)
{
    struct row_reader r = {0};
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct axp__block *b = &f->entry[i].block;
        /* a row takes 5 bytes at least */
        if (b->kind == AXP__B_ROWS)
            r.cap += b->body_bytes / 5 < b->n ? b->body_bytes / 5 : b->n;
    }
    r.at = axp__cap_take(c, r.cap, sizeof *r.at);
    if (!r.at || !axp__file_each_body(f, AXP__B_ROWS, read_rows, &r))
        return false;
    if (!settle_rows(c, &r)) return false;
    *out = r.at;
    *n = r.n;
    return true;
}

/* ---- for the terminal ------------------------------------------------------ */

void axp__text_put(FILE *to, const char *text, size_t len)
{
    bool is_utf8 = axp__text_is_utf8(text, len);
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)text[i];
        bool is_c1 = is_utf8 && ch == 0xc2 && i + 1 < len &&
                     (unsigned char)text[i + 1] < 0xa0;
        if (is_c1) i++;
        if (ch < 0x20 || ch == 0x7f || is_c1)
            fputc(' ', to);
        else
            fputc(ch >= 0x80 && !is_utf8 ? '?' : ch, to);
    }
}

void axp__text_put_warning(FILE *to, const char *label,
                           const struct axp__capture *c,
                           const struct axp__cap_warning *w)
{
    const char *name = w->name ? c->name_at(c, w->name).text : "";
    if (!w->count) return;
    fputs(label, to);
    if (w->count > 1) fprintf(to, "%" PRIu64 " ", w->count); /* plurals */
    axp__text_put(to, w->text, strlen(w->text));
    if (*name) fputs(" (", to);
    axp__text_put(to, name, strlen(name));
    fputs(*name ? ")\n" : "\n", to);
}
