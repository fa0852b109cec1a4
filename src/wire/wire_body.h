/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The bodies of small blocks: ABOUT, NAMES and ROWS. Each is a row of records
 * without a count of their own, so that a writer may append while they fit.
 *
 *   ABOUT   key length, key, value length, value …
 *   NAMES   flags (kind << 8), line, length of text, 1 + length of file or 0,
 *           text, file …
 *   ROWS    id, track, name, tid, first ticks …
 *
 * All numbers are varints (base_bytes.h).
 *
 * Place    put by the drain and by src/file, got by src/file.
 * Failure  put: 0, nothing written, where the record does not fit.
 *          get: false at the end, or at what cannot be (is_bad of the bytes).
 */
#ifndef AXP_WIRE_BODY_H
#define AXP_WIRE_BODY_H
#include "base/base_bytes.h"
#include "wire/wire_block.h"
#include "wire/wire_kind.h"

#define AXP__ABOUT_KEY_MAX 128u
#define AXP__ABOUT_VALUE_MAX 65536u
#define AXP__NAME_TEXT_MAX 8192u /* longer than any that is recorded */

/* Keys of ABOUT that who looked from outside tells of a process in another
 * namespace of process ids: his namespace, the number that the process has there,
 * and "NUMBER TICKS" of each thread, by the number that it has inside: since when it
 * may have been there. */
#define AXP__ABOUT_NAMESPACE "outside.pid_namespace"
#define AXP__ABOUT_PROCESS "outside.process_id"
#define AXP__ABOUT_THREAD "outside.thread."
/* Of who sampled: the number of the process whose recording's id begins so. */
#define AXP__ABOUT_RECORDING "outside.recording."

struct axp__slice { /* not ended by 0 */
    const char *at;
    size_t len;
};

struct axp__name_record {
    struct axp__slice text, file; /* file.at NULL: unknown */
    uint32_t line, flags;
};

struct axp__row_record {
    uint32_t id, track, name;
    uint64_t tid, first_ticks;
};

/* Each returns the bytes written. */
size_t axp__about_put(uint8_t *out, size_t cap, const char *key,
                      struct axp__slice value);
size_t axp__name_put(uint8_t *out, size_t cap,
                     const struct axp__name_record *name);
size_t axp__row_put(uint8_t *out, size_t cap,
                    const struct axp__row_record *row);

AXP_API bool axp__about_get(struct axp__bytes *b, struct axp__slice *key,
                            struct axp__slice *value);
AXP_API bool axp__name_get(struct axp__bytes *b, struct axp__name_record *out);
AXP_API bool axp__row_get(struct axp__bytes *b, struct axp__row_record *out);

#endif
