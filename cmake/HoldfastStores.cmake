# Checks HOLDFAST_STORES, and finds what the stores in it need.

set(holdfast_known_stores memory local)
foreach(store IN LISTS HOLDFAST_STORES)
  if(NOT store IN_LIST holdfast_known_stores)
    list(JOIN holdfast_known_stores ", " known)
    message(FATAL_ERROR "HOLDFAST_STORES names ${store}; the stores are: ${known}")
  endif()
endforeach()

find_package(Threads REQUIRED)
if("local" IN_LIST HOLDFAST_STORES)
  find_package(LMDB REQUIRED)
endif()
