# cmake --install: headers, library and its modules, the program with its man page and completion,
# the CMake package and the pkg-config file.

include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
# Where the library and the program look for what they have not inside.
set(private_folder "${CMAKE_INSTALL_LIBDIR}/holdfast")

install(TARGETS holdfast EXPORT holdfast-targets)
foreach(store IN LISTS holdfast_servers)
  if(TARGET holdfast_module_${store})
    install(TARGETS holdfast_module_${store} LIBRARY DESTINATION "${private_folder}")
  endif()
endforeach()
install(DIRECTORY include/holdfast TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
if(HOLDFAST_PROGRAM)
  install(TARGETS holdfast_program)
  if(TARGET holdfast_program_for_servers)
    install(TARGETS holdfast_program_for_servers RUNTIME DESTINATION "${private_folder}")
  endif()
  install(FILES docs/man/holdfast.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  # Where bash looks for the completion of a command of that name.
  install(FILES completions/holdfast.bash
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME holdfast)
endif()

install(EXPORT holdfast-targets NAMESPACE holdfast:: DESTINATION "${package_folder}")
configure_package_config_file(cmake/holdfast-config.cmake.in holdfast-config.cmake
  INSTALL_DESTINATION "${package_folder}")
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/holdfast-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake"
  DESTINATION "${package_folder}")
if(NOT BUILD_SHARED_LIBS)
  file(GLOB find_modules CONFIGURE_DEPENDS cmake/Find*.cmake)
  install(FILES ${find_modules} DESTINATION "${package_folder}")
endif()

# A program that links the shared library needs nothing else; one that links the static library
# needs what is inside, also when it does not say --static.
list(JOIN holdfast_pkg_config ", " pc_requires)
if(BUILD_SHARED_LIBS)
  set(pc_dependencies "Libs: -L\${libdir} -lholdfast")
else()
  set(pc_dependencies "Requires: ${pc_requires}\nLibs: -L\${libdir} -lholdfast -pthread")
endif()
file(RELATIVE_PATH pc_prefix_from_here
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/holdfast.pc.in holdfast.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
