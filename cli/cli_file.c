/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof info, check, pack: recordings as files. */
#include <string.h>
#include <sys/stat.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"
#include "cli/cli_trace.h"
#include "cli/cli_verbs.h"

int cli_info_main(const cli_args *args)
{
    int rc = cli_trace_check(args);
    if (rc != CLI_OK) return rc;
    if (axp_file_info_write((const char *const *)args->rest, args->n_rest,
                            stdout) != AXP_OK)
        return cli_fail("%s", axp_last_error());
    return CLI_OK;
}

int cli_check_main(const cli_args *args)
{
    int rc = cli_trace_check(args);
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < args->n_rest; i++) {
        const char *path = args->rest[i];
        axp_status status = axp_file_check(path, stdout);
        if (status == AXP_OK) {
            cli_put(path);
            puts(": sound");
            continue;
        }
        cli_fail("%s: %s", path, axp_last_error());
        if (status != AXP_E_DAMAGED)
            rc = CLI_FAILED;
        else if (rc == CLI_OK)
            rc = CLI_DAMAGED;
    }
    return rc;
}

int cli_pack_main(const cli_args *args)
{
    const char *out = cli_args_value(args, OPT_pack_output);
    struct stat st;
    int rc = cli_trace_check(args);
    if (rc != CLI_OK) return rc;
    if (out && args->n_rest > 1)
        return cli_wrong("-o takes one file; pack the others one by one");
    if (out && !strcmp(out, "-"))
        return cli_wrong("a recording cannot be packed into standard output; "
                         "give a name with -o");
    if (out && !lstat(out, &st))
        return cli_fail("%s exists; remove it or choose another name", out);
    for (size_t i = 0; i < args->n_rest; i++) {
        axp_status status = axp_file_pack(args->rest[i], out);
        if (status == AXP_OK) continue;
        cli_fail("%s: %s", args->rest[i], axp_last_error());
        if (status != AXP_E_DAMAGED)
            rc = CLI_FAILED;
        else if (rc == CLI_OK)
            rc = CLI_DAMAGED;
    }
    return rc;
}
