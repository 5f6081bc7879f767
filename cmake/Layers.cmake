# The headers that most sources share, compiled once: they take half of the time of a compilation. A source still includes
# what it uses (check: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
file(TOUCH ${CMAKE_BINARY_DIR}/precompiled.cc)
add_library(walrelay_headers STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cc)
target_link_libraries(walrelay_headers PRIVATE absl::flat_hash_map absl::status absl::statusor fmt::fmt walrelay_flags)
target_precompile_headers(walrelay_headers PRIVATE
  <absl/container/flat_hash_map.h> <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h>
  <algorithm> <array> <charconv> <chrono> <cstdint> <cstring> <functional> <memory> <optional> <span> <string>
  <string_view> <utility> <vector>)

# walrelay_layer_view(NAME): a directory in which only the folder src/NAME is found, in
# WALRELAY_LAYER_VIEW. NAME may be a folder in a folder: sinks/kafka/client.
function(walrelay_layer_view NAME)
  string(REPLACE / _ target ${NAME})
  set(view ${CMAKE_BINARY_DIR}/layers/${target})
  cmake_path(GET NAME PARENT_PATH parent)
  file(MAKE_DIRECTORY ${view}/${parent})
  get_property(inner GLOBAL PROPERTY WALRELAY_LAYERS)
  list(FILTER inner INCLUDE REGEX "^${NAME}/")
  if(inner)
    # A folder that contains layers: only its own headers.
    if(IS_SYMLINK ${view}/${NAME})
      file(REMOVE ${view}/${NAME})
    endif()
    file(MAKE_DIRECTORY ${view}/${NAME})
    file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR}/src/${NAME} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.h)
    foreach(header ${headers})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${NAME}/${header} ${view}/${NAME}/${header} SYMBOLIC)
    endforeach()
  else()
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${NAME} ${view}/${NAME} SYMBOLIC)
  endif()
  set(WALRELAY_LAYER_VIEW ${view} PARENT_SCOPE)
endfunction()

# walrelay_layer(NAME [EXCEPT source …] [DEPENDS layer …] [PUBLIC lib …] [PRIVATE lib …])
#
# One static library per folder of src/, of all its sources but EXCEPT; that of sinks/kafka/client is walrelay_sinks_kafka_client. A layer's headers are found as
# "NAME/x.h" only by the targets that link it: each layer exports a directory holding nothing but a link to its own
# folder, so an include that points up the architecture does not compile.
function(walrelay_layer NAME)
  cmake_parse_arguments(ARG "" "" "EXCEPT;DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  walrelay_layer_view(${NAME})
  string(REPLACE / _ target walrelay_${NAME})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/include ${WALRELAY_LAYER_VIEW})
  target_precompile_headers(${target} REUSE_FROM walrelay_headers)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WALRELAY_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  list(TRANSFORM ARG_DEPENDS REPLACE / _)
  list(TRANSFORM ARG_DEPENDS PREPEND walrelay_)
  target_link_libraries(${target}
    PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} fmt::fmt walrelay_flags)
endfunction()
