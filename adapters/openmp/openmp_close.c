/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that goes: what is known of places in it is forgotten when a library is
 * closed. Nothing that is kept of it is ever read as code. */
#include "adapters/common/common_close.h"
#include "openmp_call.h"
#include "openmp_team.h"

static void forget(void)
{
    openmp_call_forget();
    openmp_team_forget();
}

__attribute__((constructor)) static void begin(void)
{
    common_close_tell(forget);
}
