# Finds hiredis (Debian: libhiredis-dev), whose own CMake package differs from version to version.
# Gives the target Hiredis::hiredis, for #include <hiredis/hiredis.h>.

find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
if(HIREDIS_INCLUDE_DIR)
  file(STRINGS "${HIREDIS_INCLUDE_DIR}/hiredis/hiredis.h" hiredis_version_lines
    REGEX "#define HIREDIS_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  string(REGEX MATCHALL "[0-9]+" hiredis_version_numbers "${hiredis_version_lines}")
  list(JOIN hiredis_version_numbers "." Hiredis_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis
  REQUIRED_VARS HIREDIS_LIBRARY HIREDIS_INCLUDE_DIR
  VERSION_VAR Hiredis_VERSION)
mark_as_advanced(HIREDIS_LIBRARY HIREDIS_INCLUDE_DIR)

if(Hiredis_FOUND AND NOT TARGET Hiredis::hiredis)
  add_library(Hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(Hiredis::hiredis PROPERTIES
    IMPORTED_LOCATION "${HIREDIS_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HIREDIS_INCLUDE_DIR}")
endif()
