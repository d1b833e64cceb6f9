#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/check.h"

namespace tdsl::rt {

/// Writes one JSON value into a string, indented by two spaces. Numbers read back exactly; infinities and nan, which
/// JSON lacks, become the strings "inf", "-inf", "nan". Misuse (a key outside an object, an unclosed scope) is an
/// InternalError.
///
///     JsonWriter json;
///     json.begin_object().field("ranks", 4).key("shape").begin_array().value(3).value(5).end_array().end_object();
///     json.text();  // {"ranks": 4, "shape": [3, 5]} over several lines
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('{', '}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close('[', ']'); }

  /// Sets the name of the next value of the innermost object.
  JsonWriter& key(std::string_view name) {
    TDSL_CHECK(!scopes_.empty() && scopes_.back().bracket == '{' && !after_key_, "a JSON key belongs into an object");
    separate();
    write_string(name);
    text_ += ": ";
    after_key_ = true;
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    before_value();
    write_string(text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(std::nullptr_t) {
    before_value();
    text_ += "null";
    return *this;
  }
  template <class T>
  requires std::integral<T> || std::floating_point<T> JsonWriter& value(T number) {
    before_value();
    if constexpr (std::same_as<T, bool>) {
      text_ += number ? "true" : "false";
      return *this;
    } else {
      if constexpr (std::floating_point<T>) {
        if (std::isnan(number)) return raw("\"nan\"");
        if (std::isinf(number)) return raw(number > 0 ? "\"inf\"" : "\"-inf\"");
      }
      std::array<char, 64> buffer;
      const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
      return raw(std::string_view(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())));
    }
  }

  /// `key(name).value(v)`.
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  /// The finished text, ending in a newline.
  [[nodiscard]] std::string text() const {
    TDSL_CHECK(scopes_.empty() && !text_.empty(), "the JSON text is not complete");
    return text_ + "\n";
  }

 private:
  struct Scope {
    char bracket;
    bool empty = true;
  };

  JsonWriter& raw(std::string_view text) {
    text_ += text;
    return *this;
  }

  JsonWriter& open(char bracket) {
    before_value();
    text_ += bracket;
    scopes_.push_back({bracket});
    return *this;
  }

  JsonWriter& close(char opening, char closing) {
    TDSL_CHECK(!scopes_.empty() && scopes_.back().bracket == opening && !after_key_, "unbalanced JSON scopes");
    const bool empty = scopes_.back().empty;
    scopes_.pop_back();
    if (!empty) new_line();
    text_ += closing;
    return *this;
  }

  void new_line() {
    text_ += '\n';
    text_.append(2 * scopes_.size(), ' ');
  }

  void separate() {
    if (!scopes_.back().empty) text_ += ',';
    scopes_.back().empty = false;
    new_line();
  }

  void before_value() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (scopes_.empty()) {
      TDSL_CHECK(text_.empty(), "a JSON text is one value");
      return;
    }
    TDSL_CHECK(scopes_.back().bracket == '[', "a JSON object needs a key before a value");
    separate();
  }

  void write_string(std::string_view text) {
    text_ += '"';
    for (const char c : text) {
      switch (c) {
        case '"': text_ += "\\\""; break;
        case '\\': text_ += "\\\\"; break;
        case '\n': text_ += "\\n"; break;
        case '\t': text_ += "\\t"; break;
        case '\r': text_ += "\\r"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> buffer;
            std::snprintf(buffer.data(), buffer.size(), "\\u%04x",
                          static_cast<unsigned>(static_cast<unsigned char>(c)));
            text_ += buffer.data();
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }

  std::string text_;
  std::vector<Scope> scopes_;
  bool after_key_ = false;
};

}  // namespace tdsl::rt
