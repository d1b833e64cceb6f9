#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tdsl::rt {

/// A JSON value, for small metadata files.
class JsonValue {
 public:
  using Members = std::vector<std::pair<std::string, JsonValue>>;
  using Items = std::vector<JsonValue>;
  /// A number, kept as text.
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
  /// Member of an object; null if missing.
  [[nodiscard]] const JsonValue* member(std::string_view name) const;
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Members>(value_); }

 private:
  std::variant<std::monostate, bool, Number, std::string, Items, Members> value_;
};

/// Throws std::runtime_error with the byte offset of a syntax error. Nesting is limited to 64 levels.
[[nodiscard]] JsonValue parse_json(std::string_view text);

}  // namespace tdsl::rt
