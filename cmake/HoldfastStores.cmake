# Checks HOLDFAST_STORES, finds what the stores in it need (holdfast_needs_STORE), and tells those
# with a server (holdfast_servers) from the embedded ones (holdfast_embedded).

set(holdfast_known_stores memory local redis)
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
if("local" IN_LIST HOLDFAST_STORES)
  find_package(LMDB REQUIRED)
  set(holdfast_needs_local LMDB::LMDB)
endif()
if("redis" IN_LIST HOLDFAST_STORES)
  find_package(Hiredis REQUIRED)
  find_package(OpenSSL REQUIRED)
  set(holdfast_needs_redis Hiredis::hiredis OpenSSL::SSL OpenSSL::Crypto)
endif()
