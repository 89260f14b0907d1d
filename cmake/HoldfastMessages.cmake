# What protoc makes of a .proto: holdfast_messages(<file> <variable for the sources>)
# Its header is found in holdfast_message_headers, as what others have written: without warnings.

set(holdfast_message_headers "${PROJECT_BINARY_DIR}/messages")

function(holdfast_messages proto variable)
  file(RELATIVE_PATH path "${CMAKE_CURRENT_SOURCE_DIR}" "${proto}")
  string(REGEX REPLACE "\\.proto$" "" stem "${holdfast_message_headers}/${path}")
  file(MAKE_DIRECTORY "${holdfast_message_headers}")
  add_custom_command(OUTPUT "${stem}.pb.cc" "${stem}.pb.h"
    COMMAND protobuf::protoc "--proto_path=${CMAKE_CURRENT_SOURCE_DIR}"
      "--cpp_out=${holdfast_message_headers}" "${proto}"
    DEPENDS "${proto}"
    COMMENT "Making the messages of ${path}"
    VERBATIM)
  set_source_files_properties("${stem}.pb.cc" PROPERTIES COMPILE_OPTIONS -w)
  set(${variable} "${stem}.pb.cc" PARENT_SCOPE)
endfunction()
