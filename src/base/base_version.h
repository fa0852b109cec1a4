/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libaxprof uses private parts of libaxprof_rt, whose layouts change. Shared
 * libraries of two versions are refused by the loader (axprof_rt.map); for
 * archives there is a symbol that has the version in its name, so that the
 * linker names what is missing. */
#ifndef AXP_BASE_VERSION_H
#define AXP_BASE_VERSION_H

#define AXP__VERSION_JOIN2(a, b) a##b
#define AXP__VERSION_JOIN(a, b) AXP__VERSION_JOIN2(a, b)
#define AXP__RT_OF_VERSION AXP__VERSION_JOIN(axp__rt_of_, AXP__VERSION_TAG)

extern __attribute__((visibility("default"))) const char AXP__RT_OF_VERSION;

#endif
