/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of libraries that were closed; see functions_close.h. */
#include "functions_close.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "adapters/common/common_close.h"
#include "adapters/common/common_map.h"
#include "functions_mute.h"
#include "functions_sites.h"

#define FIRST_BYTES 4096u

struct module {
    uintptr_t from, to;
    uint32_t name; /* hashed */
};

/* What is loaded, in a mapping. */
struct modules {
    size_t n, bytes;
    struct module *at;
    bool is_whole; /* there was memory for all */
};

/* How much the loader had taken away when this looked last. */
static unsigned long long n_gone;

/* FNV-1a, and not 0. */
static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; name && *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h ? h : 1;
}

uint32_t functions_module(const void *function)
{
    struct dl_find_object object;
    bool is_found = !_dl_find_object((void *)(uintptr_t)function, &object);
    return hash(is_found ? object.dlfo_link_map->l_name : NULL);
}

/* ---- what is loaded ----------------------------------------------------- */

static bool has_room(struct modules *m)
{
    if (m->at && (m->n + 1) * sizeof *m->at <= m->bytes) return true;
    size_t bytes = m->at ? 2 * m->bytes : FIRST_BYTES;
    struct module *wider =
        m->at ? common_map_widen(m->at, m->bytes, bytes) : common_map(bytes);
    if (!wider) return false;
    m->at = wider;
    m->bytes = bytes;
    return true;
}

/* The loader's lock is held. */
static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct modules *m = ctx;
    struct module new = {UINTPTR_MAX, 0, hash(info->dlpi_name)};
    (void)size;
    if (!m->n) {
        if (__atomic_exchange_n(&n_gone, info->dlpi_subs, __ATOMIC_RELAXED) ==
            info->dlpi_subs)
            return 1;
        m->is_whole = true;
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD) continue;
        if (from < new.from) new.from = from;
        if (from + p->p_memsz > new.to) new.to = from + p->p_memsz;
    }
    m->is_whole = m->is_whole && has_room(m);
    if (m->is_whole) m->at[m->n++] = new;
    return !m->is_whole;
}

/* ---- what is gone ------------------------------------------------------- */

static bool is_there(const struct functions_site *s, const struct modules *m)
{
    uintptr_t at = (uintptr_t)s->function;
    for (size_t i = 0; i < m->n; i++)
        if (at >= m->at[i].from && at < m->at[i].to &&
            m->at[i].name == s->module)
            return true;
    return false;
}

static void look_at(struct functions_site *s, void *ctx)
{
    if (functions_is_forgotten(s) || is_there(s, ctx)) return;
    functions_unmute(s);
    functions_site_forget(s);
}

static void forget(void)
{
    struct modules m = {0};
    if (functions_is_quiet || !functions_table) return;
    dl_iterate_phdr(add_module, &m);
    if (m.is_whole) functions_site_each(look_at, &m);
    if (m.at) common_unmap(m.at, m.bytes);
}

__attribute__((constructor)) static void begin(void)
{
    common_close_tell(forget);
}
