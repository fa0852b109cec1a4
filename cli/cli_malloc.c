/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator that is linked into a program and hidden there, or that is called
 * by a name of its own, cannot be followed, and from inside nobody can tell that
 * it is there. Its symbols tell, where the program has any: so this is a hint.
 * (One that others see as malloc is found by the adapter itself, and warned
 * of.) */
#include "cli/cli_malloc.h"

#include <stdlib.h>

#include "cli/cli_adapter.h"
#include "cli/cli_elf.h"
#include "cli/cli_say.h"

void cli_malloc_say(const cli_args *args, const cli_target *target)
{
    cli_elf elf = {0};
    char *path = cli_adapter_when_needed(args, "memory");
    bool is_on = path && !target->why_not;
    free(path);
    if (!is_on || !cli_elf_read(target->binary, true, &elf)) return;
    if (elf.hidden_malloc && !elf.has_malloc)
        cli_note("%s has an allocator linked into it (%s), where calls cannot "
                 "be seen: what that hands out is in no figure of the heap; "
                 "link it as a shared library, or leave it out",
                 target->name, elf.hidden_malloc);
}
