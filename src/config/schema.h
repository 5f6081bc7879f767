// The JSON Schema of the configuration file, for editors and for checks in other languages.
//
// Pure. Generated from the table of options. It describes the form of the file: names, types and
// choices. The program checks more, such as conditions between options.
#pragma once

#include <string>

namespace walrelay {

// One line of JSON, draft 7 of JSON Schema, which TOML editors support (taplo).
// Accepts every file that the loader accepts.
std::string ConfigSchema();

}  // namespace walrelay
