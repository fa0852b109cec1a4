/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C++ client. */
#include <axprof/axprof.hpp>
#include <axprof/axprof_read.h>
#include <cstdio>
#include <string>

namespace client
{
static void work(const std::string &name)
{
    AXP_FUNCTION();
    axp::scope s(name);
}
} // namespace client

int main()
{
    axp_op op;
    for (int i = 0; i < 3; i++)
        client::work("inner");
    axp_view *v = axp_snapshot(axp_global());
    for (const char *name : {"client::work", "inner"})
        if (axp_view_op(v, name, &op) == AXP_OK)
            std::printf("%s: %d calls\n", name, static_cast<int>(op.calls));
    axp_view_destroy(v);
}
