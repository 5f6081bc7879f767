// The environment of libpq, for the tests of what it completes a DSN with.
#pragma once

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <string>

#include "fakes/environment_variable.h"
#include "fakes/temporary_directory.h"
#include "walrelay/config/source.h"

namespace walrelay {

// Clears the environment variables of libpq for the duration of a test.
class PostgresEnvironment : public ::testing::Test {
 protected:
  PostgresEnvironment() {
    for (const char* name :
         {"PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSSLMODE", "PGSERVICE",
          "PGSERVICEFILE", "PGPASSWORD", "PGOPTIONS", "PGTARGETSESSIONATTRS", "PGSSLROOTCERT",
          "PGGSSENCMODE", "PGCHANNELBINDING", "PGAPPNAME"}) {
      variables_.emplace_back(name, std::nullopt);
    }
  }
  void SetVariable(const std::string& name, const std::string& value) {
    variables_.emplace_back(name, value);
  }

  // A service file with the service "shop".
  void SetService(const std::string& parameters) {
    SetVariable("PGSERVICEFILE", directory_.Write("services", "[shop]\n" + parameters + "\n"));
  }
  static std::string OsUser() { return ::getpwuid(::geteuid())->pw_name; }

  SourceConfig source_;
  testing::TemporaryDirectory directory_;

 private:
  std::deque<testing::EnvironmentVariable> variables_;
};

}  // namespace walrelay
