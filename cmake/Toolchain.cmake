# walrelay_flags: what every target of the project compiles and links with.
add_library(walrelay_flags INTERFACE)

target_compile_options(walrelay_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Werror=format-security
  -Wundef -Wunused -Wimplicit-fallthrough -fno-omit-frame-pointer
  # Some libraries ask for it; precompiled headers are shared only by targets with the same flags.
  -pthread
  # Designated initialisers that leave a member to its default are our idiom, not an oversight.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # precompiled headers that are the same in every clone, for ccache
  target_compile_options(walrelay_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(walrelay_flags INTERFACE -Wduplicated-cond -Wlogical-op)
endif()

if(WALRELAY_SANITIZE)
  target_compile_options(walrelay_flags INTERFACE -fsanitize=${WALRELAY_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(walrelay_flags INTERFACE -fsanitize=${WALRELAY_SANITIZE})
endif()

if(WALRELAY_FUZZ)
  target_compile_options(walrelay_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The OpenSSF compiler hardening guide, as far as GCC 12 and glibc 2.36 have it.
if(WALRELAY_HARDENING)
  target_compile_options(walrelay_flags INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
    -fstack-protector-strong -fstack-clash-protection -fcf-protection=full
    -ftrivial-auto-var-init=zero -fno-strict-overflow)
  # With this one GCC takes no comparison of a function's address for a constant, which Debian 13's Abseil needs.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-std=c++20 -fno-delete-null-pointer-checks")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_cxx_source_compiles("#include <absl/container/flat_hash_map.h>
    void Insert(absl::flat_hash_map<unsigned, int>& map) { map[1] = 1; }"
    WALRELAY_KEEPS_NULL_CHECKS)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  unset(CMAKE_REQUIRED_FLAGS)
  if(WALRELAY_KEEPS_NULL_CHECKS)
    target_compile_options(walrelay_flags INTERFACE -fno-delete-null-pointer-checks)
  endif()
  # One flag for libraries and executables, so that they can share precompiled headers.
  # A shared library needs -fPIC, which CMake adds.
  set(is_shared "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>")
  target_compile_options(walrelay_flags INTERFACE $<$<NOT:${is_shared}>:-fPIE>)
  target_link_options(walrelay_flags INTERFACE
    $<$<NOT:${is_shared}>:-pie> -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code,--as-needed)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)  # the sloppiness is what it requires for precompiled headers, and any language of messages
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,locale ${CCACHE_PROGRAM})
endif()
