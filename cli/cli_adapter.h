/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapters there are, and the choice of those that a run loads.
 *
 * They lie beside the command: ../LIBDIR/axprof from an installed one,
 * ../adapters from one that was just built.
 */
#ifndef CLI_ADAPTER_H
#define CLI_ADAPTER_H
#include "cli/cli_args.h"

typedef struct cli_adapter {
    const char *name;
    bool is_default;
    const char *variable; /* NULL: it is preloaded */
    const char *text;
} cli_adapter;

extern const cli_adapter cli_adapters[];
extern const size_t cli_n_adapters;

/* Where the adapter's library is; caller frees. NULL: it cannot be loaded, and
 * *why says so; why may be NULL. */
char *cli_adapter_path(const cli_adapter *adapter, const char **why);
/* By --with and --without: paths joined by ":", or NULL where none is wanted.
 * Names that no adapter has are answered with the nearest. Caller frees.
 * has_new: the program's allocator may have C++'s operators of its own, which
 * another build of the memory adapter wraps. */
int cli_adapter_choose(const cli_args *args, bool has_new, char **out);
/* Does a library, by its path, come before what the user preloads? That of an
 * allocator does: what is next is the allocator. */
bool cli_adapter_is_first(const char *path, size_t len);
/* "VARIABLE=PATH" for an adapter that is wanted and has one which the user does
 * not use; malloc, NULL: none. */
char *cli_adapter_entry(const cli_args *args, const cli_adapter *adapter);
/* The path of one that is loaded when it is needed, unless --without says
 * otherwise; malloc, NULL: none. */
char *cli_adapter_when_needed(const cli_args *args, const char *name);
/* What `run --list` prints. */
int cli_adapter_list(const cli_args *args);

#endif
