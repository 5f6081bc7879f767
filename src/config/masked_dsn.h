// A libpq connection string fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// `dsn`, a URI or key-value pairs, with every password in it written as "***". One that libpq would
// not take is masked as far as its form can be made out.
std::string MaskedDsn(std::string_view dsn);

}  // namespace walrelay
