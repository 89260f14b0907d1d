# Checks HOLDFAST_STORES, and finds what the stores in it need.

set(holdfast_known_stores memory local)
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
if("local" IN_LIST HOLDFAST_STORES)
  find_package(LMDB REQUIRED)
endif()
