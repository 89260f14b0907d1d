# holdfast_find_python(<variable> <module>)
# A Python 3 that has the module: the first one on the path may be another than Debian's, for which
# packages.txt installs it. Fails when there is none.
function(holdfast_find_python variable module)
  if(${variable})
    return()
  endif()
  string(REPLACE ":" ";" folders "$ENV{PATH}")
  list(TRANSFORM folders APPEND /python3)
  foreach(python IN ITEMS "${Python3_EXECUTABLE}" ${folders} /usr/bin/python3)
    execute_process(COMMAND "${python}" -c "import ${module}"
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
      set(${variable} "${python}" CACHE FILEPATH "A Python that has ${module}")
      mark_as_advanced(${variable})
      message(STATUS "Found a Python that has ${module}: ${python}")
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "No python3 on the path can import ${module}, which tests need; "
    "install Debian's python3-${module}, or set ${variable} to one that can")
endfunction()
