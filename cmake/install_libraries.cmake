# SPDX-License-Identifier: MIT OR Apache-2.0
# What a program that uses the libraries finds where they are installed:
# headers, libraries, find_package(axprof) and pkg-config. Every path is
# relative, so that the tree can be moved.
#
# libaxprof.so and libaxprof.a are linker scripts, as libc.so and libm.a are, so
# that -laxprof alone links a program that records and reads: a linker follows
# no library's own needs for what the program itself calls, and one archive
# cannot hold both parts, which share sources. Loaders and find_package use
# libaxprof.so.0, CMake's static target libaxprof_read.a.
set(lib ${CMAKE_INSTALL_LIBDIR})
set_target_properties(axprof_rt PROPERTIES EXPORT_NAME rt)
set_target_properties(axprof_rt_static PROPERTIES EXPORT_NAME rt_static)
set_target_properties(axprof_static PROPERTIES OUTPUT_NAME axprof_read)
# for a program that calls libaxprof alone: who finds it need not find rt
set_target_properties(axprof PROPERTIES INSTALL_RPATH "$ORIGIN"
                      BUILD_WITH_INSTALL_RPATH ON)
foreach(t axprof_rt axprof_rt_static axprof axprof_static)
    target_include_directories(${t} PUBLIC
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

install(TARGETS axprof_rt axprof_rt_static EXPORT axprof-targets
        LIBRARY DESTINATION ${lib} ARCHIVE DESTINATION ${lib})
install(TARGETS axprof axprof_static EXPORT axprof-targets
        LIBRARY DESTINATION ${lib} NAMELINK_SKIP ARCHIVE DESTINATION ${lib})
set(scripts ${CMAKE_CURRENT_BINARY_DIR}/scripts)
file(WRITE ${scripts}/libaxprof.so "/* GNU ld script */
INPUT(libaxprof.so.0 AS_NEEDED(libaxprof_rt.so.0))
")
file(WRITE ${scripts}/libaxprof.a "/* GNU ld script */
INPUT(libaxprof_read.a libaxprof_rt.a -lzstd -lz -lm -ldl -lpthread)
")
install(FILES ${scripts}/libaxprof.so ${scripts}/libaxprof.a
        DESTINATION ${lib})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/axprof
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

include(CMakePackageConfigHelpers)
write_basic_package_version_file(
    ${CMAKE_CURRENT_BINARY_DIR}/axprof-config-version.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/axprof-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/axprof-config.cmake
        DESTINATION ${lib}/cmake/axprof)
install(EXPORT axprof-targets NAMESPACE axprof::
        DESTINATION ${lib}/cmake/axprof)

# pcfiledir is where the .pc file is: from there to the prefix.
file(RELATIVE_PATH AXP_PC_PREFIX "/${lib}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" AXP_PC_PREFIX "${AXP_PC_PREFIX}")
foreach(name axprof axprof_rt)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
            DESTINATION ${lib}/pkgconfig)
endforeach()
