/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What sampled_program opens and closes again. */
__attribute__((visibility("default"))) void spin_in_library(long rounds);

static volatile double sink;

void spin_in_library(long rounds)
{
    double x = 1;
    for (long i = rounds; i > 0; i--)
        x = x * 1.0000001 + 0.1;
    sink = x;
}
