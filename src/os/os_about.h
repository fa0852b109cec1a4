/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a later reader needs to know of the process and its machine, as texts
 * by key: program, arguments, host, processor, limits, environment by an allow
 * list, loaded objects with their build ids.
 *
 * Place    once, when a trace begins; the maps again when it ends, since more
 *          may have been loaded.
 * Private  of the environment nothing but the names in os_about.c; in a setuid
 *          program nothing at all.
 * Memory   some KiB on the stack; no malloc.
 * Failure  what cannot be read is left out. errno is left as it was.
 */
#ifndef AXP_OS_ABOUT_H
#define AXP_OS_ABOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define AXP__ABOUT_ID 65u /* an id, at most, and the 0 after its digits */

/* Called for each pair; false: enough. The value is not ended by 0. */
typedef bool (*axp__about_fn)(void *ctx, const char *key, const char *value,
                              size_t len);

/* All but the environment and the maps, by the kernel alone. */
void axp__about_process(axp__about_fn put, void *ctx);
/* "env.NAME" of the allow list. Not while the environment may change. */
void axp__about_environment(axp__about_fn put, void *ctx);
/* Of that the program and its host only. */
void axp__about_run(axp__about_fn put, void *ctx);
/* os_objects.c. "map.0" …: "bias first last build-id path", the numbers in hexadecimal; an
 * address a of the process is a - bias in the object's file. What has no build
 * id has one that is made (os_made_id.h). */
void axp__about_maps(axp__about_fn put, void *ctx);
/* The same of another process, as far as the kernel lets one look. False: it
 * has no file of that device and inode mapped, so that it is not the one that
 * was meant; what was told is to be forgotten. */
bool axp__about_maps_of(uint64_t pid, const struct stat *file,
                        axp__about_fn put, void *ctx);
/* The id of the object of this process whose file's beginning is at an address;
 * "-": there is none, or it has none that can be known. */
void axp__about_id(uint64_t address, char out[AXP__ABOUT_ID]);

/* The rank of this process among those of its run; -1: none. */
int32_t axp__about_rank(void);
/* Identifies the host and its start; zeros: unknown. */
void axp__about_boot_id(uint8_t out[16]);

#endif
