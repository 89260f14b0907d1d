# Finds libmariadb (Debian: libmariadb-dev), the client library of MariaDB and MySQL servers.
# Gives the target MariaDBClient::MariaDBClient, for #include <mysql.h>.

find_path(MARIADB_CLIENT_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb)
find_library(MARIADB_CLIENT_LIBRARY mariadb)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDBClient
  REQUIRED_VARS MARIADB_CLIENT_LIBRARY MARIADB_CLIENT_INCLUDE_DIR)
mark_as_advanced(MARIADB_CLIENT_LIBRARY MARIADB_CLIENT_INCLUDE_DIR)

if(MariaDBClient_FOUND AND NOT TARGET MariaDBClient::MariaDBClient)
  add_library(MariaDBClient::MariaDBClient UNKNOWN IMPORTED)
  set_target_properties(MariaDBClient::MariaDBClient PROPERTIES
    IMPORTED_LOCATION "${MARIADB_CLIENT_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MARIADB_CLIENT_INCLUDE_DIR}")
endif()
