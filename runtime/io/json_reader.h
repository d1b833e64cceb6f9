#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tdsl::rt {

/// A JSON value, for small files that describe large ones.
class JsonValue {
 public:
  using Members = std::vector<std::pair<std::string, JsonValue>>;
  using Items = std::vector<JsonValue>;
  /// A number is the text of it.
  struct Number {
    std::string text;
  };

  JsonValue() = default;
  template <class T>
  explicit JsonValue(T value) : value_(std::move(value)) {}

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Items* items() const { return std::get_if<Items>(&value_); }
  [[nodiscard]] const Number* number() const { return std::get_if<Number>(&value_); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value_); }
  /// Of an object; null if it has none of that name.
  [[nodiscard]] const JsonValue* member(std::string_view name) const;
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Members>(value_); }

 private:
  std::variant<std::monostate, bool, Number, std::string, Items, Members> value_;
};

/// Throws std::runtime_error that says at which byte the text is no JSON. Objects and lists are at most 64 deep.
[[nodiscard]] JsonValue parse_json(std::string_view text);

}  // namespace tdsl::rt
