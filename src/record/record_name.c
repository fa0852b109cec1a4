/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of names; see record_name.h.
 *
 *   slots    2^20 ids, open addressing by hash         4 MiB, touched sparsely
 *   pages    id → entry, 1024 entries a page           mapped when first used
 *   text     blocks carved by an atomic counter
 *
 * An id becomes visible when its slot is set, with release, after its entry
 * is whole. A thread that loses the race for a slot leaves its id unused.
 */
#include "record/record_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "axprof/axprof.h"
#include "base/base_atomic.h"
#include "base/base_text.h"
#include "os/os_map.h"
#include "record/record_process.h"
#include "record/record_quiet.h"
#include "record/record_spool.h"
#include "wire/wire_word.h"

#define N_SLOTS (1u << 20)
#define TEXT_BLOCK 65536u

struct axp__text_block {
    struct axp__text_block *older;
    uint64_t used;
    char bytes[TEXT_BLOCK - 16];
};

static struct axp__names *names(void)
{
    return &axp__process()->names;
}

static char *new_text(size_t len)
{
    struct axp__names *n = names();
    for (;;) {
        struct axp__text_block *b = axp__get_acquire(&n->text);
        if (b) {
            uint64_t at = axp__add(&b->used, len);
            if (at + len <= sizeof b->bytes) return b->bytes + at;
        }
        struct axp__text_block *fresh = axp__map(TEXT_BLOCK);
        if (!fresh) return NULL;
        fresh->older = b;
        if (!axp__cas(&n->text, &b, fresh)) axp__unmap(fresh, TEXT_BLOCK);
    }
}

static struct axp__name *new_entry(uint32_t id)
{
    struct axp__name **where = &names()->page[id / AXP__NAMES_A_PAGE];
    struct axp__name *page = axp__get_acquire(where);
    size_t bytes = AXP__NAMES_A_PAGE * sizeof *page;
    if (!page) {
        struct axp__name *fresh = axp__map(bytes);
        if (!fresh) return NULL;
        if (axp__cas(where, &page, fresh))
            page = fresh;
        else
            axp__unmap(fresh, bytes);
    }
    return &page[id % AXP__NAMES_A_PAGE];
}

const struct axp__name *axp__name_at(uint32_t id)
{
    enum { FLAGS = AXP__KIND_FLAGS(AXP__KIND_SPECIAL) };
    static const struct axp__name special[] = {
        {.text = "(root)", .len = 6, .flags = FLAGS},
        {.text = "(other)", .len = 7, .flags = FLAGS},
        {.text = "(unnamed)", .len = 9, .flags = FLAGS},
    };
    if (id <= AXP__NAME_UNNAMED) return &special[id];
    struct axp__name *page =
        axp__get_acquire(&names()->page[id / AXP__NAMES_A_PAGE]);
    return page ? &page[id % AXP__NAMES_A_PAGE] : &special[1];
}

uint32_t axp__name_tie(uint32_t id, uint32_t to)
{
    struct axp__name *e = new_entry(id); /* it is there */
    uint32_t tied = e ? axp__get_acquire(&e->tied) : 0;
    if (!e || tied || !to) return tied;
    return axp__cas(&e->tied, &tied, to) ? to : tied;
}

const struct axp__name *axp__name_ready(uint32_t id)
{
    if (id <= AXP__NAME_UNNAMED) return axp__name_at(id);
    struct axp__name *page =
        axp__get_acquire(&names()->page[id / AXP__NAMES_A_PAGE]);
    struct axp__name *e = page ? &page[id % AXP__NAMES_A_PAGE] : NULL;
    return e && axp__get_acquire(&e->text) ? e : NULL;
}

uint32_t axp__name_count(void)
{
    uint32_t n = axp__get(&names()->n_used);
    uint32_t limit = AXP__NAMES_LIMIT + AXP__NAME_UNNAMED + 1;
    return n + AXP__NAME_UNNAMED + 1 < limit ? n + AXP__NAME_UNNAMED + 1
                                             : limit;
}

static uint32_t *get_slots(void)
{
    struct axp__names *n = names();
    uint32_t *slots = axp__get_acquire(&n->slots);
    if (slots) return slots;
    uint32_t *fresh = axp__map(N_SLOTS * sizeof *fresh);
    if (!fresh) return NULL;
    if (axp__cas(&n->slots, &slots, fresh)) return fresh;
    axp__unmap(fresh, N_SLOTS * sizeof *fresh);
    return slots;
}

/* What is stored for a text: itself, or its beginning and a hash. */
struct stored {
    const char *text;
    uint32_t len;
    uint32_t flags;
    uint64_t hash;
};

static struct stored make_stored(uint32_t flags, const char *text, size_t len)
{
    return (struct stored){.text = text,
                           .len = (uint32_t)len,
                           .flags = flags,
                           .hash = axp__text_hash(text, len)};
}

static uint32_t flags_of(uint32_t type, const char *text, size_t len)
{
    return type | (axp__text_is_utf8(text, len) ? 0 : AXP__NAME_NOT_UTF8);
}

/* Room for one that is cut. Who calls with it is not inlined: an allocation
 * names a place, on whatever small stack a signal handler has. */
struct cut {
    char text[AXP__NAME_MAX_LEN + 1];
};

static struct stored make_cut(struct cut *cut, uint32_t flags, const char *text,
                              size_t len)
{
    size_t keep = AXP__NAME_MAX_LEN - 17;
    while (keep && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;
    memcpy(cut->text, text, keep);
    int tail = snprintf(cut->text + keep, sizeof cut->text - keep, "#%016llx",
                        (unsigned long long)axp__text_hash(text, len));
    return make_stored(flags | AXP__NAME_CUT, cut->text, keep + (size_t)tail);
}

/* The id of the text, or 0 and the slot where it belongs. */
static uint32_t probe(uint32_t *slots, const struct stored *s, uint32_t *at)
{
    for (uint32_t i = (uint32_t)s->hash & (N_SLOTS - 1);;
         i = (i + 1) & (N_SLOTS - 1)) {
        uint32_t id = axp__get_acquire(&slots[i]);
        *at = i;
        if (!id) return 0;
        const struct axp__name *e = axp__name_at(id);
        if (e->hash == s->hash && e->len == s->len &&
            !((e->flags ^ s->flags) & AXP__TYPE_FLAGS) &&
            !memcmp(e->text, s->text, s->len))
            return id;
    }
}

static int to_line(const char *digits)
{
    int line = 0;
    while (*digits >= '0' && *digits <= '9' && line < 100000000)
        line = line * 10 + (*digits++ - '0');
    return line;
}

/* A whole entry that no slot shows yet; 0: full, or no memory. */
static uint32_t prepare_entry(const struct stored *s, const char *place)
{
    struct axp__names *n = names();
    uint32_t k = axp__get(&n->n_used);
    do
        if (k >= AXP__NAMES_LIMIT) return 0;
    while (!axp__cas(&n->n_used, &k, k + 1));
    uint32_t id = k + AXP__NAME_UNNAMED + 1;

    size_t file_len = place ? strlen(place) : 0;
    if (file_len > AXP__NAME_MAX_LEN) file_len = 0;
    struct axp__name *e = new_entry(id);
    char *text = e ? new_text(s->len + 1 + file_len + 1) : NULL;
    if (!text) return 0;
    memcpy(text, s->text, s->len);
    if (file_len) memcpy(text + s->len + 1, place, file_len);
    e->len = s->len;
    e->flags = s->flags;
    e->hash = s->hash;
    e->file = file_len ? text + s->len + 1 : NULL;
    e->line = file_len ? to_line(place + file_len + 1) : 0;
    axp__put_release(&e->text, text); /* pairs with axp__name_ready */
    return id;
}

/* For a name that was handed out without one. Who sets the line sets the rest,
 * the file last: pairs with axp__name_file. */
static void add_place(uint32_t id, const char *place)
{
    struct axp__name *e = new_entry(id);
    size_t len = strlen(place);
    int none = 0, line = to_line(place + len + 1);
    if (!e || !len || len > AXP__NAME_MAX_LEN || !line) return;
    char *file = new_text(len + 1);
    if (!file || !axp__cas(&e->line, &none, line)) return;
    memcpy(file, place, len);
    axp__put(&e->is_late, 1);
    axp__put_release(&e->file, file);
    axp__spool_add_name(id);
}

static uint32_t register_stored(const struct stored *s, const char *place)
{
    uint32_t at, *slots = get_slots();
    if (!slots) return AXP__NAME_OTHER;
    uint32_t fresh = 0, id = probe(slots, s, &at);
    while (!id) {
        if (!fresh) fresh = prepare_entry(s, place);
        if (!fresh) return AXP__NAME_OTHER;
        if (axp__cas(&slots[at], &id, fresh)) {
            axp__spool_add_name(fresh);
            return fresh;
        }
        id = probe(slots, s, &at);
    }
    if (place && !axp__name_file(axp__name_at(id))) add_place(id, place);
    return id;
}

static __attribute__((noinline)) uint32_t register_cut(uint32_t flags,
                                                       const char *text,
                                                       size_t len,
                                                       const char *place)
{
    struct cut cut;
    struct stored s = make_cut(&cut, flags, text, len);
    return register_stored(&s, place);
}

static uint32_t register_text(uint32_t type, const char *text, size_t len,
                              const char *place)
{
    uint32_t flags = flags_of(type, text, len);
    if (len > AXP__NAME_MAX_LEN) return register_cut(flags, text, len, place);
    struct stored s = make_stored(flags, text, len);
    return register_stored(&s, place);
}

uint32_t axp__name_register_of(uint32_t type, const char *text,
                               const char *place)
{
    return register_text(type, text, strlen(text), place);
}

static __attribute__((noinline)) uint32_t find_cut(uint32_t *slots,
                                                   uint32_t type,
                                                   const char *text, size_t len)
{
    struct cut cut;
    uint32_t at;
    struct stored s = make_cut(&cut, type, text, len);
    return probe(slots, &s, &at);
}

static uint32_t find_text(uint32_t type, const char *text, size_t len)
{
    uint32_t at, *slots = axp__get_acquire(&names()->slots);
    if (!slots) return 0;
    if (len > AXP__NAME_MAX_LEN) return find_cut(slots, type, text, len);
    struct stored s = make_stored(type, text, len);
    return probe(slots, &s, &at);
}

uint32_t axp__name_find_of(uint32_t type, const char *text)
{
    return find_text(type, text, strlen(text));
}

/* A process that filters its system calls gets no memory for a new one. */
const char *axp_name(const char *text, size_t length)
{
    uint32_t type = AXP__KIND_FLAGS(AXP__KIND_PLAIN), id;
    size_t len = text ? strnlen(text, length) : 0;
    if (!len) return "";
    if (axp__is_quiet())
        id = find_text(type, text, len);
    else
        id = register_text(type, text, len, NULL);
    return axp__name_at(id ? id : AXP__NAME_OTHER)->text;
}

/* By a macro that hands the name on without it. */
void axp__name_place(const char *name, const char *place)
{
    int keep = errno;
    if (name && *name && !axp__is_quiet()) axp__name_register(name, place);
    errno = keep;
}

uint32_t axp__name_of_thread(const char *text)
{
    uint32_t id = axp__name_find(text);
    if (id || axp__get(&names()->n_of_threads) >= AXP__THREAD_NAMES) return id;
    axp__add(&names()->n_of_threads, 1);
    return axp__name_register(text, NULL);
}
