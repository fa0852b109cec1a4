/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names to ids, for the whole process.
 *
 * Registering copies the text, so nothing keeps a pointer into a client that
 * may be unloaded, and equal texts of a type get equal ids. At most 500,000 names; the
 * rest share "(other)". A name longer than 4 KiB is cut and ends in a hash
 * of the whole. The place of its first registration that has one is kept with
 * it: a thread or a counter may have had the text before a scope.
 *
 * Threads  all functions from any thread, lock-free.
 * Failure  without memory every new name is "(other)".
 */
#ifndef AXP_RECORD_NAME_H
#define AXP_RECORD_NAME_H
#include <stddef.h>
#include <stdint.h>

#include "base/base_atomic.h"
#include "wire/wire_kind.h"

#define AXP__NAME_ROOT 0u
#define AXP__NAME_OTHER 1u
#define AXP__NAME_UNNAMED 2u
#define AXP__NAMES_LIMIT 500000u
#define AXP__NAME_MAX_LEN 4096u
#define AXP__THREAD_NAMES 16384u

enum axp__name_flag { AXP__NAME_CUT = 1, AXP__NAME_NOT_UTF8 = 2 };

struct axp__name {
    const char *text;
    uint32_t len;
    uint32_t flags; /* enum axp__name_flag, and the type: wire_kind.h */
    uint64_t hash;
    const char *file; /* NULL: unknown, as yet: read by axp__name_file */
    int line;         /* valid with it */
    uint32_t is_late; /* they came after the name was handed out */
    uint32_t tied;    /* axp__name_tie */
};

/* type: AXP__KIND_FLAGS, AXP__DEVICE_FLAGS. text is neither NULL nor empty;
 * place is "file" 0 "line", or NULL. */
uint32_t axp__name_register_of(uint32_t type, const char *text,
                               const char *place);
static inline uint32_t axp__name_register_as(enum axp__name_kind kind,
                                             const char *text,
                                             const char *place)
{
    return axp__name_register_of(AXP__KIND_FLAGS(kind), text, place);
}
static inline uint32_t axp__name_register(const char *text, const char *place)
{
    return axp__name_register_as(AXP__KIND_PLAIN, text, place);
}
/* The same for the name of a thread. Of those no more are registered than
 * there are rows to show them, so that they leave room for operations: 0. */
uint32_t axp__name_of_thread(const char *text);
/* The id of a text that is registered, 0 if it is not. */
uint32_t axp__name_find_of(uint32_t type, const char *text);
/* The same for a program's text, on the host. */
static inline uint32_t axp__name_find(const char *text)
{
    return axp__name_find_of(AXP__KIND_FLAGS(AXP__KIND_PLAIN), text);
}
/* Valid for every id that was handed out; lives as long as the process. */
const struct axp__name *axp__name_at(uint32_t id);
/* Ties a name to it, unless one is; 0: none. Returns the one that is, 0: none. */
uint32_t axp__name_tie(uint32_t id, uint32_t to);
/* Its file, and with that its line; NULL: unknown. */
static inline const char *axp__name_file(const struct axp__name *n)
{
    return axp__get_acquire(&n->file);
}
uint32_t axp__name_count(void); /* ids are below this */
/* The same for any id below the count; NULL: another thread is still writing
 * it, or it found no memory. */
const struct axp__name *axp__name_ready(uint32_t id);

#endif
