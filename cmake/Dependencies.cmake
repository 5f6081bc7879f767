# The packages of Debian 12 and 13. Nothing is fetched at build time: Debian's own builders have no network.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
# Without a version: simdjson's configuration accepts its own minor version alone.
find_package(simdjson REQUIRED)

# Of these Debian ships no CMake configuration, or one that drags in more than is used
# (prometheus-cpp's wants its pull exposer, hence civetweb: not in a process that stands next to money).
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl>=7.85)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(openssl REQUIRED IMPORTED_TARGET openssl>=3.0)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka>=2.0.2)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)

find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
