// A libpq connection string without its secrets.
#pragma once

#include <string>
#include <string_view>

namespace walrelay {

// `dsn`, a URI or key-value pairs, with every password replaced by "***". A string that libpq would
// reject is masked as far as its form is recognizable.
// Masks the password of a URI's authority, and the value of every parameter whose name contains
// "password" in any case, or a %-escape, which could hide that name. Masks too much rather than too
// little. "" for an empty `dsn`.
// Source: Postgres documentation, "Connection Strings" (libpq).
std::string MaskedDsn(std::string_view dsn);

}  // namespace walrelay
