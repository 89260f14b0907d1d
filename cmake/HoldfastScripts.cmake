# holdfast_embed_scripts(<folder> <namespace> <header> [<language>])
# Writes the scripts below a folder into a header, as constants of a namespace: FOLDER/VERB.lua,
# which starts with #!lua, is FOLDER_VERB; in the language sql, VERB.sql that starts with -- !sql. A
# file without that first line is only included: a line that is nothing but `-- include PATH.lua` stands
# for the text of that file, by its path from the one with the line. Where a line says
# `-- let $word = text`, that text stands for the word in its file and what that includes. Done when CMake runs, which it
# does again whenever a script changes: so the header is there before anything is compiled or
# checked.
#
# In the language sql the names of what a database runs follow its text: holdfast_1_ in a script
# becomes holdfast_ and eight digits of schema.sql, and the constant `prefix` says so. A database
# that has what an older text made then gets the newer beside it. Comments do not count.

# Puts the text of a script into a variable, with what it includes.
function(holdfast_read_script file result)
  file(READ "${file}" text)
  if(NOT text MATCHES "\n$")
    message(FATAL_ERROR "${file}: the last line has no end")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  cmake_path(GET file PARENT_PATH folder)
  set(whole "\n${text}")
  while(whole MATCHES "\n *-- include ([^\n]+\\.(lua|sql))\n")
    set(line "${CMAKE_MATCH_0}")
    cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY "${folder}" NORMALIZE
      OUTPUT_VARIABLE included_file)
    holdfast_read_script("${included_file}" included)
    string(REPLACE "${line}" "\n${included}" whole "${whole}")
  endwhile()
  while(whole MATCHES "\n-- let (\\$[a-z]+) = ([^\n]+)\n")
    set(word "${CMAKE_MATCH_1}")
    set(meaning "${CMAKE_MATCH_2}")
    string(REPLACE "${CMAKE_MATCH_0}" "\n" whole "${whole}")
    string(REPLACE "${word}" "${meaning}" whole "${whole}")
  endwhile()
  string(SUBSTRING "${whole}" 1 -1 whole)
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

# What the names of what this folder's schema.sql makes begin with.
function(holdfast_prefix_of_schema folder result)
  holdfast_read_script("${folder}/schema.sql" text)
  string(REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
  string(SHA256 digits "${text}")
  string(SUBSTRING "${digits}" 0 8 digits)
  set(${result} "holdfast_${digits}_" PARENT_SCOPE)
endfunction()

function(holdfast_embed_scripts folder namespace header)
  set(language lua)
  if(ARGC GREATER 3)
    set(language ${ARGV3})
  endif()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*.${language}")
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown)
  set(content "// Made by CMake of the scripts in ${shown}: change them there.\n#pragma once\n\n")
  string(APPEND content "#include <string_view>\n\nnamespace ${namespace} {\n")
  if(language STREQUAL sql)
    holdfast_prefix_of_schema("${folder}" prefix)
    string(APPEND content "\ninline constexpr std::string_view prefix = \"${prefix}\";\n")
  endif()
  foreach(file IN LISTS files)
    holdfast_read_script("${file}" script)
    if(NOT script MATCHES "^(#!lua|-- !sql)")
      continue()
    endif()
    # What a database is shown begins with its comment.
    string(REGEX REPLACE "^-- !sql\n" "" script "${script}")
    if(language STREQUAL sql)
      string(REPLACE "holdfast_1_" "${prefix}" script "${script}")
    endif()
    if(script MATCHES "\\)${language}\"")
      message(FATAL_ERROR
        "${file}: has )${language}\" in it, which ends the constant that it becomes")
    endif()
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${folder}" OUTPUT_VARIABLE name)
    string(REGEX REPLACE "\\.${language}$" "" name "${name}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    string(APPEND content "\ninline constexpr std::string_view ${name} = "
      "R\"${language}(${script})${language}\";\n")
  endforeach()
  string(APPEND content "\n}  // namespace ${namespace}\n")
  # Touched only when it changes, or everything that includes it would be compiled again.
  file(WRITE "${header}.new" "${content}")
  file(COPY_FILE "${header}.new" "${header}" ONLY_IF_DIFFERENT)
endfunction()
