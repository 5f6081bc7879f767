#include "recover/published_records.h"

#include <algorithm>

#include "walrelay/error.h"

namespace walrelay {

std::optional<std::string_view> IdOf(const Record& record) {
  const auto found = std::find_if(record.headers.rbegin(), record.headers.rend(),
                                  [](const Header& header) { return header.name == "id"; });
  return found != record.headers.rend() ? found->value : std::nullopt;
}

absl::StatusOr<bool> PublishedRecords::Contains(const Record& record) {
  if (tails_ == nullptr) {
    return false;
  }
  if (topics_.find(record.topic) == topics_.end()) {
    WR_RETURN_IF_ERROR(Load(std::string(record.topic)));
  }
  WR_ASSIGN_OR_RETURN(const Fingerprint sought,
                      fingerprinter_.Of(record.topic, record.key, record.value, IdOf(record)));
  return std::binary_search(records_.begin(), records_.end(), sought);
}

absl::Status PublishedRecords::Load(const std::string& topic) {
  // Pages that are not used take no memory, and growing would need twice as much for a moment.
  records_.reserve(most_records_);
  const size_t before = records_.size();
  const auto add = [&](std::optional<std::string_view> key, std::optional<std::string_view> value,
                       std::optional<std::string_view> id) -> absl::Status {
    ++records_read_;
    if (records_.size() == most_records_) {
      ++over_limit_;
      return absl::OkStatus();
    }
    WR_ASSIGN_OR_RETURN(const Fingerprint fingerprint, fingerprinter_.Of(topic, key, value, id));
    records_.push_back(fingerprint);
    return absl::OkStatus();
  };
  WR_ASSIGN_OR_RETURN(const std::string doubt, tails_->Read(topic, since_, add));
  if (!doubt.empty()) {
    doubts_.push_back(doubt);
    records_.resize(before);
  }
  std::sort(records_.begin(), records_.end());
  topics_.insert(topic);
  return absl::OkStatus();
}

}  // namespace walrelay
