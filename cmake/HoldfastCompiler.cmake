# How everything of ours is compiled: holdfast_compiled_as_ours(<target>).

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HOLDFAST_CCACHE ccache)
  mark_as_advanced(HOLDFAST_CCACHE)
  if(HOLDFAST_CCACHE)
    # Whatever the build folder: all sources have absolute paths, so it changes nothing, and what
    # one build has compiled the other (tests/install) need not.
    # The same for another clone of the tree. What is precompiled may be used from the cache too.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=1 "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_SLOPPINESS=pch_defines,time_macros "${HOLDFAST_CCACHE}")
  endif()
endif()

if(HOLDFAST_SANITIZE STREQUAL "address")
  set(holdfast_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HOLDFAST_SANITIZE STREQUAL "thread")
  set(holdfast_sanitize_flags -fsanitize=thread)
  # It does not know bare fences, and asio's order nothing that its mutexes do not.
  add_compile_definitions(ASIO_DISABLE_FENCED_BLOCK)
elseif(HOLDFAST_SANITIZE)
  message(FATAL_ERROR "HOLDFAST_SANITIZE is ${HOLDFAST_SANITIZE}: give address, thread or nothing")
endif()
if(holdfast_sanitize_flags)
  add_compile_options(${holdfast_sanitize_flags} -fno-omit-frame-pointer)
  add_link_options(${holdfast_sanitize_flags})
endif()

option(HOLDFAST_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})

function(holdfast_compiled_as_ours target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${HOLDFAST_WERROR}>:-Werror>)
  # g++ 12 sees ghosts in a std::variant or std::optional that is moved and, optimising most, in a
  # std::string that is put together.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# Most of the time of a build goes into headers that all sources of a folder include. With
# HOLDFAST_AT_ONCE they are read once for several sources; without, as in every preset but those for
# daily work, each source must include by itself what it needs.

# holdfast_compiled_at_once(<target>): so few files at a time that one change is not dear
function(holdfast_compiled_at_once target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${HOLDFAST_AT_ONCE} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# holdfast_precompiled(<target> <header>...)
function(holdfast_precompiled target)
  if(HOLDFAST_AT_ONCE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # For ccache to see what is in them.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
