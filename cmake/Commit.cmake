# Writes the commit of the tree to a C++ source, at each build, and only if it has changed.
#   cmake -D SOURCE=… -D OUTPUT=… [-D COMMIT=…] -P Commit.cmake
#
# From the variable WALRELAY_COMMIT, else from git, else from cmake/commit.txt, in which `git archive` writes the commit.
cmake_minimum_required(VERSION 3.25)

if(NOT COMMIT AND EXISTS ${SOURCE}/.git)
  set(ENV{GIT_OPTIONAL_LOCKS} 0)  # another git command may be running
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT)
  file(STRINGS ${SOURCE}/cmake/commit.txt COMMIT LIMIT_COUNT 1)
endif()
if(NOT COMMIT MATCHES "^[0-9a-z][-+.0-9a-z]*$")  # the file of a tree without git, not replaced
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "constexpr char kCommit[] = \"@COMMIT@\";\n" @ONLY)
