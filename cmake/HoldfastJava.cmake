# What tests and benchmarks need to run a ZooKeeper server and Curator beside ours: a Java machine,
# and Debian's jars (holdfast_zookeeper_jars: the server's class path).
find_package(Java REQUIRED COMPONENTS Runtime Development)
include(UseJava)

# holdfast_find_jars(<variable> <name>...)
# As a list, from where packages of Java put their jars. Fails when one is missing.
function(holdfast_find_jars variable)
  set(found)
  foreach(name IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "HOLDFAST_JAR_${name}" jar)
    find_jar(${jar} ${name})
    if(NOT ${jar})
      message(FATAL_ERROR "There is no ${name}.jar, which tests need; see packages.txt")
    endif()
    mark_as_advanced(${jar})
    list(APPEND found "${${jar}}")
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# The manifest of zookeeper.jar names the others that it needs, but for two that it needs for TLS.
holdfast_find_jars(holdfast_zookeeper_jars zookeeper netty-codec netty-resolver slf4j-simple)
list(JOIN holdfast_zookeeper_jars ":" holdfast_zookeeper_jars)

# holdfast_add_curator_program(<target> <variable> <source>)
# A class with a main() of its own that uses Curator's recipes. The variable becomes the class path
# that it runs with.
function(holdfast_add_curator_program target variable source)
  # Its manifest names the others that it needs.
  holdfast_find_jars(jars curator-recipes)
  holdfast_find_jars(logging slf4j-nop)
  add_jar(${target} SOURCES ${source} INCLUDE_JARS ${jars})
  get_target_property(own ${target} JAR_FILE)
  list(JOIN jars ":" path)
  set(${variable} "${own}:${path}:${logging}" PARENT_SCOPE)
endfunction()
