#include "base/json_writer.h"

namespace walrelay {

std::string JsonText(const std::optional<std::string_view>& text) {
  std::string out;
  if (!text) {
    return "null";
  }
  AppendJsonString(*text, out);
  return out;
}

void JsonObject::Add(std::string_view name, std::string_view text) {
  Raw(name, JsonText(text));
}

void JsonObject::Raw(std::string_view name, std::string_view json) {
  out_ += out_.size() > 1 ? "," : "";
  AppendJsonString(name, out_);
  out_ += ':';
  out_ += json;
}

}  // namespace walrelay
