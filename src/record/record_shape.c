/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of shapes; see record_shape.h. */
#include "record/record_shape.h"

#include <string.h>

#include "record/record_name.h"
#include "record/record_process.h"
#include "wire/wire_shape.h"

#define TYPE AXP__KIND_FLAGS(AXP__KIND_SHAPE)
#define WORK_TYPE AXP__KIND_FLAGS(AXP__KIND_WORK)

/* Without room its dims are taken from it. */
static uint32_t make(struct axp__lane *lane, struct axp__shape *shape)
{
    char text[AXP__SHAPE_TEXT];
    uint32_t *n_shapes = &axp__process()->names.n_of_shapes;
    axp__shape_put(text, shape);
    uint32_t id = axp__name_find_of(TYPE, text);
    if (id) return id;
    if (axp__get(n_shapes) >= AXP__SHAPES_LIMIT) {
        axp__warn(lane->p, AXP__WARN_SHAPES_FULL, shape->op);
        shape->n_dims = 0;
        axp__shape_put(text, shape);
    } else {
        axp__add(n_shapes, 1);
    }
    id = axp__name_register_of(TYPE, text, NULL);
    if (id != AXP__NAME_OTHER) return id;
    shape->n_dims = 0;
    return shape->op;
}

/* The name of a shape and that work; 0: the shape has another one. Threads that
 * come with one work at once make one name of it; of several the first is taken. */
static uint32_t make_work(uint32_t shape, const struct axp__work *work)
{
    struct axp__shape_work w = {.shape = shape, .dtype = work->dtype};
    char text[AXP__SHAPE_WORK_TEXT];
    __builtin_memcpy(&w.flops, &work->flops, 8);
    __builtin_memcpy(&w.bytes, &work->bytes, 8);
    if (w.flops >= AXP__SHAPE_HUGE || w.bytes >= AXP__SHAPE_HUGE) return 0;
    axp__shape_work_put(text, &w);
    uint32_t first = axp__name_tie(shape, 0);
    if (first) return axp__name_find_of(WORK_TYPE, text) == first ? first : 0;
    uint32_t id = axp__name_register_of(WORK_TYPE, text, NULL);
    return id != AXP__NAME_OTHER && axp__name_tie(shape, id) == id ? id : 0;
}

static bool is_with_work(const struct axp__cached_shape *c,
                         const struct axp__cached_shape *shape)
{
    return c->has_work && c->op == shape->op &&
           !memcmp(c->dims, shape->dims, sizeof c->dims);
}

/* The one that was put there first gives way. One without work would be found for
 * any: that of its shape that has some goes before it, and stays there. */
static void put(struct axp__cached_shape *to, struct axp__cached_shape shape)
{
    unsigned at = 0, with = shape.has_work ? AXP__SHAPE_WAYS : 0;
    while (with < AXP__SHAPE_WAYS && !is_with_work(&to[with], &shape))
        with++;
    if (with < AXP__SHAPE_WAYS) {
        struct axp__cached_shape first = to[with];
        memmove(to + 1, to, with * sizeof *to);
        to[at++] = first;
    }
    memmove(to + at + 1, to + at, (AXP__SHAPE_WAYS - 1 - at) * sizeof *to);
    to[at] = shape;
}

uint32_t axp__shape_name(struct axp__lane *lane, uint32_t op,
                         const uint32_t dims[6], const struct axp__work *work,
                         bool *has_work)
{
    struct axp__thread *t = axp__tls;
    struct axp__shape shape = {.op = op};
    struct axp__cached_shape made = {.op = op};
    const struct axp__cached_shape *c = axp__shape_peek(t, op, dims, work);
    *has_work = c && c->has_work;
    if (c || op <= AXP__NAME_UNNAMED) return c ? c->name : op;
    while (shape.n_dims < AXP__SHAPE_DIMS && dims[shape.n_dims]) {
        shape.dims[shape.n_dims] = dims[shape.n_dims];
        shape.n_dims++;
    }
    made.name = make(lane, &shape);
    uint32_t with = work && shape.n_dims ? make_work(made.name, work) : 0;
    if (with) {
        made.name = with;
        made.flops = work->flops;
        made.bytes = work->bytes;
        made.dtype = work->dtype;
        made.has_work = *has_work = true;
    }
    __builtin_memcpy(made.dims, dims, sizeof made.dims);
    put(axp__shape_slot(t, op, made.dims), made);
    return made.name;
}

uint32_t axp__shape_op(const void *unused, uint32_t name)
{
    const struct axp__name *n = axp__name_at(name);
    const char *text = axp__get_acquire(&n->text); /* the rest is before it */
    struct axp__shape_work work;
    struct axp__shape shape;
    if (axp__kind_of(n->flags) == AXP__KIND_WORK)
        return axp__shape_work_get(text, name, &work)
                   ? axp__shape_op(unused, work.shape)
                   : name;
    if (axp__kind_of(n->flags) != AXP__KIND_SHAPE ||
        !axp__shape_get(text, name, &shape))
        return name;
    return shape.op;
}
