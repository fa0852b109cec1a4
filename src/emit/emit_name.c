/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names for a terminal; see emit_name.h. */
#include "emit/emit_name.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit_out.h"
#include "symbol/symbol_signature.h"

enum kind { NONE, WIDE, HIDDEN, NORMAL };

/* ---- characters -------------------------------------------------------------- */

static enum kind kind_of(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        enum kind kind;
    } table[] = {
#define W(first, last, kind) {first, last, kind},
#include "emit/emit_width.def"
#undef W
    };
    size_t low = 0, high = sizeof table / sizeof *table;
    if (code < 0x20 || code == 0x7f) return HIDDEN;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (code > table[mid].last)
            low = mid + 1;
        else if (code < table[mid].first)
            high = mid;
        else
            return table[mid].kind;
    }
    return NORMAL;
}

/* Of a valid sequence of n bytes. */
static uint32_t code_at(const char *text, size_t n)
{
    static const uint8_t mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = s[0] & mask[n];
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

static size_t put_hidden(char *to, uint32_t code)
{
    const char *found = code < 0x20 ? strchr("\nn\rr\tt", (int)code) : NULL;
    if (code && found) {
        to[0] = '\\';
        to[1] = found[1];
        return 2;
    }
    /* At most 4 bytes for one, 6 for two or three, 8 for four. */
    return (size_t)sprintf(to, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

char *axp__plain(const char *text)
{
    size_t left = text ? strlen(text) : 0, len = 0;
    char *out = calloc(left + 2, 4);
    if (!out) return NULL;
    bool is_blank = left && text[strspn(text, " ")] == 0;
    while (left) {
        size_t n = axp__utf8_len(text, left);
        uint32_t code = n ? code_at(text, n) : 0xfffd;
        enum kind kind = kind_of(code);
        if (kind == HIDDEN || is_blank) {
            len += put_hidden(out + len, code);
        } else {
            /* a mark on nothing gets something to stand on */
            const char *from = n ? text : "\xef\xbf\xbd";
            size_t bytes = n ? n : 3;
            if (kind == NONE && len == 0) {
                memcpy(out, "\xe2\x97\x8c", 3);
                len = 3;
            }
            memcpy(out + len, from, bytes);
            len += bytes;
        }
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    out[len] = 0;
    return out;
}

size_t axp__next_cell(const char *plain, unsigned *columns)
{
    size_t n = axp__utf8_len(plain, *plain ? 4 : 0), more;
    *columns = 0;
    if (!n) return 0;
    enum kind kind = kind_of(code_at(plain, n));
    *columns = kind == WIDE ? 2 : kind == NONE ? 0 : 1;
    while (plain[n] && (more = axp__utf8_len(plain + n, 4)) &&
           kind_of(code_at(plain + n, more)) == NONE)
        n += more;
    return n;
}

size_t axp__columns(const char *plain)
{
    size_t sum = 0, n;
    unsigned columns;
    while ((n = axp__next_cell(plain, &columns))) {
        sum += columns;
        plain += n;
    }
    return sum;
}

/* ---- cutting --------------------------------------------------------------------- */

struct cell {
    uint32_t at;
    uint8_t columns;
};

struct text { /* a name, cut into cells */
    char *plain;
    struct cell *cells; /* and one more, at the end */
    size_t n_cells, columns;
};

static bool init_text(struct text *t, const char *name)
{
    size_t n, at = 0;
    unsigned columns;
    t->plain = axp__plain(name);
    t->cells =
        t->plain ? malloc((strlen(t->plain) + 1) * sizeof *t->cells) : NULL;
    if (!t->cells) return false;
    while ((n = axp__next_cell(t->plain + at, &columns))) {
        t->cells[t->n_cells++] = (struct cell){(uint32_t)at, (uint8_t)columns};
        t->columns += columns;
        at += n;
    }
    t->cells[t->n_cells] = (struct cell){(uint32_t)at, 0};
    return true;
}

/* Appends the cells from..to of which `columns` have room; forwards they are
 * counted from the front, backwards from the end. Returns the new end. */
static char *put_front(char *out, const struct text *t, size_t from,
                       size_t columns)
{
    size_t to = from;
    while (to < t->n_cells && t->cells[to].columns <= columns)
        columns -= t->cells[to++].columns;
    size_t len = t->cells[to].at - t->cells[from].at;
    memcpy(out, t->plain + t->cells[from].at, len);
    return out + len;
}

static char *put_back(char *out, const struct text *t, size_t columns)
{
    size_t from = t->n_cells;
    while (from && t->cells[from - 1].columns <= columns)
        columns -= t->cells[--from].columns;
    size_t len = t->cells[t->n_cells].at - t->cells[from].at;
    memcpy(out, t->plain + t->cells[from].at, len);
    return out + len;
}

static char *put_text(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    *out = 0;
    return out;
}

/* head…tail. These return where the text ends. */
static char *cut_middle(char *out, const struct text *t, size_t columns)
{
    if (t->columns <= columns) return put_text(out, t->plain);
    size_t head = columns < 3 ? columns : columns / 2;
    out = put_front(out, t, 0, head);
    if (columns >= 3) {
        out = put_text(out, AXP__ELLIPSIS);
        out = put_back(out, t, columns - head - 1);
    }
    *out = 0;
    return out;
}

static size_t columns_from(const struct text *t, size_t from)
{
    size_t columns = 0;
    for (; from < t->n_cells; from++)
        columns += t->cells[from].columns;
    return columns;
}

#define LEAST_HEAD 3

/* head…what begins at `from`…tail; with all from there on, where that has room */
static char *cut_around(char *out, const struct text *t, size_t columns,
                        size_t from)
{
    size_t mid = columns / 2, head = (columns - mid - 2) / 2;
    size_t rest = columns_from(t, from);
    if (columns < 8) return cut_middle(out, t, columns);
    if (rest + LEAST_HEAD < columns && columns < t->columns) {
        out = put_front(out, t, 0, columns - rest - 1);
        out = put_text(out, AXP__ELLIPSIS);
        out = put_back(out, t, rest);
        *out = 0;
        return out;
    }
    out = put_front(out, t, 0, head);
    out = put_text(out, AXP__ELLIPSIS);
    out = put_front(out, t, from, mid);
    out = put_text(out, AXP__ELLIPSIS);
    out = put_back(out, t, columns - mid - head - 2);
    *out = 0;
    return out;
}

/* ---- C++ ------------------------------------------------------------------------- */

#define MOST_SCOPES 4096u /* bytes: a longer name is nobody's */

/* Of "void std::vector<…>::_M_insert<…>(…)" as much as has room, from its scopes
 * or one of them on, and if it has none its own name; NULL: it is no function in a
 * scope. */
static const char *last_scopes(const char *name, size_t columns)
{
    const char *last = NULL;
    bool has_scope = false;
    int depth = 0;
    if (!strchr(name, '(') || strlen(name) > MOST_SCOPES) return NULL;
    for (const char *at = name; *at && (*at != '(' || depth); at++) {
        if (*at == '<' || *at == '(') depth++;
        if (*at == '>' || *at == ')') depth--;
        bool is_scope = at[0] == ':' && at[1] == ':';
        bool is_word = at - name >= 8 && !strncmp(at - 8, "operator", 8);
        if (depth || is_word || (!is_scope && *at != ' ')) continue;
        has_scope |= is_scope;
        bool has_room = last && axp__columns(last) < columns;
        if (!has_room || *at == ' ') last = at + (is_scope ? 2 : 1);
    }
    return has_scope ? last : NULL;
}

/* …name */
static bool cut_last(char *out, const char *last, size_t columns)
{
    struct text t = {0};
    bool ok = init_text(&t, last);
    *out = 0;
    if (ok && columns)
        cut_middle(put_text(out, AXP__ELLIPSIS), &t, columns - 1);
    free(t.plain);
    free(t.cells);
    return ok;
}

/* name(…), else the name alone, with … before it if that has room; of a longer one
 * beginning and end. */
static bool cut_own(char *out, const char *own, size_t len, size_t columns)
{
    struct text t = {0};
    const char *behind = strstr(own + len, "(" AXP__ELLIPSIS ")");
    const char *group = behind ? "(" AXP__ELLIPSIS ")" : "()";
    char *name = strndup(own, len);
    bool ok = name && init_text(&t, name);
    *out = 0;
    if (ok && t.columns < columns) out = put_text(out, AXP__ELLIPSIS);
    if (ok) out = cut_middle(out, &t, columns);
    if (ok && t.columns + 1 + axp__columns(group) <= columns)
        put_text(out, group);
    free(t.plain);
    free(t.cells);
    free(name);
    return ok;
}

#define LEAST_OWN 8 /* columns: in fewer nothing is a name */

/* What it is in goes, then its arguments, and what it is called is cut last. */
static bool cut_function(char *out, const struct text *folded, size_t columns)
{
    const char *name = folded->plain;
    const char *last = last_scopes(name, columns);
    bool is_enough = last && axp__columns(last) < columns;
    size_t len;
    const char *own = strlen(name) <= MOST_SCOPES && columns >= LEAST_OWN
                          ? axp__signature_own(name, &len)
                          : NULL;
    if (own && !is_enough) return cut_own(out, own, len, columns);
    if (last) return cut_last(out, last, columns);
    cut_middle(out, folded, columns);
    return true;
}

/* The name with as much of it folded as must be; NULL: no memory. */
static char *fold(const char *name, size_t columns)
{
    char *bare = axp__signature_untag(name), *types = NULL, *all = NULL;
    if (!bare || axp__columns(bare) <= columns) return bare;
    types = axp__signature_fold(bare, '<', '>');
    free(bare);
    if (!types || axp__columns(types) <= columns) return types;
    all = axp__signature_fold(types, '(', ')');
    free(types);
    return all;
}

/* Where the name of a function does not fit, its template arguments go first,
 * then its own, then what it is in: they are what a reader looks at least. */
static bool cut_name(char *out, const struct text *t, size_t columns)
{
    struct text folded = {0};
    if (t->columns <= columns) {
        cut_middle(out, t, columns);
        return true;
    }
    char *name = fold(t->plain, columns);
    bool ok = name && init_text(&folded, name);
    if (ok && folded.columns <= columns)
        cut_middle(out, &folded, columns);
    else if (ok)
        ok = cut_function(out, &folded, columns);
    free(folded.plain);
    free(folded.cells);
    free(name);
    return ok;
}

/* Whether a function's name is cut in what is shown. */
static bool is_own_cut(const char *name, const char *shown)
{
    size_t len, shown_len = strlen(shown);
    const char *own =
        strlen(name) <= MOST_SCOPES ? axp__signature_own(name, &len) : NULL;
    return own && len && !memmem(shown, shown_len, own, len);
}

static bool cut_numbered(char *out, const struct text *t, size_t columns,
                         size_t number)
{
    char mark[24];
    size_t len = (size_t)snprintf(mark, sizeof mark, "#%zu", number);
    bool ok = cut_name(out, t, columns > len ? columns - len : 0);
    if (ok) put_text(out + strlen(out), mark);
    return ok;
}

/* ---- staying distinct ---------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static size_t common_cells(const struct text *a, const struct text *b)
{
    size_t i = 0;
    while (i < a->n_cells && i < b->n_cells) {
        size_t at = a->cells[i].at, len = a->cells[i + 1].at - at;
        if (len != b->cells[i + 1].at - b->cells[i].at ||
            memcmp(a->plain + at, b->plain + b->cells[i].at, len) != 0)
            break;
        i++;
    }
    return i;
}

struct names {
    struct axp__fit *fits;
    struct text *texts;
    size_t n;
    bool *is_marked;     /* has been in a group */
    size_t *group;       /* indices of names that are shown alike */
    size_t *numbers;     /* of the group */
    size_t n_group;      /* in it */
    size_t n_same_cells; /* that all of them begin with */
    bool differ;         /* they are not one name */
    size_t n_numbers;    /* given so far: what is cut may be equal too */
};

/* The next group: names that are shown alike, and are in none yet. */
static bool next_group(struct names *a)
{
    a->n_group = 0;
    a->n_same_cells = SIZE_MAX;
    a->differ = false;
    for (size_t i = 0; i < a->n; i++) {
        size_t first = a->n_group ? a->group[0] : i;
        if (a->is_marked[i] || !is_same(a->fits[first].shown, a->fits[i].shown))
            continue;
        a->is_marked[i] = true;
        a->group[a->n_group++] = i;
        if (is_same(a->fits[first].name, a->fits[i].name)) continue;
        size_t same = common_cells(&a->texts[first], &a->texts[i]);
        if (same < a->n_same_cells) a->n_same_cells = same;
        a->differ = true;
    }
    return a->n_group > 0;
}

/* Different names get different numbers. */
static void number(struct names *a)
{
    for (size_t i = 0; i < a->n_group; i++) {
        size_t k = 0;
        while (!is_same(a->fits[a->group[k]].name, a->fits[a->group[i]].name))
            k++;
        a->numbers[i] = k < i ? a->numbers[k] : ++a->n_numbers;
    }
}

/* Around the place where they first differ. False: what a function is called
 * would be cut. */
static bool show_difference(struct names *a)
{
    bool is_whole = true;
    for (size_t i = 0; i < a->n_group; i++) {
        struct axp__fit *f = &a->fits[a->group[i]];
        const struct text *t = &a->texts[a->group[i]];
        bool was_cut = is_own_cut(t->plain, f->shown);
        cut_around(f->shown, t, f->columns, a->n_same_cells);
        is_whole &= was_cut || !is_own_cut(t->plain, f->shown);
    }
    return is_whole;
}

static bool show_numbers(struct names *a)
{
    bool ok = true;
    number(a);
    for (size_t i = 0; i < a->n_group; i++) {
        struct axp__fit *f = &a->fits[a->group[i]];
        ok &= cut_numbered(f->shown, &a->texts[a->group[i]], f->columns,
                           a->numbers[i]);
    }
    return ok;
}

/* Shows anew what is shown like another name; *any: whether there was any. */
static bool part(struct names *a, bool with_number, bool *any)
{
    bool ok = true;
    *any = false;
    memset(a->is_marked, 0, a->n);
    while (ok && next_group(a)) {
        if (!a->differ) continue;
        *any = true;
        if (with_number || !show_difference(a)) ok = show_numbers(a);
    }
    return ok;
}

static bool keep_distinct(struct axp__fit *fits, struct text *texts, size_t n)
{
    struct names a = {.fits = fits, .texts = texts, .n = n};
    a.is_marked = calloc(n + 1, sizeof *a.is_marked);
    a.group = calloc(n + 1, sizeof *a.group);
    a.numbers = calloc(n + 1, sizeof *a.numbers);
    bool ok = a.is_marked && a.group && a.numbers;
    bool any = true;
    for (int round = 0; ok && any && round < 3; round++)
        ok = part(&a, round == 2, &any);
    free(a.is_marked);
    free(a.group);
    free(a.numbers);
    return ok;
}

bool axp__fit_names(struct axp__fit *fits, size_t n)
{
    struct text *texts = calloc(n + 1, sizeof *texts);
    bool ok = texts != NULL;
    for (size_t i = 0; i < n; i++)
        fits[i].shown = NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = init_text(&texts[i], fits[i].name);
        /* its parts may overlap; ellipses and a number */
        fits[i].shown = ok ? malloc(3 * strlen(texts[i].plain) + 32) : NULL;
        ok = fits[i].shown != NULL;
        ok = ok && cut_name(fits[i].shown, &texts[i], fits[i].columns);
    }
    ok = ok && keep_distinct(fits, texts, n);
    for (size_t i = 0; texts && i < n; i++) {
        free(texts[i].plain);
        free(texts[i].cells);
    }
    free(texts);
    return ok;
}

/* ---- devices ----------------------------------------------------------------- */

char *axp__name_on(const char *name, const char *device)
{
    size_t len = strlen(name) + (device ? strlen(device) + 4 : 0) + 1;
    char *text = malloc(len), *at = text;
    if (!text) return NULL;
    at = stpcpy(at, name);
    if (device) stpcpy(stpcpy(at, " on "), device);
    return text;
}
