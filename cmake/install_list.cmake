# SPDX-License-Identifier: MIT OR Apache-2.0
# What an installation puts where, in share/axprof/installed.txt: a line a file,
# relative to the prefix, and one with a slash at its end for each folder that
# was not there before. tools/uninstall removes these and nothing else.
# Include it before the first install(); call axp_install_list_end() after the
# last.
set(AXP_INSTALL_FOLDERS
    ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR}/axprof
    ${CMAKE_INSTALL_LIBDIR}/axprof ${CMAKE_INSTALL_LIBDIR}/cmake/axprof
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_MANDIR}/man1
    ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${CMAKE_INSTALL_DATADIR}/axprof)

install(CODE "set(AXP_INSTALL_FOLDERS \"${AXP_INSTALL_FOLDERS}\")")
install(CODE [[
    set(AXP_INSTALLED "")
    foreach(folder ${AXP_INSTALL_FOLDERS})
        while(folder AND
              NOT EXISTS "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${folder}")
            list(APPEND AXP_INSTALLED "${folder}/")
            get_filename_component(folder "${folder}" DIRECTORY)
        endwhile()
    endforeach()
]])

function(axp_install_list_end)
    install(CODE "set(AXP_LIST ${CMAKE_INSTALL_DATADIR}/axprof/installed.txt)")
    install(CODE [[
        foreach(path ${CMAKE_INSTALL_MANIFEST_FILES})
            file(RELATIVE_PATH path "${CMAKE_INSTALL_PREFIX}" "${path}")
            list(APPEND AXP_INSTALLED "${path}")
        endforeach()
        list(APPEND AXP_INSTALLED "${AXP_LIST}")
        set(AXP_LIST "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${AXP_LIST}")
        if(EXISTS "${AXP_LIST}") # what an older one installed
            file(STRINGS "${AXP_LIST}" AXP_BEFORE)
            list(APPEND AXP_INSTALLED ${AXP_BEFORE})
        endif()
        list(REMOVE_DUPLICATES AXP_INSTALLED)
        list(SORT AXP_INSTALLED)
        list(JOIN AXP_INSTALLED "\n" AXP_INSTALLED)
        file(WRITE "${AXP_LIST}" "${AXP_INSTALLED}\n")
    ]])
endfunction()
