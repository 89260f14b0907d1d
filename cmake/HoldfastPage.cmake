# holdfast_embed_page(<folder> <namespace> <header>)
# Writes FOLDER/page.html into a header, as the constant `page` of a namespace, with each style and
# script of the folder in place of the comment that names it. Done when CMake runs, which it does again
# whenever one of them changes.
function(holdfast_embed_page folder namespace header)
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*.css" "${folder}/*.js")
  set_property(DIRECTORY APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS "${folder}/page.html" ${files})
  file(READ "${folder}/page.html" page)
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME name)
    file(READ "${file}" text)
    string(REPLACE "/* ${name} */\n" "${text}" page "${page}")
  endforeach()
  if(page MATCHES "\\)page\"")
    message(FATAL_ERROR "${folder}: has )page\" in it, which ends the constant that it becomes")
  endif()
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown)
  set(content "// Made by CMake of what is in ${shown}: change it there.\n#pragma once\n\n")
  string(APPEND content "#include <string_view>\n\nnamespace ${namespace} {\n\n"
    "inline constexpr std::string_view page = R\"page(${page})page\";\n\n}  // namespace ${namespace}\n")
  file(WRITE "${header}.new" "${content}")
  file(COPY_FILE "${header}.new" "${header}" ONLY_IF_DIFFERENT)
endfunction()
