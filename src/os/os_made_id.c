/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes to an id; see os_made_id.h. Not a secret, and no proof against someone
 * who makes a file of the same id on purpose: a build id is neither. */
#include "os/os_made_id.h"

#include "base/base_text.h"

const ElfW(Phdr) *
    axp__made_id_frame(const ElfW(Phdr) * part, size_t n_parts, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < n_parts; i++) {
        if (part[i].p_type != PT_GNU_EH_FRAME || !part[i].p_filesz) continue;
        *n = part[i].p_filesz < AXP__MADE_ID_FRAME ? (size_t)part[i].p_filesz
                                                   : AXP__MADE_ID_FRAME;
        return &part[i];
    }
    return NULL;
}

static void put_hex(char *out, uint64_t v, unsigned digits)
{
    while (digits--) {
        out[digits] = "0123456789abcdef"[v & 15];
        v >>= 4;
    }
}

void axp__made_id(const struct axp__made_from *from, char out[AXP__MADE_ID])
{
    uint64_t head =
        axp__text_hash((const char *)from->head, sizeof *from->head);
    uint64_t parts = axp__text_hash((const char *)from->part,
                                    from->n_parts * sizeof *from->part);
    uint64_t frame = axp__text_hash(from->frame, from->n_frame);
    uint64_t all = axp__mix64(axp__mix64(head ^ parts) + frame);
    uint64_t more = axp__mix64(axp__mix64(head + frame) ^ parts);
    put_hex(out, all, 16);
    put_hex(out + 16, more, 8);
    out[AXP__MADE_ID - 1] = 0;
}
