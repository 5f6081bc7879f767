# The generated type of /status.json, with protobuf's own JSON reader: for tests alone.
set(status_proto walrelay/admin/v1/status)
set(status_proto_out ${CMAKE_CURRENT_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${status_proto_out})
add_custom_command(
  OUTPUT ${status_proto_out}/${status_proto}.pb.cc ${status_proto_out}/${status_proto}.pb.h
  COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/proto --cpp_out=${status_proto_out}
          ${CMAKE_SOURCE_DIR}/proto/${status_proto}.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/proto/${status_proto}.proto)
add_library(walrelay_status_proto STATIC ${status_proto_out}/${status_proto}.pb.cc)
target_include_directories(walrelay_status_proto SYSTEM PUBLIC ${status_proto_out})
target_link_libraries(walrelay_status_proto PUBLIC protobuf::libprotobuf)
