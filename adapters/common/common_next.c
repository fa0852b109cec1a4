/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of symbols, read while no object can go; see common_next.h. */
#include "adapters/common/common_next.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#define MOST_FOUND 8u
#define MOST_NEEDED 512u
#define IS_HIDDEN 0x8000u /* an older version of a symbol */

/* ---- one object --------------------------------------------------------- */

struct object {
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
    const char *strings, *name; /* "": none */
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions;
    const uint32_t *gnu, *plain; /* tables by hash */
};

/* Most loaders have added the base already. */
static const void *pointer(const struct object *o, ElfW(Addr) at)
{
    return (const void *)(at < o->base ? at + o->base : at);
}

static void take_entry(struct object *o, const ElfW(Dyn) * d)
{
    const void *at = pointer(o, d->d_un.d_ptr);
    switch (d->d_tag) {
    case DT_STRTAB: o->strings = at; break;
    case DT_SYMTAB: o->symbols = at; break;
    case DT_VERSYM: o->versions = at; break;
    case DT_GNU_HASH: o->gnu = at; break;
    case DT_HASH: o->plain = at; break;
    default: break;
    }
}

/* By what others need it. */
static void take_name(struct object *o, const struct dl_phdr_info *info)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    o->name = slash ? slash + 1 : info->dlpi_name;
    for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME) o->name = o->strings + d->d_un.d_val;
}

static bool read_object(const struct dl_phdr_info *info, struct object *o)
{
    *o = (struct object){.base = info->dlpi_addr};
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            o->dynamic = (const void *)(o->base + info->dlpi_phdr[i].p_vaddr);
    if (!o->dynamic) return false;
    for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++)
        take_entry(o, d);
    if (!o->strings || !o->symbols) return false;
    take_name(o, info);
    return true;
}

static bool is_it(const struct object *o, uint32_t i, const char *name)
{
    const ElfW(Sym) *s = &o->symbols[i];
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
           (!o->versions || !(o->versions[i] & IS_HIDDEN)) &&
           !strcmp(o->strings + s->st_name, name);
}

/* 0: none. */
static uint32_t find_gnu(const struct object *o, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    uint32_t n_buckets = o->gnu[0], first = o->gnu[1], n_bloom = o->gnu[2];
    const uint32_t *buckets = o->gnu + 4 + n_bloom * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + n_buckets;
    uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;
    if (i < first) return 0;
    for (;; i++) {
        uint32_t is = chain[i - first];
        if ((is | 1) == (hash | 1) && is_it(o, i, name)) return i;
        if (is & 1) return 0;
    }
}

static uint32_t find_plain(const struct object *o, const char *name)
{
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    uint32_t n_buckets = o->plain[0];
    const uint32_t *buckets = o->plain + 2, *chain = buckets + n_buckets;
    uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;
    while (i && !is_it(o, i, name))
        i = chain[i];
    return i;
}

static void *find_symbol(const struct object *o, const char *name)
{
    uint32_t i = o->gnu     ? find_gnu(o, name)
                 : o->plain ? find_plain(o, name)
                            : 0;
    return i ? (void *)(o->base + o->symbols[i].st_value) : NULL;
}

/* ---- those that have the function --------------------------------------- */

static const char own; /* lies in our object */

static const void *dynamic_of(const void *address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object)) return NULL;
    return object.dlfo_link_map->l_ld;
}

struct found {
    const char *symbol;
    const void *own; /* ours */
    const void *of[MOST_FOUND];
    size_t n;
};

static int take_found(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct found *f = ctx;
    struct object o;
    (void)size;
    if (read_object(info, &o) && o.dynamic != f->own &&
        find_symbol(&o, f->symbol))
        f->of[f->n++] = o.dynamic;
    return f->n == MOST_FOUND;
}

/* ---- what an object needs, and what that needs … ------------------------ */

struct needed {
    const void *root; /* NULL: the program */
    uint64_t names[MOST_NEEDED];
    size_t n;
    bool has_more;
    const struct found *wanted;
    const void *is; /* the first of those that is needed */
};

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

static bool has_name(const struct needed *n, uint64_t hash)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->names[i] == hash) return true;
    return false;
}

static void add_name(struct needed *n, uint64_t hash)
{
    if (n->n == MOST_NEEDED || has_name(n, hash)) return;
    n->names[n->n++] = hash;
    n->has_more = true;
}

static int take_needed(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct needed *n = ctx;
    struct object o;
    (void)size;
    if (!read_object(info, &o)) return 0;
    if (!n->root) n->root = o.dynamic; /* it is the first */
    if (o.dynamic != n->root && !has_name(n, hash_of(o.name))) return 0;
    for (size_t i = 0; !n->is && i < n->wanted->n; i++)
        if (n->wanted->of[i] == o.dynamic) n->is = o.dynamic;
    for (const ElfW(Dyn) *d = o.dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED)
            add_name(n, hash_of(o.strings + d->d_un.d_val));
    return n->is != NULL;
}

/* NULL: none of them. */
static const void *needed_by(const void *root, const struct found *wanted)
{
    struct needed n = {.root = root, .n = 0, .wanted = wanted};
    do {
        n.has_more = false;
        dl_iterate_phdr(take_needed, &n);
    } while (n.has_more && !n.is);
    return n.is;
}

/* ---- the calls ---------------------------------------------------------- */

bool common_next_find(struct common_next *next, const void *caller,
                      const char *symbol)
{
    struct found f = {.symbol = symbol, .own = dynamic_of(&own)};
    dl_iterate_phdr(take_found, &f);
    const void *from = dynamic_of(caller), *is = NULL;
    if (f.n > 1) is = needed_by(NULL, &f);
    if (f.n > 1 && !is && from) is = needed_by(from, &f);
    next->dynamic = is ? is : f.n ? f.of[0] : NULL;
    return next->dynamic;
}

struct wish {
    const struct common_next *next;
    const char *const *names;
    void **found;
    size_t n;
};

static int take_symbols(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const struct wish *w = ctx;
    struct object o;
    (void)size;
    if (!read_object(info, &o) || o.dynamic != w->next->dynamic) return 0;
    for (size_t i = 0; i < w->n; i++)
        w->found[i] = find_symbol(&o, w->names[i]);
    return 1;
}

void common_next_symbols(const struct common_next *next,
                         const char *const *names, void **found, size_t n)
{
    struct wish wish = {next, names, found, n};
    memset(found, 0, n * sizeof *found);
    dl_iterate_phdr(take_symbols, &wish);
}

bool common_next_is_there(const struct common_next *next, const void *function)
{
    return next->dynamic && dynamic_of(function) == next->dynamic;
}

bool common_next_range(const void *address, uintptr_t *first, uintptr_t *end)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object)) return false;
    *first = (uintptr_t)object.dlfo_map_start;
    *end = (uintptr_t)object.dlfo_map_end;
    return true;
}
