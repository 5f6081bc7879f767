// `walrelay import debezium`: converts a connector's configuration to walrelay.toml on standard
// output, and reports the result for each property on standard error.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"
#include "cli/commands.h"
#include "config/loader.h"
#include "debezium/debezium_import.h"
#include "route/topic_router.h"

namespace walrelay {
namespace {

// The operator's settings are known to the import before it translates: a property that it could
// not translate is not refused if a setting replaces it.
absl::StatusOr<DebeziumImport> Import(const ImportFlags& flags) {
  WR_ASSIGN_OR_RETURN(const std::string connector,
                      ReadTextFile(flags.file == "-" ? "/dev/stdin" : flags.file));
  WR_ASSIGN_OR_RETURN(const std::string worker, ReadWorkerFile(flags.config));
  WR_ASSIGN_OR_RETURN(const auto overrides, Overrides(flags.config));
  ImportInput input{.connector = connector, .worker = worker};
  for (const auto& [name, value] : overrides) {
    input.overrides.insert(name);
  }
  auto import = ImportDebezium(input);
  WR_RETURN_IF_ERROR(Annotate(import.status(), flags.file));
  for (const auto& [name, value] : overrides) {
    import->translation.settings[name] = value;
  }
  return import;
}

// Checks that walrelay accepts the result. It need not be complete: addresses may come from flags
// or the environment.
absl::Status Check(const DebeziumTranslation& translation) {
  Config config;
  WR_RETURN_IF_ERROR(ApplyTranslation(translation, config));
  WR_RETURN_IF_ERROR(ValidateConfig(config, {.postgres = false, .kafka = false}));
  return TopicRouter::Create(config.route).status();
}

bool WriteAll(const UniqueFd& file, std::string_view text) {
  while (!text.empty()) {
    // write() may accept only a part, and fails with EINTR if a signal interrupts it.
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return true;
}

absl::Status CannotWrite(const std::string& path) {
  return errno == EEXIST
             ? Error(ErrorCode::kUsage, fmt::format("--output {}: the file already exists", path),
                     "Use --force to replace it, or another name.")
             : Error(ErrorCode::kConfigFile, fmt::format("{}: {}", path, std::strerror(errno)),
                     "Name a file in a writable directory.");
}

// Readable only by its owner, because it may hold the connector's passwords.
absl::Status WriteNewFile(const std::string& path, std::string_view text) {
  // O_EXCL: an existing file is never overwritten, and a symbolic link at this path is not
  // followed.
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file.valid() && WriteAll(file, text) ? absl::OkStatus() : CannotWrite(path);
}

// Through a temporary file: the old file stays complete until the new one is, and its mode, with
// which others might read the passwords, is not kept.
absl::Status ReplaceFile(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.new-{}", path, ::getpid());
  WR_RETURN_IF_ERROR(WriteNewFile(temporary, text));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status error = CannotWrite(path);
    ::unlink(temporary.c_str());
    return error;
  }
  return absl::OkStatus();
}

std::string CountOfRefused(size_t count) {
  return count == 1 ? "1 property was refused" : fmt::format("{} properties were refused", count);
}

// Of a configuration that is invalid because properties are missing from it.
absl::Status WithoutRefused(const absl::Status& invalid, const absl::Status& refusal) {
  return Error(
      ErrorCode::kConnectorRefused,
      fmt::format("the configuration without the refused properties is invalid: {}; nothing was "
                  "written",
                  MessageOf(invalid)),
      RemedyFor(refusal));
}

// Exit code 65 (EX_DATAERR), whatever the error's own code is: the input is what is wrong.
ExitCode Refuse(const absl::Status& error) {
  fmt::print(stderr, "\n");
  Report(error);
  return ExitCode::kData;
}

}  // namespace

ExitCode ImportDebeziumCommand(const ImportFlags& flags) {
  const auto import = Import(flags);
  if (!import.ok()) {
    // An input file that cannot be read, or an invalid flag, says nothing about the connector: it
    // keeps its own exit code.
    const bool unreadable = HasCode(import.status(), ErrorCode::kConfigFile) ||
                            HasCode(import.status(), ErrorCode::kUsage);
    return unreadable ? Report(import.status()) : Refuse(import.status());
  }
  fmt::print(stderr, "{}", ImportReport(*import));
  const absl::Status refusal = RefusalOf(*import);
  if (!refusal.ok() && !flags.allow_lossy) {
    return Refuse(Error(ErrorCode::kConnectorRefused,
                        fmt::format("{} (see above); nothing was written",
                                    CountOfRefused(import->Count(PropertyOutcome::kRefused))),
                        RemedyFor(refusal)));
  }
  if (const absl::Status usable = Check(import->translation); !usable.ok()) {
    return Refuse(refusal.ok() ? usable : WithoutRefused(usable, refusal));
  }
  if (flags.output.empty()) {
    // Standard output often ends in a terminal's scrollback or a CI log.
    fmt::print("{}", ImportedToml(*import, /*with_secrets=*/false));
    return ExitCode::kOk;
  }
  const std::string toml = ImportedToml(*import, /*with_secrets=*/true);
  const absl::Status written =
      flags.force ? ReplaceFile(flags.output, toml) : WriteNewFile(flags.output, toml);
  return written.ok() ? ExitCode::kOk : Report(written);
}

}  // namespace walrelay
