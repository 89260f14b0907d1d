# holdfast_embed_page(<folder> <namespace> <header>)
# Writes FOLDER/page.html into a header, as the constant `page` of a namespace, with page.css and
# page.js in place of the comments that name them. Done when CMake runs, which it does again whenever
# one of them changes.
function(holdfast_embed_page folder namespace header)
  set(files page.html page.css page.js)
  list(TRANSFORM files PREPEND "${folder}/")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  file(READ "${folder}/page.html" page)
  foreach(part IN ITEMS css js)
    file(READ "${folder}/page.${part}" text)
    string(REPLACE "/* page.${part} */\n" "${text}" page "${page}")
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
