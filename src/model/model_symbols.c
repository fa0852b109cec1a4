/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses in a capture's names, resolved; see model_symbols.h. */
#include "model/model_symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "model/model_slots.h"
#include "tally/tally_modules.h"

#define INSIDE 1 /* as a line: one place of several in its function */

/* What the capture had before, and the names that are found. */
struct resolved {
    struct axp__cap_name (*name_at)(const struct axp__capture *c, uint32_t id);
    void (*release)(struct axp__capture *c);
    void *own;
    struct axp__symbolizer *symbols; /* owns the strings … */
    char **places;                   /* … but these */
    size_t n_places, cap_places;
    uint32_t n;
    struct axp__cap_name name[]; /* text NULL: as it was */
};

/* "train+0x1149" in "/home/me/train": the offset; false: another name. What a
 * program calls something is never one, whatever it reads like. */
static bool is_address(const struct axp__cap_name *name, uint64_t *out)
{
    if (axp__kind_of(name->flags) != AXP__KIND_FUNCTION) return false;
    if (!name->text || !name->file || name->line > INSIDE ||
        name->file[0] != '/')
        return false;
    const char *base = strrchr(name->file, '/') + 1;
    size_t len = strlen(base);
    if (strncmp(name->text, base, len) != 0) return false;
    const char *digits = name->text + len + 3;
    if (strncmp(name->text + len, "+0x", 3) != 0 || !*digits ||
        strspn(digits, "0123456789abcdef") != strlen(digits) ||
        strlen(digits) > 16)
        return false;
    *out = strtoull(digits, NULL, 16);
    return true;
}

/* ---- which object it is in --------------------------------------------------- */

/* What a library is called whatever its version: libx of "/lib/libx.so.6". */
static size_t bare_length(const char *base)
{
    const char *end = strstr(base, ".so");
    while (end && end[3] && end[3] != '.')
        end = strstr(end + 1, ".so");
    return end ? (size_t)(end - base) : strlen(base);
}

static bool is_same_library(const char *a, const char *b)
{
    a = axp__text_last_part(a);
    b = axp__text_last_part(b);
    size_t len = bare_length(a);
    return a[len] && b[len] && len == bare_length(b) && !strncmp(a, b, len);
}

static bool is_same_build(const struct axp__cap_module *a,
                          const struct axp__cap_module *b)
{
    return a->build_id && b->build_id && !strcmp(a->build_id, b->build_id);
}

/* The loader calls a library as whoever wanted it did, libx.so.6, and the kernel
 * as the file that this leads to, libx.so.6.0.30. Which one that was is not asked
 * of this machine's links, which are others: it is the only library of that name
 * that was loaded, and so long. NULL: none, or several. */
static const struct axp__cap_module *find_library(
    const struct axp__capture *c, const struct axp__place *place)
{
    const struct axp__cap_module *found = NULL;
    for (size_t i = 0; i < c->n_modules; i++) {
        const struct axp__cap_module *m = &c->modules[i];
        if (!is_same_library(m->path, place->path) ||
            place->address >= m->last - m->bias)
            continue;
        if (found && !is_same_build(found, m)) return NULL;
        found = m;
    }
    return found;
}

static const struct axp__cap_module *find_module(const struct axp__capture *c,
                                                 const struct axp__place *place)
{
    for (size_t i = c->n_modules; i-- > 0;)
        if (!strcmp(c->modules[i].path, place->path)) return &c->modules[i];
    return find_library(c, place);
}

/* ---- names ------------------------------------------------------------------- */

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    struct resolved *r = c->own;
    if (id < r->n && r->name[id].text) return r->name[id];
    struct axp__capture before = *c;
    before.own = r->own;
    return r->name_at(&before, id);
}

static void release(struct axp__capture *c)
{
    struct resolved *r = c->own;
    c->own = r->own;
    c->name_at = r->name_at;
    c->release = r->release;
    axp__symbolizer_destroy(r->symbols);
    for (size_t i = 0; i < r->n_places; i++)
        free(r->places[i]);
    free(r->places);
    free(r);
    c->release(c);
}

/* "FUNCTION:LINE", or "FUNCTION@0xOFFSET" where no line is known; of what gcc
 * made of a region, the function that the region is in; of what clang did, whose
 * name says nothing, the file. NULL: no memory. */
static const char *name_place(struct resolved *r, const struct axp__symbol *s,
                              uint64_t address)
{
    char *text;
    void *places = r->places;
    const char *made = strstr(s->name, "._omp_fn.");
    const char *name = s->name;
    int len = made ? (int)(made - s->name) : (int)strlen(s->name);
    if (strstr(name, ".omp_outlined") == name && s->file) {
        name = axp__text_last_part(s->file);
        len = (int)strlen(name);
    }
    bool ok = axp__array_grow(&places, &r->cap_places, r->n_places + 1,
                              sizeof *r->places);
    r->places = places;
    if (!ok) return NULL;
    int n = s->line ? asprintf(&text, "%.*s:%d", len, name, s->line)
                    : asprintf(&text, "%s@0x%" PRIx64, s->name, address);
    if (n < 0) return NULL;
    return r->places[r->n_places++] = text;
}

static bool resolve(struct resolved *r, const struct axp__capture *c,
                    const struct axp__cap_name *name, uint32_t id)
{
    struct axp__symbol found;
    struct axp__place place = {.path = name->file};
    if (!is_address(name, &place.address)) return false;
    const struct axp__cap_module *module = find_module(c, &place);
    if (module) {
        place.path = module->path;
        place.build_id = module->build_id;
    }
    r->name[id] = *name;
    r->name[id].line = 0; /* it was none */
    if (!axp__symbol_find(r->symbols, &place, &found, 1)) return false;
    const char *text = found.name;
    if (name->line == INSIDE) text = name_place(r, &found, place.address);
    if (!text) return false;
    r->name[id] = (struct axp__cap_name){.text = text,
                                         .file = found.file,
                                         .line = found.line,
                                         .flags = name->flags};
    return true;
}

static bool has_addresses(const struct axp__capture *c)
{
    uint64_t address;
    for (uint32_t id = 0; id < c->n_names; id++) {
        struct axp__cap_name name = c->name_at(c, id);
        if (is_address(&name, &address)) return true;
    }
    return false;
}

/* Where stacks are recorded they are there already. */
static void add_modules(struct axp__capture *c, const struct axp__about *about)
{
    if (c->n_modules) return;
    for (size_t i = 0; i < about->n; i++)
        if (!strncmp(about->pair[i].key, "map.", 4))
            (void)axp__cap_add_module(c, about->pair[i].value,
                                      about->pair[i].len);
}

void axp__model_name_functions(struct axp__capture *c,
                               const struct axp__about *about,
                               struct axp__folders folders)
{
    if (!has_addresses(c)) return;
    add_modules(c, about);
    struct resolved *r =
        calloc(1, sizeof *r + (size_t)c->n_names * sizeof *r->name);
    if (!r) return;
    r->symbols = axp__symbolizer_create(folders);
    r->n = c->n_names;
    for (uint32_t id = 0; r->symbols && id < r->n; id++) {
        struct axp__cap_name name = c->name_at(c, id);
        resolve(r, c, &name, id);
    }
    r->name_at = c->name_at;
    r->release = c->release;
    r->own = c->own;
    c->own = r;
    c->name_at = name_at;
    c->release = release;
}
