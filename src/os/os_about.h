/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a later reader needs to know of the process and its machine: program,
 * arguments, host, processor, limits, environment by an allow list, loaded
 * objects with their build ids.
 *
 * Place    once, when a trace begins; the maps again when it ends.
 * Memory   some KiB on the stack; no malloc.
 * Failure  what cannot be read is left out. errno is left as it was.
 */
#ifndef AXP_OS_ABOUT_H
#define AXP_OS_ABOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each pair; false: enough. The value is not ended by 0. */
typedef bool (*axp__about_fn)(void *ctx, const char *key, const char *value,
                              size_t len);

void axp__about_process(axp__about_fn put, void *ctx); /* all but the maps */
void axp__about_maps(axp__about_fn put, void *ctx);    /* "map.0" … */

/* The rank of this process among those of its run; -1: none. */
int32_t axp__about_rank(void);
/* Identifies the host and its start; zeros: unknown. */
void axp__about_boot_id(uint8_t out[16]);

#endif
