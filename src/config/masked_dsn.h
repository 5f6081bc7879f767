// A libpq connection string without its secrets.
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// `dsn`, a URI or key-value pairs, with every password replaced by "***". A string that libpq would
// reject is masked as far as its form is recognizable.
std::string MaskedDsn(std::string_view dsn);

}  // namespace walrelay
