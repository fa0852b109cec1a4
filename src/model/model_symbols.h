/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of functions for what was recorded by address.
 *
 * An adapter that knows only where a function is records it, by a call of its
 * own that gives the name its kind, as MODULE+0xOFFSET with the module's path
 * as its file and no line. Here that becomes the
 * function's name, file and line, from the module's symbols on this machine;
 * where those are missing, or of another build, it stays.
 *
 * Place      axp_open, before captures are joined: the build ids are the
 *            file's own.
 */
#ifndef AXP_MODEL_SYMBOLS_H
#define AXP_MODEL_SYMBOLS_H
#include "file/file_texts.h"
#include "symbol/symbol_find.h"

/* Replaces c's name_at where there is something to replace; the folders are not
 * kept. Without memory names stay as they are. */
void axp__model_name_functions(struct axp__capture *c,
                               const struct axp__about *about,
                               struct axp__folders folders);

#endif
