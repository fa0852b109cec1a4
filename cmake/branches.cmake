# SPDX-License-Identifier: MIT OR Apache-2.0
# What is compiled in the folder that includes this has no jump across a border
# of 32 bytes, or up to one. Intel's processors from Skylake to Cascade Lake
# decode such a jump anew each time it comes by (their microcode's way round
# erratum SKX102), and a scope has some twenty: 32.0 to 27.5 ns on a Cascade
# Lake, 38.6 to 32.4 with work, 49.4 to 44.3 by name. A Sapphire Rapids takes
# what it took, with the prefixes that make up for it.
include(CheckCCompilerFlag)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    foreach(option -Wa,-mbranches-within-32B-boundaries
                   -mbranches-within-32B-boundaries) # gcc's, clang's
        string(MAKE_C_IDENTIFIER "AXP_HAS${option}" has)
        check_c_compiler_flag(${option} ${has})
        if(${has})
            add_compile_options(${option})
            break()
        endif()
    endforeach()
endif()
