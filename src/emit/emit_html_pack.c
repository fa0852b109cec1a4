/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Columns of numbers as text that a browser decodes quickly.
 *
 *   n × 8 bytes ─► byte planes, those of zeros left out ─► zlib ─► base64
 *
 * A plane is byte p of every value in turn. Equal high bytes lie side by side
 * then, which a compressor sees and a varint does not: 3.4 bytes an event
 * where varints of differences take 4.0. The browser has zlib and base64 in
 * machine code, and puts planes together faster than it could follow varints.
 */
#include "emit/emit_html.h"

#include <stdlib.h>
#include <zlib.h>

#define HEADER 5

struct axp__html_packer {
    z_stream z;
    uint32_t n;
    uint8_t *planes; /* header, masks and planes */
    size_t len, cap;
    uint8_t *packed;
    size_t packed_cap;
    bool has_failed;
};

struct axp__html_packer *axp__html_packer_create(int level)
{
    struct axp__html_packer *p = calloc(1, sizeof *p);
    if (p && deflateInit(&p->z, level) != Z_OK) {
        free(p);
        p = NULL;
    }
    return p;
}

void axp__html_packer_destroy(struct axp__html_packer *p)
{
    if (!p) return;
    deflateEnd(&p->z);
    free(p->planes);
    free(p->packed);
    free(p);
}

static bool reserve(uint8_t **buffer, size_t *cap, size_t need)
{
    if (need <= *cap) return true;
    uint8_t *wider = realloc(*buffer, need + need / 4);
    if (!wider) return false;
    *buffer = wider;
    *cap = need + need / 4;
    return true;
}

bool axp__html_pack_begin(struct axp__html_packer *p, uint32_t n,
                          unsigned n_columns)
{
    p->n = n;
    p->len = HEADER;
    p->has_failed = n_columns > 255 || !reserve(&p->planes, &p->cap, HEADER);
    if (p->has_failed) return false;
    for (int i = 0; i < 4; i++)
        p->planes[i] = (uint8_t)(n >> 8 * i);
    p->planes[4] = (uint8_t)n_columns;
    return true;
}

/* Room for a mask and its planes; writes the mask. */
static uint8_t *add_column(struct axp__html_packer *p, uint64_t all)
{
    unsigned mask = 0, n = 0;
    for (unsigned i = 0; i < 8; i++)
        if (all >> 8 * i & 255) mask |= 1u << i, n++;
    p->has_failed |=
        !reserve(&p->planes, &p->cap, p->len + 1 + (size_t)n * p->n);
    if (p->has_failed) return NULL;
    uint8_t *at = p->planes + p->len;
    *at = (uint8_t)mask;
    p->len += 1 + (size_t)n * p->n;
    return at + 1;
}

void axp__html_pack_u64(struct axp__html_packer *p, const uint64_t *values)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < p->n; i++)
        all |= values[i];
    uint8_t *to = add_column(p, all);
    for (unsigned b = 0; to && b < 64; b += 8) {
        if (!(all >> b & 255)) continue;
        for (uint32_t i = 0; i < p->n; i++)
            to[i] = (uint8_t)(values[i] >> b);
        to += p->n;
    }
}

void axp__html_pack_u32(struct axp__html_packer *p, const uint32_t *values)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < p->n; i++)
        all |= values[i];
    uint8_t *to = add_column(p, all);
    for (unsigned b = 0; to && b < 32; b += 8) {
        if (!(all >> b & 255)) continue;
        for (uint32_t i = 0; i < p->n; i++)
            to[i] = (uint8_t)(values[i] >> b);
        to += p->n;
    }
}

/* ---- base64 ------------------------------------------------------------------- */

static void put_base64(struct axp__out *o, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096];
    size_t i = 0;
    while (len - i >= 3) {
        size_t n = 0;
        for (; len - i >= 3 && n < sizeof text; i += 3, n += 4) {
            uint32_t x = (uint32_t)bytes[i] << 16 |
                         (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
            text[n] = digits[x >> 18];
            text[n + 1] = digits[x >> 12 & 63];
            text[n + 2] = digits[x >> 6 & 63];
            text[n + 3] = digits[x & 63];
        }
        axp__out_bytes(o, text, n);
    }
    if (len == i) return;
    uint32_t x = (uint32_t)bytes[i] << 16 |
                 (len - i == 2 ? (uint32_t)bytes[i + 1] << 8 : 0);
    text[0] = digits[x >> 18];
    text[1] = digits[x >> 12 & 63];
    text[2] = len - i == 2 ? digits[x >> 6 & 63] : '=';
    text[3] = '=';
    axp__out_bytes(o, text, 4);
}

bool axp__html_pack_end(struct axp__html_packer *p, struct axp__out *o)
{
    if (p->has_failed) return false;
    size_t need = deflateBound(&p->z, p->len);
    if (!reserve(&p->packed, &p->packed_cap, need)) return false;
    p->z.next_in = p->planes;
    p->z.avail_in = (uInt)p->len;
    p->z.next_out = p->packed;
    p->z.avail_out = (uInt)p->packed_cap;
    bool is_done = deflate(&p->z, Z_FINISH) == Z_STREAM_END;
    if (is_done) put_base64(o, p->packed, p->z.total_out);
    deflateReset(&p->z);
    return is_done;
}
