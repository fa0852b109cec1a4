/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memory of a capture: blocks that are freed together; and what a lane's
 * nodes have left to be counted. */
#include "tally/tally_capture.h"

#include <string.h>

#include "os/os_map.h"
#include "tally/tally_modules.h"
#include "tally/tally_scope.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define LINE 64u

struct axp__cap_block {
    struct axp__cap_block *next;
    size_t bytes, used;
};

void *axp__cap_take(struct axp__capture *c, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX >> 1) / size) return NULL;
    size_t bytes = (count * size + LINE - 1) & ~(size_t)(LINE - 1);
    struct axp__cap_block *b = c->memory;
    if (!b || b->bytes - b->used < bytes) {
        size_t block = LINE + bytes > BLOCK_BYTES
                           ? (LINE + bytes + 4095) & ~(size_t)4095
                           : BLOCK_BYTES;
        b = axp__map(block);
        if (!b) return NULL;
        b->bytes = block;
        b->used = (sizeof *b + LINE - 1) & ~(size_t)(LINE - 1);
        b->next = c->memory;
        c->memory = b;
    }
    void *at = (char *)b + b->used;
    b->used += bytes;
    return at;
}

void axp__cap_free(struct axp__capture *c)
{
    struct axp__cap_block *b = c ? c->memory : NULL;
    struct axp__cap_source *s = c ? c->sources : NULL;
    while (s) {
        struct axp__cap_source *next = s->next;
        s->close(s);
        s = next;
    }
    while (b) { /* c itself may lie in the last one */
        struct axp__cap_block *next = b->next;
        axp__unmap(b, b->bytes);
        b = next;
    }
}

bool axp__cap_add_live(struct axp__capture *c, struct axp__cap_live *live,
                       size_t n)
{
    size_t i = 0, k = 0, n_live = c->n_live;
    struct axp__cap_live *all =
        n_live ? axp__cap_take(c, n_live + n, sizeof *all) : live;
    if (!all) return false;
    while (n_live && i + k < n_live + n) {
        bool is_old = k == n || (i < n_live && c->live[i].name <= live[k].name);
        all[i + k] = is_old ? c->live[i] : live[k];
        i += is_old;
        k += !is_old;
    }
    c->live = all;
    c->n_live = n_live + n;
    return true;
}

void axp__cap_add_domain(struct axp__capture *c, struct axp__cap_domain domain)
{
    size_t i = c->n_domains;
    if (axp__cap_find_domain(c, domain.device)) return;
    for (; i && c->domains[i - 1].device > domain.device; i--)
        c->domains[i] = c->domains[i - 1];
    c->domains[i] = domain;
    c->n_domains++;
}

bool axp__cap_list_names(struct axp__capture *c)
{
    for (uint32_t id = AXP__CAP_SPECIALS; id < c->n_names; id++) {
        struct axp__cap_name name = c->name_at(c, id);
        uint32_t device = axp__device_of(name.flags);
        if (axp__kind_of(name.flags) == AXP__KIND_MODULE &&
            !axp__cap_add_module(c, name.text, strlen(name.text)))
            return false;
        if (axp__kind_of(name.flags) == AXP__KIND_MACHINE && !c->about.machine)
            c->about.machine = name.text;
        if (axp__kind_of(name.flags) != AXP__KIND_DEVICE || !device) continue;
        if (!c->devices)
            c->devices = axp__cap_take(c, AXP__DEVICES, sizeof(char *));
        if (!c->devices) return false;
        if (!c->devices[device]) c->devices[device] = name.text;
    }
    return true;
}

static void declare(struct axp__cap_node *n, uint64_t calls, uint64_t ticks)
{
    if (n->declares & AXP__F_FLOPS) {
        n->n_flops_calls += calls;
        n->flops_ticks += ticks;
    }
    if (n->declares & AXP__F_BYTES) {
        n->n_bytes_calls += calls;
        n->bytes_ticks += ticks;
    }
}

void axp__cap_declare(struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_nodes; i++)
        declare(&lane->nodes[i], lane->nodes[i].calls,
                lane->nodes[i].total_ticks);
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        struct axp__cap_frame *f = &lane->frames[i];
        if (f->node < 0 || (uint32_t)f->node >= lane->n_nodes) continue;
        f->flags |= lane->nodes[f->node].declares;
        declare(&lane->nodes[f->node], 1, 0); /* its time is the view's */
    }
}

uint64_t axp__cap_damage(const struct axp__capture *c)
{
    static const char *const codes[] = {AXP__CODE_CUT, AXP__CODE_DAMAGED,
                                        AXP__CODE_MISSING, AXP__CODE_NO_END,
                                        AXP__CODE_UNWRITTEN};
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_warnings; i++)
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            if (!strcmp(c->warnings[i].code, codes[k]))
                n += c->warnings[i].count > 0;
    for (const struct axp__cap_source *s = c->sources; s; s = s->next)
        n += axp__get(&s->n_failed);
    return n;
}
