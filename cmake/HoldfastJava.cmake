# What the tests need to run a ZooKeeper server: a Java machine, and Debian's jars as a class path
# (holdfast_zookeeper_jars). The manifest of zookeeper.jar names the others that it needs, but for
# two of those that it needs for TLS.
find_package(Java REQUIRED COMPONENTS Runtime)
include(UseJava)

# holdfast_find_jars(<variable> <name>...)
# As a class path, from where Java's packages put their jars. Fails when one is missing.
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
  list(JOIN found ":" path)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

holdfast_find_jars(holdfast_zookeeper_jars zookeeper netty-codec netty-resolver slf4j-simple)
