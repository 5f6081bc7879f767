# walrelay_layer_view(NAME): a directory in which only the folder src/NAME is found, in
# WALRELAY_LAYER_VIEW.
function(walrelay_layer_view NAME)
  set(view ${CMAKE_BINARY_DIR}/layers/${NAME})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${NAME} ${view}/${NAME} SYMBOLIC)
  set(WALRELAY_LAYER_VIEW ${view} PARENT_SCOPE)
endfunction()

# walrelay_layer(NAME SOURCES … [DEPENDS layer …] [PUBLIC lib …] [PRIVATE lib …])
#
# One static library per folder of src/. A layer's headers are found as "NAME/x.h" only by the
# targets that link it: each layer exports a directory holding nothing but a link to its own folder,
# so an include that points up the architecture does not compile.
function(walrelay_layer NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  walrelay_layer_view(${NAME})
  add_library(walrelay_${NAME} STATIC ${ARG_SOURCES})
  target_include_directories(walrelay_${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/include ${WALRELAY_LAYER_VIEW})
  list(TRANSFORM ARG_DEPENDS PREPEND walrelay_)
  target_link_libraries(walrelay_${NAME}
    PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} walrelay_flags)
endfunction()
