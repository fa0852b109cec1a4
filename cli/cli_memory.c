/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading --memory; see cli_memory.h. */
#include "cli/cli_memory.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli_say.h"

#define DEFAULT_BYTES ((uint64_t)512 << 10)
#define LEAST_BYTES ((uint64_t)1 << 10)
#define MOST_BYTES ((uint64_t)1 << 40)

/* 512K, 1M, 100000; 0: it is no size. */
static uint64_t size_of(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (*text < '0' || *text > '9' || end[shift != 0]) return 0;
    return n > MOST_BYTES >> shift ? MOST_BYTES + 1 : (uint64_t)n << shift;
}

int cli_memory_read(const cli_args *args, uint64_t *bytes)
{
    const char *text = cli_args_value(args, OPT_run_memory);
    *bytes = 0;
    if (!text || !strcmp(text, "exact")) return CLI_OK;
    if (!strcmp(text, "sample"))
        *bytes = DEFAULT_BYTES;
    else if (!strncmp(text, "sample:", 7))
        *bytes = size_of(text + 7);
    if (*bytes >= LEAST_BYTES && *bytes <= MOST_BYTES) return CLI_OK;
    return cli_wrong("--memory wants \"exact\", \"sample\" or \"sample:BYTES\" "
                     "with 1K to 1024G, not \"%s\"",
                     text);
}
