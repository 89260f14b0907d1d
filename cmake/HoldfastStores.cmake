# Checks HOLDFAST_STORES, tells those with a server (holdfast_servers) from the embedded ones
# (holdfast_embedded), and finds what they need.

set(holdfast_known_stores memory local redis zookeeper etcd postgres mysql)
if(HOLDFAST_STORES STREQUAL "all")
  set(HOLDFAST_STORES ${holdfast_known_stores})
endif()
foreach(store IN LISTS HOLDFAST_STORES)
  if(NOT store IN_LIST holdfast_known_stores)
    list(JOIN holdfast_known_stores ", " known)
    message(FATAL_ERROR "HOLDFAST_STORES names ${store}; the stores are: ${known}")
  endif()
endforeach()
set(holdfast_servers ${HOLDFAST_STORES})
list(REMOVE_ITEM holdfast_servers memory local)
set(holdfast_embedded ${HOLDFAST_STORES})
list(REMOVE_ITEM holdfast_embedded ${holdfast_servers})

find_package(Threads REQUIRED)
# For the ledger; of the header alone, nothing is linked.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
mark_as_advanced(XXHASH_INCLUDE_DIR)

# holdfast_store_needs(<store> [SHARES <folder>...] PACKAGES <name>... TARGETS <target>...
#   PKG_CONFIG <name>...)
# If the store is to be built. What it shares with others is in src/stores/FOLDER
# (holdfast_shares_STORE). The targets are linked (holdfast_needs_STORE); packages, and the same by
# pkg-config's names, are what a user of the static library has to find as well (holdfast_packages,
# holdfast_pkg_config).
function(holdfast_store_needs store)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SHARES;PACKAGES;TARGETS;PKG_CONFIG")
  if(NOT store IN_LIST HOLDFAST_STORES)
    return()
  endif()
  foreach(package IN LISTS arg_PACKAGES)
    find_package(${package} REQUIRED)
  endforeach()
  set(holdfast_shares_${store} ${arg_SHARES} PARENT_SCOPE)
  set(holdfast_needs_${store} ${arg_TARGETS} PARENT_SCOPE)
  list(APPEND holdfast_packages ${arg_PACKAGES})
  list(REMOVE_DUPLICATES holdfast_packages)
  set(holdfast_packages ${holdfast_packages} PARENT_SCOPE)
  list(APPEND holdfast_pkg_config ${arg_PKG_CONFIG})
  list(REMOVE_DUPLICATES holdfast_pkg_config)
  set(holdfast_pkg_config ${holdfast_pkg_config} PARENT_SCOPE)
endfunction()

holdfast_store_needs(local PACKAGES LMDB TARGETS LMDB::LMDB PKG_CONFIG lmdb)
holdfast_store_needs(redis
  SHARES net scripted
  PACKAGES Hiredis OpenSSL
  TARGETS Hiredis::hiredis OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG hiredis libssl libcrypto)
holdfast_store_needs(zookeeper
  SHARES net listed
  PACKAGES OpenSSL
  TARGETS OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libssl libcrypto)
holdfast_store_needs(etcd
  SHARES net listed
  PACKAGES OpenSSL gRPC Protobuf
  TARGETS gRPC::grpc++ protobuf::libprotobuf OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG grpc++ protobuf libssl libcrypto)
holdfast_store_needs(postgres
  SHARES net scripted sql
  PACKAGES PostgreSQL OpenSSL
  TARGETS PostgreSQL::PostgreSQL OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libpq libssl libcrypto)
holdfast_store_needs(mysql
  SHARES net scripted sql
  PACKAGES MariaDBClient OpenSSL
  TARGETS MariaDBClient::MariaDBClient OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libmariadb libssl libcrypto)
