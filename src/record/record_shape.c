/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of shapes; see record_shape.h. */
#include "record/record_shape.h"

#include "record/record_name.h"
#include "record/record_process.h"
#include "wire/wire_shape.h"

#define TYPE AXP__KIND_FLAGS(AXP__KIND_SHAPE)

static uint32_t make(struct axp__lane *lane, struct axp__shape shape)
{
    char text[AXP__SHAPE_TEXT];
    uint32_t *n_shapes = &axp__process()->names.n_of_shapes;
    axp__shape_put(text, &shape);
    uint32_t id = axp__name_find_of(TYPE, text);
    if (id) return id;
    if (axp__get(n_shapes) >= AXP__SHAPES_LIMIT) {
        axp__warn(lane->p, AXP__WARN_SHAPES_FULL, shape.op);
        shape.n_dims = 0;
        axp__shape_put(text, &shape);
    } else {
        axp__add(n_shapes, 1);
    }
    id = axp__name_register_of(TYPE, text, NULL);
    return id == AXP__NAME_OTHER ? shape.op : id;
}

/* The one that was put there first gives way. */
static void put(struct axp__cached_shape *to, struct axp__cached_shape shape)
{
    for (unsigned way = AXP__SHAPE_WAYS - 1; way; way--)
        to[way] = to[way - 1];
    to[0] = shape;
}

uint32_t axp__shape_name(struct axp__lane *lane, uint32_t op,
                         const uint32_t dims[6])
{
    struct axp__thread *t = axp__tls;
    struct axp__shape shape = {.op = op};
    uint64_t d[3];
    uint32_t id = axp__shape_peek(t, op, dims);
    if (id || op <= AXP__NAME_UNNAMED) return id ? id : op;
    while (shape.n_dims < AXP__SHAPE_DIMS && dims[shape.n_dims]) {
        shape.dims[shape.n_dims] = dims[shape.n_dims];
        shape.n_dims++;
    }
    id = make(lane, shape);
    __builtin_memcpy(d, dims, sizeof d);
    put(axp__shape_slot(t, op, d),
        (struct axp__cached_shape){{d[0], d[1], d[2]}, op, id});
    return id;
}

uint32_t axp__shape_op(const void *unused, uint32_t name)
{
    const struct axp__name *n = axp__name_at(name);
    const char *text = axp__get_acquire(&n->text); /* the rest is before it */
    struct axp__shape shape;
    (void)unused;
    if (axp__kind_of(n->flags) != AXP__KIND_SHAPE ||
        !axp__shape_get(text, name, &shape))
        return name;
    return shape.op;
}
