/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The call before a return address; see openmp_call.h. */
#include "openmp_call.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_RUNTIMES 4u
#define N_KNOWN 256u

/* ---- objects ------------------------------------------------------------ */

static const struct link_map *runtimes[MOST_RUNTIMES];
static uint32_t n_runtimes;

static bool find(const void *inside, struct dl_find_object *out)
{
    return !_dl_find_object((void *)(uintptr_t)inside, out);
}

void openmp_call_runtime(const void *inside)
{
    struct dl_find_object of;
    if (!find(inside, &of)) return;
    uint32_t i = __atomic_fetch_add(&n_runtimes, 1, __ATOMIC_RELAXED);
    if (i < MOST_RUNTIMES)
        __atomic_store_n(&runtimes[i], of.dlfo_link_map, __ATOMIC_RELEASE);
}

static bool is_runtime(const struct link_map *object)
{
    for (uint32_t i = 0; i < MOST_RUNTIMES; i++)
        if (__atomic_load_n(&runtimes[i], __ATOMIC_ACQUIRE) == object)
            return true;
    return false;
}

/* Whether n bytes there are of a segment with those flags: between segments
 * nothing can be read. */
static bool is_of(const struct dl_find_object *o, const uint8_t *at, size_t n,
                  uint32_t flags)
{
    const ElfW(Ehdr) *head = o->dlfo_map_start;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
    const ElfW(Phdr) *segment =
        (const void *)((const char *)o->dlfo_map_start + head->e_phoff);
    uint64_t from = (uintptr_t)at - o->dlfo_link_map->l_addr;
    for (unsigned i = 0; i < head->e_phnum; i++, segment++)
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            from >= segment->p_vaddr &&
            from + n <= segment->p_vaddr + segment->p_filesz)
            return true;
    return false;
}

/* What the linker has put there; NULL: it is no place for that. */
static const uint8_t *slot_at(const struct dl_find_object *o, const uint8_t *at)
{
    const uint8_t *value = NULL;
    if (is_of(o, at, sizeof value, PF_R)) memcpy(&value, at, sizeof value);
    return value;
}

/* ---- instructions ------------------------------------------------------- */

#if defined __x86_64__
enum { MOST_CALL = 6, MOST_STUB = 16 };

/* Four bytes say how far it is from their end. */
static const uint8_t *relative(const uint8_t *end)
{
    int32_t offset;
    memcpy(&offset, end - sizeof offset, sizeof offset);
    return end + offset;
}

/* A jump by a slot, as to functions of other objects, is where it leads. */
static const uint8_t *behind_stub(const struct dl_find_object *o,
                                  const uint8_t *at)
{
    const uint8_t *code = at;
    if (!is_of(o, at, MOST_STUB, PF_X)) return at;
    if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4)) code += 4; /* endbr64 */
    if (*code == 0xf2) code++;                           /* bnd */
    return code[0] == 0xff && code[1] == 0x25 ? slot_at(o, relative(code + 6))
                                              : at;
}

static const uint8_t *called(const struct dl_find_object *o,
                             const uint8_t *return_address)
{
    if (return_address[-6] == 0xff && return_address[-5] == 0x15)
        return slot_at(o, relative(return_address));
    const uint8_t *to = relative(return_address);
    if (return_address[-5] != 0xe8 || !is_of(o, to, 1, PF_X)) return NULL;
    return behind_stub(o, to);
}
#elif defined __aarch64__
enum { MOST_CALL = 4, MOST_STUB = 12 };

static uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* bti; adrp x16, PAGE; ldr x17, [x16, #OFFSET] */
static const uint8_t *behind_stub(const struct dl_find_object *o,
                                  const uint8_t *at)
{
    const uint8_t *code = at;
    if (!is_of(o, at, MOST_STUB, PF_X)) return at;
    if (word_at(code) == 0xd503245f) code += 4;
    uint32_t adrp = word_at(code), ldr = word_at(code + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return at;
    uint64_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    int64_t offset = (int64_t)(pages << 43) >> 31;
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)0xfff;
    return slot_at(o, (const uint8_t *)(page + (uintptr_t)offset +
                                        (ldr >> 10 & 0xfff) * 8));
}

static const uint8_t *called(const struct dl_find_object *o,
                             const uint8_t *return_address)
{
    uint32_t bl = word_at(return_address - 4);
    const uint8_t *to =
        return_address - 4 + (int32_t)((bl & 0x03ffffff) << 6) / 16;
    if (bl >> 26 != 0x25 || !is_of(o, to, 1, PF_X)) return NULL;
    return behind_stub(o, to);
}
#endif

/* ---- places ------------------------------------------------------------- */

/* The function that jumped to the runtime; NULL: it was called from here, or
 * nobody knows. */
static const void *jumper(const uint8_t *return_address)
{
    struct dl_find_object here, there;
    if (!find(return_address - 1, &here) || is_runtime(here.dlfo_link_map) ||
        !is_of(&here, return_address - MOST_CALL, MOST_CALL, PF_X | PF_R))
        return NULL;
    const uint8_t *to = called(&here, return_address);
    if (!to || !find(to, &there) || is_runtime(there.dlfo_link_map))
        return NULL;
    return to;
}

bool openmp_call_is_of_runtime(const void *return_address)
{
    struct dl_find_object of;
    return return_address && find((const char *)return_address - 1, &of) &&
           is_runtime(of.dlfo_link_map);
}

/* Those that were asked for. */
static struct {
    const void *return_address, *place;
} known[N_KNOWN];

/* A region is begun often from one place, and looking takes 0.1 us. */
const void *openmp_call_place(const void *return_address)
{
    const void *was = NULL, *place;
    uint64_t at =
        (uintptr_t)return_address * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    if (!return_address) return NULL;
    if (__atomic_load_n(&known[at].return_address, __ATOMIC_RELAXED) ==
            return_address &&
        (place = __atomic_load_n(&known[at].place, __ATOMIC_ACQUIRE)))
        return place;
    place = jumper(return_address);
    if (!place) place = (const char *)return_address - 1; /* in the call */
    if (__atomic_compare_exchange_n(&known[at].return_address, &was,
                                    return_address, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        was == return_address)
        __atomic_store_n(&known[at].place, place, __ATOMIC_RELEASE);
    return place;
}

/* The address keeps its place. */
void openmp_call_forget(void)
{
    for (unsigned i = 0; i < N_KNOWN; i++)
        if (__atomic_load_n(&known[i].place, __ATOMIC_RELAXED))
            __atomic_store_n(&known[i].place, NULL, __ATOMIC_RELEASE);
}
