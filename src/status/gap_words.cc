#include "status/gap_words.h"

#include "walrelay/error.h"

namespace walrelay {

std::string_view NextStepOf(const Gap& gap) {
  // Often nothing is missing then: a mistake in the configuration, or an upgrade.
  const bool another = HasCode(gap.error, ErrorCode::kProgressForeign) ||
                       HasCode(gap.error, ErrorCode::kSystemChanged) ||
                       HasCode(gap.error, ErrorCode::kClusterChanged);
  return another
             ? "walrelay resume shows what may be missing, and what to do first; walrelay resume "
               "--accept-gap then continues."
             : "walrelay recover shows what is missing, and publishes it; then restart walrelay. "
               "(walrelay resume --accept-gap gives the missing events up.)";
}

}  // namespace walrelay
