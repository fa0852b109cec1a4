/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places of the heap: what makes one, and how it comes to its name.
 *
 * A new place interns its stack and makes a name of that, the scopes that are
 * open and, where the program tracks a block, what it calls it (wire_place.h).
 */
#include "record/record_heap.h"
#include "record/record_memory.h"
#include "tally/tally_stacks.h"
#include "wire/wire_place.h"
#include "wire/wire_stack.h"

#include "axprof/axprof_adapter.h"

#define MOST_PLACES (1u << 17)
#define MOST_FRAMES 64u
#define NOWHERE "1:0:" /* AXP__STACK_NO_ROOM */

/* A large program has several 100,000 stacks that allocate, most of them once,
 * while it starts: the more places there are, the fewer frames a new one has,
 * and small blocks have fewer sooner. So there is room left for what comes
 * later, and frames that nobody wants are not looked for. */
static uint32_t depths[2] = {MOST_FRAMES, MOST_FRAMES}; /* small, large */

static void set_depths(uint64_t n_places)
{
    uint32_t part = (uint32_t)(n_places / (MOST_PLACES / 16));
    axp__put(&depths[0], part < 1   ? MOST_FRAMES
                         : part < 2 ? 8
                         : part < 4 ? 4
                                    : 2);
    axp__put(&depths[1], part < 8 ? MOST_FRAMES : part < 14 ? 12 : 3);
}

const uint32_t *axp_heap_frames(void)
{
    return depths;
}

uint32_t axp__heap_register(struct axp__heap *h,
                            const struct axp__heap_place_parts *parts)
{
    const uint32_t type = AXP__KIND_FLAGS(AXP__KIND_PLACE);
    char text[AXP__PLACE_TEXT];
    axp__heap_place_put(text, parts);
    uint32_t id = axp__name_find_of(type, text);
    if (id) return id;
    uint64_t n = axp__add(&h->n_places, 1);
    if (n >= MOST_PLACES) {
        axp__add(&h->n_places, -1);
        return 0;
    }
    if (n % (MOST_PLACES / 16) == 0) set_depths(n);
    id = axp__name_register_of(type, text, NULL);
    return id > AXP__NAME_UNNAMED ? id : 0;
}

static uint32_t intern(struct axp__lane *lane, const axp_heap_stack *stack)
{
    uint8_t bytes[AXP__STACK_BYTES(MOST_FRAMES)];
    struct axp__prof *p = lane->p;
    uint32_t n = stack->n < MOST_FRAMES ? stack->n : MOST_FRAMES;
    if (!n) return AXP__STACK_NONE;
    size_t n_bytes = axp__stack_put(bytes, stack->frames, n);
    return axp__stacks_intern(&p->stacks, &p->budget, bytes, (uint32_t)n_bytes);
}

static void add_scopes(struct axp__heap_place_parts *parts,
                       const struct axp__tally *t)
{
    const struct axp__frame *f = t->top;
    for (; f > t->frames && parts->n_scopes < AXP__PLACE_SCOPES; f--)
        parts->scope[parts->n_scopes++] = f->op->name;
}

/* The name of where we are. Past the last one stacks are left out, and then
 * scopes too. */
uint32_t axp__heap_name_place(struct axp__lane *lane,
                              const axp_heap_stack *stack)
{
    struct axp__heap *h = &lane->p->heap;
    struct axp__heap_place_parts parts = {0};
    parts.stack = axp__get(&h->n_places) < MOST_PLACES ? intern(lane, stack)
                                                       : AXP__STACK_NO_ROOM;
    add_scopes(&parts, &lane->tally);
    uint32_t id = axp__heap_register(h, &parts);
    if (id) return id;
    axp__warn(lane->p, AXP__WARN_PLACES_FULL, 0);
    return axp__name_register_of(AXP__KIND_FLAGS(AXP__KIND_PLACE), NOWHERE,
                                 NULL);
}
