# Folders of an installation: a prefix, or the folders of a Python wheel. Sets
#   TAPELENS_LIBRARY_DIR    folder of the preload library and the probes, one for each minor
#   TAPELENS_LIBRARY_PATH   the same, relative to the folder of the commands, so that an installed tree can be moved
#   tapelens_installed_library_path(TARGET PATH...)   sets the run path of the installed TARGET
set(TAPELENS_PROBES "" CACHE PATH "A folder of probes that were built on their own (scripts/wheel), installed with the rest")
option(TAPELENS_BUNDLE "Install the libraries that not every system has (libdw, zstd, protobuf-lite, sqlite3) beside the probes" OFF)
if(SKBUILD)
  # pip installs a wheel's scripts into the environment's bin/, and its data into the environment.
  set(CMAKE_INSTALL_BINDIR "${SKBUILD_SCRIPTS_DIR}")
  set(CMAKE_INSTALL_LIBDIR "${SKBUILD_DATA_DIR}/lib")
  set(CMAKE_INSTALL_DATAROOTDIR "${SKBUILD_DATA_DIR}/share")
endif()
include(GNUInstallDirs)
set(TAPELENS_LIBRARY_DIR ${CMAKE_INSTALL_LIBDIR}/tapelens)
if(SKBUILD)
  set(TAPELENS_LIBRARY_PATH ../lib/tapelens)
else()
  file(RELATIVE_PATH TAPELENS_LIBRARY_PATH "/${CMAKE_INSTALL_BINDIR}" "/${TAPELENS_LIBRARY_DIR}")
endif()
if(TAPELENS_PROBES)
  install(DIRECTORY "${TAPELENS_PROBES}/" DESTINATION ${TAPELENS_LIBRARY_DIR} FILES_MATCHING PATTERN "probe-*")
endif()

# DT_RPATH, not DT_RUNPATH: it also applies to the dependencies of the libraries.
function(tapelens_installed_library_path target)
  list(TRANSFORM ARGN PREPEND "$ORIGIN/")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${ARGN}")
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# tapelens_bundle(TARGET): installs the dependencies of TARGET that manylinux does not provide, with their licenses.
# Symbolic links become files, since a wheel cannot have links.
function(tapelens_bundle target)
  tapelens_installed_library_path(${target} ${TAPELENS_LIBRARY_PATH})
  set(_directories "")
  if(CMAKE_SYSROOT)
    set(_directories "DIRECTORIES \"${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}\"")
  endif()
  install(CODE "
    set(_libraries \"\$ENV{DESTDIR}${TAPELENS_LIBRARY_DIR}\")
    cmake_path(ABSOLUTE_PATH _libraries BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:${target}>\" RESOLVED_DEPENDENCIES_VAR _found
         ${_directories} PRE_INCLUDE_REGEXES \"^lib(dw|elf|zstd|lzma|bz2|protobuf-lite|sqlite3)\\\\.so\" PRE_EXCLUDE_REGEXES \".*\")
    foreach(_library IN LISTS _found)
      get_filename_component(_name \"\${_library}\" NAME)
      file(REAL_PATH \"\${_library}\" _file)
      message(STATUS \"Bundling: \${_file}\")
      file(COPY_FILE \"\${_file}\" \"\${_libraries}/\${_name}\" ONLY_IF_DIFFERENT)
      if(EXISTS \"${CMAKE_SYSROOT}/bundled/licenses\")
        continue() # scripts/sysroot has collected them
      endif()
      string(REPLACE \"${CMAKE_SYSROOT}/\" \"/\" _file \"\${_file}\")
      string(REGEX REPLACE \"^/usr\" \"\" _older \"\${_file}\") # the path in packages from before the merge of /lib
      execute_process(COMMAND dpkg-query --admindir=${CMAKE_SYSROOT}/var/lib/dpkg -S \"\${_file}\" \"\${_older}\" OUTPUT_VARIABLE _package ERROR_QUIET)
      string(REGEX REPLACE \":.*\" \"\" _package \"\${_package}\")
      if(NOT EXISTS \"${CMAKE_SYSROOT}/usr/share/doc/\${_package}/copyright\")
        message(FATAL_ERROR \"\${_file} cannot be bundled: its license is not found\")
      endif()
      file(INSTALL \"${CMAKE_SYSROOT}/usr/share/doc/\${_package}/copyright\" DESTINATION \"\${_libraries}/licenses\" RENAME \"\${_package}\")
    endforeach()
    if(EXISTS \"${CMAKE_SYSROOT}/bundled/licenses\")
      file(INSTALL \"${CMAKE_SYSROOT}/bundled/licenses\" DESTINATION \"\${_libraries}\")
    endif()")
endfunction()
