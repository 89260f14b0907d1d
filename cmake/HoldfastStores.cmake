# Checks HOLDFAST_STORES, tells those with a server (holdfast_servers) from the embedded ones
# (holdfast_embedded), and finds what they need. What a store is, its src/stores/STORE/store.cmake
# says: a folder that has one is a store (holdfast_known_stores).

file(GLOB holdfast_known_stores CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/stores/*/store.cmake")
list(TRANSFORM holdfast_known_stores REPLACE ".*/([^/]+)/store\\.cmake$" "\\1")
if(HOLDFAST_STORES STREQUAL "all")
  set(HOLDFAST_STORES ${holdfast_known_stores})
endif()
foreach(store IN LISTS HOLDFAST_STORES)
  if(NOT store IN_LIST holdfast_known_stores)
    list(JOIN holdfast_known_stores ", " known)
    message(FATAL_ERROR "HOLDFAST_STORES names ${store}; the stores are: ${known}")
  endif()
endforeach()

find_package(Threads REQUIRED)
# For the ledger; of the header alone, nothing is linked.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
mark_as_advanced(XXHASH_INCLUDE_DIR)

# holdfast_store(<store> [EMBEDDED] [SHARES <folder>...] [PACKAGES <name>... TARGETS <target>...
#   PKG_CONFIG <name>...] [LUA <folder>] [SQL <folder>] [MESSAGES <file>])
# EMBEDDED: it needs no server, and is inside the library. What it shares with others is in
# src/stores/FOLDER (holdfast_shares_STORE), and it may include nothing else of src/stores
# (tools/check_layers). The targets are linked (holdfast_needs_STORE); packages, and the same by
# pkg-config's names, are what a user of the static library has to find as well (holdfast_packages,
# holdfast_pkg_config). What the server runs (cmake/HoldfastScripts.cmake) is in a folder of the
# store's, what it says by protocol buffers in a file (holdfast_lua_STORE, holdfast_sql_STORE,
# holdfast_messages_STORE).
function(holdfast_store store)
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "EMBEDDED" "LUA;SQL;MESSAGES" "SHARES;PACKAGES;TARGETS;PKG_CONFIG")
  foreach(package IN LISTS arg_PACKAGES)
    find_package(${package} REQUIRED)
  endforeach()
  set(kind servers)
  if(arg_EMBEDDED)
    set(kind embedded)
  endif()
  set(holdfast_${kind} ${holdfast_${kind}} ${store} PARENT_SCOPE)
  set(holdfast_shares_${store} ${arg_SHARES} PARENT_SCOPE)
  set(holdfast_needs_${store} ${arg_TARGETS} PARENT_SCOPE)
  set(holdfast_lua_${store} ${arg_LUA} PARENT_SCOPE)
  set(holdfast_sql_${store} ${arg_SQL} PARENT_SCOPE)
  set(holdfast_messages_${store} ${arg_MESSAGES} PARENT_SCOPE)
  list(APPEND holdfast_packages ${arg_PACKAGES})
  list(REMOVE_DUPLICATES holdfast_packages)
  set(holdfast_packages ${holdfast_packages} PARENT_SCOPE)
  list(APPEND holdfast_pkg_config ${arg_PKG_CONFIG})
  list(REMOVE_DUPLICATES holdfast_pkg_config)
  set(holdfast_pkg_config ${holdfast_pkg_config} PARENT_SCOPE)
endfunction()

foreach(store IN LISTS HOLDFAST_STORES)
  include("${PROJECT_SOURCE_DIR}/src/stores/${store}/store.cmake")
endforeach()
