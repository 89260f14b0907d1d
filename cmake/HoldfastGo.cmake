# What tests and benchmarks need to run etcd's own Go client beside ours: a Go compiler, and Debian's
# sources of it. Nothing is downloaded.
find_program(HOLDFAST_GO go REQUIRED)
find_path(HOLDFAST_GO_PATH src/go.etcd.io/etcd/clientv3/concurrency/mutex.go
  PATH_SUFFIXES share/gocode REQUIRED)
mark_as_advanced(HOLDFAST_GO HOLDFAST_GO_PATH)

# holdfast_add_go_program(<target> <variable> <source>)
# The variable becomes where the program is.
function(holdfast_add_go_program target variable source)
  cmake_path(ABSOLUTE_PATH source)
  # Not where a target of the same name would be.
  set(program "${CMAKE_CURRENT_BINARY_DIR}/go/${target}")
  add_custom_command(OUTPUT "${program}"
    COMMAND "${CMAKE_COMMAND}" -E env
      "GOPATH=${HOLDFAST_GO_PATH}" GO111MODULE=off GOFLAGS= "GOCACHE=${PROJECT_BINARY_DIR}/go"
      "${HOLDFAST_GO}" build -o "${program}" "${source}"
    DEPENDS "${source}"
    COMMENT "Building ${target} with Go"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${program}")
  set(${variable} "${program}" PARENT_SCOPE)
endfunction()
