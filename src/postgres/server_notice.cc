#include "postgres/server_notice.h"

namespace walrelay {

// A server that hides its functions is recognized by the English text of a skipped publication: a
// loss that is not reported is worse than a standby that is not named.
ServerNotice MeaningOf(const ServerNoticeFields& fields) {
  if (fields.severity != "WARNING") {
    return ServerNotice::kOther;
  }
  if (fields.message.find("skipped loading publication") != std::string_view::npos ||
      (fields.sqlstate == "55000" && fields.function == "LoadPublications")) {
    return ServerNotice::kPublicationSkipped;
  }
  return fields.function == "StandbySlotsHaveCaughtup" ? ServerNotice::kStandbyAwaited
                                                       : ServerNotice::kOther;
}

}  // namespace walrelay
