/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that goes: what is about to be closed is told, so that stacks of
 * allocations in it can be read afterwards, and its unwind rows are forgotten,
 * since other code may come where it was.
 *
 * What was loaded with the program stays as a rule, and is found in the kernel's
 * list of mappings while it runs; only what came later is told.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "memory_real.h"
#include "memory_rows.h"
#include "memory_tell.h"

#define BUILD_ID_MAX 32u

static unsigned n_at_start;

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)info;
    (void)size;
    ++*(unsigned *)n;
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(count, &n_at_start);
}

/* The build id among an object's notes, in hexadecimal; else "-". */
static void put_build_id(const struct dl_phdr_info *info, char *out)
{
    strcpy(out, "-");
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + part->p_vaddr);
        const char *end = at + part->p_memsz;
        while (part->p_type == PT_NOTE &&
               (size_t)(end - at) > sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
            const char *name = at + sizeof *note;
            const char *id = name + ((note->n_namesz + 3) & ~3u);
            at = id + ((note->n_descsz + 3) & ~3u);
            if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
                memcmp(name, "GNU", 4) != 0 || note->n_descsz > BUILD_ID_MAX)
                continue;
            for (unsigned k = 0; k < note->n_descsz; k++)
                snprintf(out + 2 * k, 3, "%02x", (unsigned char)id[k]);
            return;
        }
    }
}

static int tell_one(struct dl_phdr_info *info, size_t size, void *seen)
{
    char id[2 * BUILD_ID_MAX + 1];
    axp_module m = {.size = sizeof m,
                    .bias = info->dlpi_addr,
                    .first = UINT64_MAX,
                    .path = info->dlpi_name,
                    .build_id = id};
    unsigned *n = seen;
    (void)size;
    if ((*n)++ < n_at_start || !m.path || m.path[0] != '/') return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t first = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD) continue;
        if (first < m.first) m.first = first;
        if (first + part->p_memsz > m.last) m.last = first + part->p_memsz;
    }
    put_build_id(info, id);
    axp_module_seen(&m);
    return 0;
}

WRAPPER int dlclose(void *object)
{
    const struct memory_real *real = memory_real();
    unsigned n = 0;
    if (memory_is_on) dl_iterate_phdr(tell_one, &n);
    int rc = real ? real->dlclose(object) : -1;
    memory_rows_forget();
    return rc;
}
