/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A table of names by content; see file_join_names.h. */
#include "file/file_join_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "wire/wire_place.h"
#include "wire/wire_shape.h"
#include "wire/wire_word.h"

/* ---- the table ------------------------------------------------------------------ */

static bool is_same(const struct axp__cap_name *a,
                    const struct axp__cap_name *b)
{
    return !((a->flags ^ b->flags) & AXP__TYPE_FLAGS) &&
           !strcmp(a->text, b->text);
}

static uint32_t *find_slot(const struct axp__join_names *j,
                           const struct axp__cap_name *name)
{
    uint64_t k = axp__text_hash(name->text, strlen(name->text));
    uint32_t *slot;
    while (*(slot = &j->slots[k & (j->n_slots - 1)]) &&
           !is_same(&j->at[*slot - 1], name))
        k++;
    return slot;
}

static bool widen(struct axp__join_names *j)
{
    uint32_t cap = j->cap ? j->cap * 2 : 1024;
    struct axp__cap_name *at = realloc(j->at, cap * sizeof *at);
    if (at) j->at = at;
    uint32_t *slots = calloc(4 * (size_t)cap, sizeof *slots);
    if (!at || !slots) {
        free(slots);
        return false;
    }
    free(j->slots);
    j->slots = slots;
    j->n_slots = 4 * cap;
    j->cap = cap;
    for (uint32_t i = 0; i < j->n; i++)
        *find_slot(j, &j->at[i]) = i + 1;
    return true;
}

/* The id of a name in the joined table. Past the last it is 1, "(other)";
 * UINT32_MAX: no memory. */
static uint32_t add(struct axp__join_names *j, struct axp__cap_name name)
{
    if (j->n == j->cap && !widen(j)) return UINT32_MAX;
    uint32_t *slot = find_slot(j, &name);
    if (*slot) {
        struct axp__cap_name *there = &j->at[*slot - 1];
        if (!there->file && name.file) *there = name;
        return *slot - 1;
    }
    assert(j->n <= AXP__MAX_NAMES);
    if (j->n == AXP__MAX_NAMES) return 1;
    j->at[j->n] = name;
    return (*slot = ++j->n) - 1;
}

/* ---- devices -------------------------------------------------------------------- */

/* One text, one number. */
static uint32_t number_of(struct axp__capture *c, const char *text)
{
    uint32_t n = 1;
    if (!c->devices)
        c->devices = axp__cap_take(c, AXP__DEVICES, sizeof(char *));
    if (!c->devices) return 0;
    while (n < AXP__DEVICE_OTHER && c->devices[n] &&
           strcmp(c->devices[n], text) != 0)
        n++;
    if (n == AXP__DEVICE_OTHER) text = AXP__DEVICE_OTHER_TEXT;
    if (!c->devices[n]) c->devices[n] = text; /* its part stays */
    return n;
}

uint32_t axp__join_device(struct axp__capture *c, struct axp__shift *s,
                          uint32_t device)
{
    uint8_t *to = &s->device[device % AXP__DEVICES];
    if (!*to) *to = (uint8_t)number_of(c, axp__cap_device(s->part, device));
    return *to;
}

/* ---- names ---------------------------------------------------------------------- */

/* A part's name as one of c's; false: no memory. */
static bool set_device(struct axp__capture *c, struct axp__shift *s,
                       struct axp__cap_name *name)
{
    uint32_t device = axp__device_of(name->flags);
    if (!device) return true;
    device = axp__join_device(c, s, device);
    name->flags &= ~AXP__DEVICE_FLAGS(0xff);
    name->flags |= AXP__DEVICE_FLAGS(device);
    return device;
}

/* The text of a place has ids of its part, of names before it and of stacks;
 * false: no memory. */
static bool set_place(struct axp__capture *c, const struct axp__shift *s,
                      uint32_t id, struct axp__cap_name *name)
{
    struct axp__heap_place_parts parts;
    char text[AXP__PLACE_TEXT];
    if (axp__kind_of(name->flags) != AXP__KIND_PLACE) return true;
    if (!axp__heap_place_get(name->text, &parts)) return true;
    parts.stack = axp__shift_stack(s, parts.stack);
    if (parts.label) parts.label = parts.label < id ? s->name[parts.label] : 0;
    for (uint32_t i = 0; i < parts.n_scopes; i++)
        parts.scope[i] = parts.scope[i] < id ? s->name[parts.scope[i]] : 1;
    axp__heap_place_put(text, &parts);
    char *copy = axp__cap_take(c, strlen(text) + 1, 1);
    if (copy) name->text = strcpy(copy, text);
    return copy;
}

/* The same of a shape, whose text has the id of its operation, and of one with
 * work, which has the shape's. */
static bool set_shape(struct axp__capture *c, const struct axp__shift *s,
                      uint32_t id, struct axp__cap_name *name)
{
    struct axp__shape shape;
    struct axp__shape_work work;
    char text[AXP__SHAPE_TEXT + AXP__SHAPE_WORK_TEXT];
    enum axp__name_kind kind = axp__kind_of(name->flags);
    if (kind == AXP__KIND_SHAPE && axp__shape_get(name->text, id, &shape)) {
        shape.op = s->name[shape.op];
        axp__shape_put(text, &shape);
    } else if (kind == AXP__KIND_WORK &&
               axp__shape_work_get(name->text, id, &work)) {
        work.shape = s->name[work.shape];
        axp__shape_work_put(text, &work);
    } else {
        return true;
    }
    char *copy = axp__cap_take(c, strlen(text) + 1, 1);
    if (copy) name->text = strcpy(copy, text);
    return copy;
}

bool axp__join_names(struct axp__join_names *j, struct axp__capture *c,
                     struct axp__shift *s)
{
    const struct axp__capture *from = s->part;
    s->n_names = from->n_names;
    s->name = malloc((s->n_names + (size_t)1) * sizeof *s->name);
    if (!s->name) return false;
    for (uint32_t id = 0; id <= s->n_names; id++) {
        struct axp__cap_name name = from->name_at(from, id);
        if (!set_device(c, s, &name) || !set_place(c, s, id, &name) ||
            !set_shape(c, s, id, &name))
            return false;
        s->name[id] = add(j, name);
        if (s->name[id] == UINT32_MAX) return false;
    }
    return true;
}

struct names { /* of a joined capture */
    struct axp__cap_name *at;
    uint32_t n;
};

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    const struct names *names = c->own;
    if (id < names->n) return names->at[id];
    return axp__cap_special(id);
}

bool axp__join_names_end(const struct axp__join_names *j,
                         struct axp__capture *c)
{
    struct names *names = axp__cap_take(c, 1, sizeof *names);
    struct axp__cap_name *at = axp__cap_take(c, j->n, sizeof *at);
    if (!names || !at) return false;
    memcpy(at, j->at, j->n * sizeof *at);
    *names = (struct names){at, j->n};
    c->own = names;
    c->name_at = name_at;
    c->n_names = j->n;
    return true;
}

void axp__join_names_fini(struct axp__join_names *j)
{
    free(j->at);
    free(j->slots);
}
