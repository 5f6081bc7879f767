// ServerNotice: what a warning of Postgres means for a stream.
//
// A SQLSTATE alone does not tell: 55000, object_not_in_prerequisite_state, is the code of a
// publication that the decoder skipped, and of a standby that it waits for. The server function
// that sends a message does, and, unlike the text, is not translated.
//
// Source: LoadPublications() in src/backend/replication/pgoutput/pgoutput.c (Postgres 18), and
// StandbySlotsHaveCaughtup() in src/backend/replication/slot.c (17 and later). Pure function.
#pragma once

#include <cstdint>
#include <string_view>

namespace walrelay {

enum class ServerNotice : uint8_t {
  kOther,               // for the server's operator
  kPublicationSkipped,  // the stream lacks rows from here on
  kStandbyAwaited,  // the stream continues when a standby of synchronized_standby_slots has caught
                    // up
};

// The fields of a message as libpq returns them; "" for one that is missing. `severity` is the one
// that is not translated.
struct ServerNoticeFields {
  std::string_view severity;
  std::string_view sqlstate;
  std::string_view function;
  std::string_view message;
};

ServerNotice MeaningOf(const ServerNoticeFields& fields);

}  // namespace walrelay
