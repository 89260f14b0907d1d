# Finds LMDB (Debian: liblmdb-dev), which brings no CMake package of its own.
# Gives the target LMDB::LMDB, and LMDB::archive for what is linked whole (else the same).

find_path(LMDB_INCLUDE_DIR lmdb.h)
find_library(LMDB_LIBRARY lmdb)
find_library(LMDB_ARCHIVE liblmdb.a)
if(LMDB_INCLUDE_DIR)
  file(STRINGS "${LMDB_INCLUDE_DIR}/lmdb.h" lmdb_version_lines
    REGEX "#define MDB_VERSION_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  string(REGEX MATCHALL "[0-9]+" lmdb_version_numbers "${lmdb_version_lines}")
  list(JOIN lmdb_version_numbers "." LMDB_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LMDB
  REQUIRED_VARS LMDB_LIBRARY LMDB_INCLUDE_DIR
  VERSION_VAR LMDB_VERSION)
mark_as_advanced(LMDB_LIBRARY LMDB_ARCHIVE LMDB_INCLUDE_DIR)

if(LMDB_FOUND AND NOT TARGET LMDB::LMDB)
  add_library(LMDB::LMDB UNKNOWN IMPORTED)
  set_target_properties(LMDB::LMDB PROPERTIES
    IMPORTED_LOCATION "${LMDB_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LMDB_INCLUDE_DIR}")
  if(LMDB_ARCHIVE)
    add_library(LMDB::archive STATIC IMPORTED)
    set_target_properties(LMDB::archive PROPERTIES
      IMPORTED_LOCATION "${LMDB_ARCHIVE}"
      INTERFACE_INCLUDE_DIRECTORIES "${LMDB_INCLUDE_DIR}")
  else()
    add_library(LMDB::archive ALIAS LMDB::LMDB)
  endif()
endif()
