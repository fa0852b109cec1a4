# SPDX-License-Identifier: MIT OR Apache-2.0
# find_package(axprof):
#   axprof::rt          recording and the quick answers
#   axprof::axprof      views, reports and files as well
#   axprof::rt_static, axprof::axprof_static
include(${CMAKE_CURRENT_LIST_DIR}/axprof-targets.cmake)
