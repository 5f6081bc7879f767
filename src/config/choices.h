// The names of enumeration values in a configuration. The loader, `walrelay config show` and the
// reference use the same list.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "walrelay/config.h"

namespace walrelay {

template <typename Enum>
struct Choice {
  std::string_view name;
  Enum value;
};

// In the order of the reference.
template <typename Enum>
inline constexpr void* kChoices = nullptr;
template <>
inline constexpr auto kChoices<OnError> = std::to_array<Choice<OnError>>(
    {{"stop", OnError::kStop}, {"dead_letter", OnError::kDeadLetter}, {"skip", OnError::kSkip}});
template <>
inline constexpr auto kChoices<OnUpdate> =
    std::to_array<Choice<OnUpdate>>({{"ignore", OnUpdate::kIgnore}, {"fail", OnUpdate::kFail}});
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
inline constexpr auto kChoices<Placement::Where> =
    std::to_array<Choice<Placement::Where>>({{"header", Placement::Where::kHeader},
                                             {"envelope", Placement::Where::kEnvelope},
                                             {"partition", Placement::Where::kPartition}});
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
inline constexpr auto kChoices<NullMembers> = std::to_array<Choice<NullMembers>>(
    {{"ignore", NullMembers::kIgnore}, {"optional_bytes", NullMembers::kOptionalBytes}});
template <>
inline constexpr auto kChoices<EmptyArrays> = std::to_array<Choice<EmptyArrays>>(
    {{"ignore", EmptyArrays::kIgnore}, {"optional_string", EmptyArrays::kOptionalString}});

template <typename Enum>
constexpr std::optional<Enum> ChoiceNamed(std::string_view name) {
  for (const Choice<Enum>& choice : kChoices<Enum>) {
    if (choice.name == name) {
      return choice.value;
    }
  }
  return std::nullopt;
}

// REQUIRES: one of its enumerators.
template <typename Enum>
constexpr std::string_view NameOfChoice(Enum value) {
  for (const Choice<Enum>& choice : kChoices<Enum>) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  return "?";
}

// "a, b, c", built at compile time.
template <typename Enum>
struct ChoiceNames {
  static constexpr std::string_view kSeparator = ", ";
  static constexpr auto kText = [] {
    constexpr size_t kSize = [] {
      size_t size = 0;
      for (const Choice<Enum>& choice : kChoices<Enum>) {
        size += (size == 0 ? 0 : kSeparator.size()) + choice.name.size();
      }
      return size;
    }();
    std::array<char, kSize> text{};
    size_t at = 0;
    for (const Choice<Enum>& choice : kChoices<Enum>) {
      for (const std::string_view part : {at == 0 ? std::string_view() : kSeparator, choice.name}) {
        at += part.copy(&text[at], part.size());
      }
    }
    return text;
  }();
  static constexpr std::string_view kJoined{kText.data(), kText.size()};
};

}  // namespace walrelay
