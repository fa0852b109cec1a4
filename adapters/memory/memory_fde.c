/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entries of .eh_frame by address; see memory_fde.h. */
#include "memory_fde.h"

#include <dlfcn.h>
#include <stddef.h>

enum { /* how a pointer is written: the form, and what it is relative to */
       FORM = 0x0f,
       RELATIVE = 0x70,
       TO_ITSELF = 0x10,
       OMITTED = 0xff,
       FOUR_BYTES = 0x03,       /* udata4 */
       TO_HEADER_SIGNED = 0x3b, /* datarel, sdata4 */
};

struct object {
    const uint8_t *low, *high;
};

static struct memory_bytes from(const struct object *object, const uint8_t *at)
{
    bool is_inside = at >= object->low && at < object->high;
    return (struct memory_bytes){at, object->high, !is_inside};
}

static uint64_t read_form(struct memory_bytes *b, uint8_t form)
{
    switch (form) {
    case 0x00:
    case 0x04:
    case 0x0c: return memory_bytes_u64(b);
    case 0x01: return memory_bytes_uleb(b);
    case 0x02: return memory_bytes_u16(b);
    case 0x03: return memory_bytes_u32(b);
    case 0x09: return (uint64_t)memory_bytes_sleb(b);
    case 0x0a: return (uint64_t)(int64_t)(int16_t)memory_bytes_u16(b);
    case 0x0b: return (uint64_t)(int64_t)(int32_t)memory_bytes_u32(b);
    default: b->is_bad = true; return 0;
    }
}

static uintptr_t read_pointer(struct memory_bytes *b, uint8_t encoding)
{
    uintptr_t place = (uintptr_t)b->at;
    uintptr_t value = (uintptr_t)read_form(b, encoding & FORM);
    if ((encoding & RELATIVE) == TO_ITSELF)
        value += place;
    else if (encoding & RELATIVE)
        b->is_bad = true;
    return value;
}

/* The body of an entry, and nothing after it. */
static struct memory_bytes read_entry(const struct object *object,
                                      const uint8_t *at)
{
    struct memory_bytes b = from(object, at);
    uint64_t length = memory_bytes_u32(&b);
    if (length == 0xffffffff) length = memory_bytes_u64(&b);
    const uint8_t *body = memory_bytes_take(&b, length);
    return (struct memory_bytes){body, b.at, b.is_bad};
}

/* The letters of a CIE after its "z"; the encoding of its FDEs' addresses. */
static uint8_t read_letters(struct memory_bytes *b, const uint8_t *letters,
                            struct memory_fde *fde)
{
    uint8_t encoding = 0;
    for (; *letters; letters++) {
        if (*letters == 'R')
            encoding = memory_bytes_u8(b);
        else if (*letters == 'L')
            (void)memory_bytes_u8(b);
        else if (*letters == 'P')
            (void)read_form(b, memory_bytes_u8(b) & FORM);
        else if (*letters == 'S')
            fde->is_signal = true;
        else if (*letters != 'B')
            b->is_bad = true;
    }
    return encoding;
}

/* The encoding of its FDEs' addresses; OMITTED: it cannot be read. */
static uint8_t read_common(const struct object *object, const uint8_t *at,
                           struct memory_fde *fde)
{
    struct memory_bytes b = read_entry(object, at);
    if (memory_bytes_u32(&b)) b.is_bad = true; /* no CIE */
    uint8_t version = memory_bytes_u8(&b), encoding = 0;
    const uint8_t *letters = b.at;
    while (memory_bytes_u8(&b))
        ;
    fde->code_align = memory_bytes_uleb(&b);
    fde->data_align = memory_bytes_sleb(&b);
    if (version == 1) /* the column of the return address */
        (void)memory_bytes_u8(&b);
    else
        (void)memory_bytes_uleb(&b);
    if (b.is_bad) return OMITTED;
    fde->has_more = *letters == 'z';
    if (fde->has_more) {
        uint64_t length = memory_bytes_uleb(&b);
        struct memory_bytes more = b;
        if (memory_bytes_take(&b, length)) more.end = b.at;
        encoding = read_letters(&more, letters + 1, fde);
        b.is_bad |= more.is_bad;
    } else if (*letters) {
        b.is_bad = true;
    }
    fde->common = b;
    return b.is_bad ? OMITTED : encoding;
}

static enum memory_fde_found read_fde(const struct object *object,
                                      const uint8_t *at, uintptr_t place,
                                      struct memory_fde *fde)
{
    struct memory_bytes b = read_entry(object, at);
    const uint8_t *here = b.at;
    uint32_t distance = memory_bytes_u32(&b);
    *fde = (struct memory_fde){0};
    if (b.is_bad || !distance || distance > (uint64_t)(here - object->low))
        return MEMORY_FDE_MISSING;
    uint8_t encoding = read_common(object, here - distance, fde);
    if (encoding == OMITTED) return MEMORY_FDE_MISSING;
    fde->start = read_pointer(&b, encoding);
    uintptr_t length = (uintptr_t)read_form(&b, encoding & FORM);
    if (fde->has_more) (void)memory_bytes_take(&b, memory_bytes_uleb(&b));
    fde->own = b;
    bool is_inside = place >= fde->start && place - fde->start < length;
    return b.is_bad || !is_inside ? MEMORY_FDE_MISSING : MEMORY_FDE_FOUND;
}

/* The last line of the header's table that does not begin above the place.
 * Both numbers of a line are relative to the header. */
static const uint8_t *search_table(const uint8_t *table, uint32_t n,
                                   int64_t place, const uint8_t *header)
{
    struct {
        int32_t start, fde;
    } line;
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(&line, table + middle * sizeof line, sizeof line);
        if (line.start <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return NULL;
    memcpy(&line, table + (low - 1) * sizeof line, sizeof line);
    return header + line.fde;
}

enum memory_fde_found memory_fde_search(uintptr_t place, const uint8_t *header,
                                        const uint8_t *low, const uint8_t *high,
                                        struct memory_fde *fde)
{
    struct object object = {low, high};
    struct memory_bytes b = from(&object, header);
    uint8_t version = memory_bytes_u8(&b), frames = memory_bytes_u8(&b);
    uint8_t count = memory_bytes_u8(&b), lines = memory_bytes_u8(&b);
    if (version != 1 || count != FOUR_BYTES || lines != TO_HEADER_SIGNED)
        return MEMORY_FDE_MISSING;
    (void)read_form(&b, frames & FORM);
    uint32_t n = memory_bytes_u32(&b);
    const uint8_t *table = memory_bytes_take(&b, (uint64_t)n * 8);
    if (!table) return MEMORY_FDE_MISSING;
    int64_t relative = (int64_t)(place - (uintptr_t)header);
    const uint8_t *at = search_table(table, n, relative, header);
    return at ? read_fde(&object, at, place, fde) : MEMORY_FDE_MISSING;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
/* Weak: where there is an older one the objects cannot be asked. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

bool memory_fde_can_find(void)
{
    return _dl_find_object != NULL;
}

enum memory_fde_found memory_fde_find(uintptr_t place, struct memory_fde *fde)
{
    struct dl_find_object found;
    if (!memory_fde_can_find() || _dl_find_object((void *)place, &found))
        return MEMORY_FDE_NOWHERE;
    return memory_fde_search(place, found.dlfo_eh_frame, found.dlfo_map_start,
                             found.dlfo_map_end, fde);
}
#else
bool memory_fde_can_find(void)
{
    return false;
}

enum memory_fde_found memory_fde_find(uintptr_t place, struct memory_fde *fde)
{
    (void)place;
    (void)fde;
    return MEMORY_FDE_NOWHERE;
}
#endif
