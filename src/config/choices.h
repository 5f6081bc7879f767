// The names of enumeration values in a configuration. The loader, `walrelay config show` and the
// reference use the same list.
//
// All names are literals: views of them stay valid for the life of the process.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "walrelay/config/format.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/on_error.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"
#include "walrelay/log_level.h"
#include "walrelay/partition_period.h"

namespace walrelay {

// One of an enumeration's values, by the name that operators write.
// An enumerator may occur once only: NameOfChoice() returns the first name of a value.
template <typename Enum>
struct Choice {
  std::string_view name;
  Enum value;
};

// In the order of the reference.
// A specialisation per enumeration: one that is forgotten does not compile where it is used.
template <typename Enum>
inline constexpr void* kChoices = nullptr;
template <>
inline constexpr auto kChoices<OnError> = std::to_array<Choice<OnError>>(
    {{"stop", OnError::kStop}, {"dead_letter", OnError::kDeadLetter}, {"skip", OnError::kSkip}});
template <>
inline constexpr auto kChoices<OnUpdate> =
    std::to_array<Choice<OnUpdate>>({{"ignore", OnUpdate::kIgnore}, {"fail", OnUpdate::kFail}});
template <>
inline constexpr auto kChoices<OriginFilter> = std::to_array<Choice<OriginFilter>>(
    {{"unset", OriginFilter::kUnset}, {"any", OriginFilter::kAny}, {"none", OriginFilter::kNone}});
template <>
inline constexpr auto kChoices<MissingColumns> = std::to_array<Choice<MissingColumns>>(
    {{"fail", MissingColumns::kFail}, {"ignore", MissingColumns::kIgnore}});
template <>
inline constexpr auto kChoices<OnRetainedLimit> = std::to_array<Choice<OnRetainedLimit>>(
    {{"alert", OnRetainedLimit::kAlert}, {"drop_slot", OnRetainedLimit::kDropSlot}});
template <>
inline constexpr auto kChoices<OnGap> = std::to_array<Choice<OnGap>>({{"hold", OnGap::kHold},
                                                                      {"exit", OnGap::kExit}});
template <>
inline constexpr auto kChoices<ProgressRecording> =
    std::to_array<Choice<ProgressRecording>>({{"off", ProgressRecording::kOff},
                                              {"auto", ProgressRecording::kAuto},
                                              {"required", ProgressRecording::kRequired}});
template <>
inline constexpr auto kChoices<PipelineMode> =
    std::to_array<Choice<PipelineMode>>({{"slot", PipelineMode::kSlot},
                                         {"topics", PipelineMode::kTopics},
                                         {"exactly_once", PipelineMode::kExactlyOnce}});
template <>
inline constexpr auto kChoices<Placement::Where> =
    std::to_array<Choice<Placement::Where>>({{"header", Placement::Where::kHeader},
                                             {"envelope", Placement::Where::kEnvelope},
                                             {"partition", Placement::Where::kPartition}});
template <>
inline constexpr auto kChoices<ColumnTransform::Kind> =
    std::to_array<Choice<ColumnTransform::Kind>>({{"truncate", ColumnTransform::Kind::kTruncate},
                                                  {"mask", ColumnTransform::Kind::kMask},
                                                  {"hash", ColumnTransform::Kind::kHash},
                                                  {"hash_serialized",
                                                   ColumnTransform::Kind::kHashSerialized}});
template <>
inline constexpr auto kChoices<HashAlgorithm> =
    std::to_array<Choice<HashAlgorithm>>({{"MD5", HashAlgorithm::kMd5},
                                          {"SHA-1", HashAlgorithm::kSha1},
                                          {"SHA-224", HashAlgorithm::kSha224},
                                          {"SHA-256", HashAlgorithm::kSha256},
                                          {"SHA-384", HashAlgorithm::kSha384},
                                          {"SHA-512", HashAlgorithm::kSha512},
                                          {"SHA-512/224", HashAlgorithm::kSha512To224},
                                          {"SHA-512/256", HashAlgorithm::kSha512To256},
                                          {"SHA3-224", HashAlgorithm::kSha3To224},
                                          {"SHA3-256", HashAlgorithm::kSha3To256},
                                          {"SHA3-384", HashAlgorithm::kSha3To384},
                                          {"SHA3-512", HashAlgorithm::kSha3To512}});
template <>
inline constexpr auto kChoices<CreateTopics> =
    std::to_array<Choice<CreateTopics>>({{"never", CreateTopics::kNever},
                                         {"check", CreateTopics::kCheck},
                                         {"create", CreateTopics::kCreate}});
template <>
inline constexpr auto kChoices<Compatibility> = std::to_array<Choice<Compatibility>>(
    {{"walrelay", Compatibility::kWalrelay}, {"debezium", Compatibility::kDebezium}});
template <>
inline constexpr auto kChoices<Format> = std::to_array<Choice<Format>>({{"raw", Format::kRaw},
                                                                        {"string", Format::kString},
                                                                        {"json", Format::kJson},
                                                                        {"json_schema",
                                                                         Format::kJsonSchema},
                                                                        {"bytes", Format::kBytes}});
template <>
inline constexpr auto kChoices<Delegate> =
    std::to_array<Choice<Delegate>>({{"none", Delegate::kNone},
                                     {"string", Delegate::kString},
                                     {"json", Delegate::kJson},
                                     {"json_schema", Delegate::kJsonSchema}});
template <>
inline constexpr auto kChoices<HeaderFormat> = std::to_array<Choice<HeaderFormat>>(
    {{"raw", HeaderFormat::kRaw}, {"simple", HeaderFormat::kSimple}});
template <>
inline constexpr auto kChoices<DecimalMode> =
    std::to_array<Choice<DecimalMode>>({{"precise", DecimalMode::kPrecise},
                                        {"double", DecimalMode::kDouble},
                                        {"string", DecimalMode::kString}});
template <>
inline constexpr auto kChoices<TimeMode> = std::to_array<Choice<TimeMode>>(
    {{"adaptive", TimeMode::kAdaptive},
     {"adaptive_time_microseconds", TimeMode::kAdaptiveTimeMicroseconds},
     {"connect", TimeMode::kConnect},
     {"isostring", TimeMode::kIsoString},
     {"microseconds", TimeMode::kMicroseconds},
     {"nanoseconds", TimeMode::kNanoseconds},
     {"structured", TimeMode::kStructured}});
template <>
inline constexpr auto kChoices<BinaryMode> =
    std::to_array<Choice<BinaryMode>>({{"bytes", BinaryMode::kBytes},
                                       {"base64", BinaryMode::kBase64},
                                       {"base64_url_safe", BinaryMode::kBase64UrlSafe},
                                       {"hex", BinaryMode::kHex}});
template <>
inline constexpr auto kChoices<IntervalMode> = std::to_array<Choice<IntervalMode>>(
    {{"numeric", IntervalMode::kNumeric}, {"string", IntervalMode::kString}});
template <>
inline constexpr auto kChoices<HstoreMode> =
    std::to_array<Choice<HstoreMode>>({{"json", HstoreMode::kJson}, {"map", HstoreMode::kMap}});
template <>
inline constexpr auto kChoices<UnknownTypes> = std::to_array<Choice<UnknownTypes>>(
    {{"reject", UnknownTypes::kReject}, {"bytes", UnknownTypes::kBytes}});
template <>
inline constexpr auto kChoices<DebeziumVersion> = std::to_array<Choice<DebeziumVersion>>(
    {{"3.7", DebeziumVersion::k3_7}, {"3.6", DebeziumVersion::k3_6}});
template <>
inline constexpr auto kChoices<NullMembers> = std::to_array<Choice<NullMembers>>(
    {{"ignore", NullMembers::kIgnore}, {"optional_bytes", NullMembers::kOptionalBytes}});
template <>
inline constexpr auto kChoices<EmptyArrays> = std::to_array<Choice<EmptyArrays>>(
    {{"ignore", EmptyArrays::kIgnore}, {"optional_string", EmptyArrays::kOptionalString}});
template <>
inline constexpr auto kChoices<PartitionPeriod> =
    std::to_array<Choice<PartitionPeriod>>({{"hourly", PartitionPeriod::kHourly},
                                            {"daily", PartitionPeriod::kDaily},
                                            {"weekly", PartitionPeriod::kWeekly},
                                            {"monthly", PartitionPeriod::kMonthly}});
template <>
inline constexpr auto kChoices<PruneMode> =
    std::to_array<Choice<PruneMode>>({{"off", PruneMode::kOff},
                                      {"delete", PruneMode::kDelete},
                                      {"mark", PruneMode::kMark},
                                      {"drop", PruneMode::kDrop}});
template <>
inline constexpr auto kChoices<LogLevel> =
    std::to_array<Choice<LogLevel>>({{"debug", LogLevel::kDebug},
                                     {"info", LogLevel::kInfo},
                                     {"warning", LogLevel::kWarning},
                                     {"error", LogLevel::kError}});
template <>
inline constexpr auto kChoices<LogFormat> = std::to_array<Choice<LogFormat>>(
    {{"auto", LogFormat::kAuto}, {"text", LogFormat::kText}, {"json", LogFormat::kJson}});

// nullopt: no value has this name.
// Compares bytes: names are lower-case, and "STOP" is not "stop".
template <typename Enum>
constexpr std::optional<Enum> ChoiceNamed(std::string_view name) {
  for (const Choice<Enum>& choice : kChoices<Enum>) {
    if (choice.name == name) {
      return choice.value;
    }
  }
  return std::nullopt;
}

// The name of an enumerator; "?" for any other value.
// Every value that the loader sets has a name, so "?" means a bug.
template <typename Enum>
constexpr std::string_view NameOfChoice(Enum value) {
  for (const Choice<Enum>& choice : kChoices<Enum>) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  return "?";
}

// The names alone, in the same order.
template <typename Enum>
inline constexpr auto kChoiceNames = [] {
  std::array<std::string_view, kChoices<Enum>.size()> names;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = kChoices<Enum>[i].name;
  }
  return names;
}();

}  // namespace walrelay
