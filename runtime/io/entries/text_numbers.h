#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "runtime/types.h"

/// Parsing of fields separated by blanks and tabs.
namespace tdsl::rt {

[[nodiscard]] inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Takes fields off a line from the left.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) { skip_blanks(); }

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] char front() const { return *at_; }
  /// The next field as text, without taking it; empty at the end.
  [[nodiscard]] std::string_view word() const {
    const char* last = at_;
    while (last != end_ && !is_blank(*last)) ++last;
    return {at_, static_cast<std::size_t>(last - at_)};
  }
  void skip_word() {
    at_ += word().size();
    skip_blanks();
  }
  /// Takes an unsigned integer of at most 18 digits; if the field is anything else, returns false and takes nothing.
  [[nodiscard]] bool take_count(std::int64_t& value) {
    const char* p = at_;
    std::uint64_t x = 0;  // arbitrary if there are too many digits
    while (p != end_ && static_cast<unsigned char>(*p - '0') < 10) x = x * 10 + static_cast<std::uint64_t>(*p++ - '0');
    if (p == at_ || p - at_ > 18 || !ends_at(p)) return false;
    value = static_cast<std::int64_t>(x);
    advance(p);
    return true;
  }
  enum class Number : std::uint8_t { kGood, kMalformed, kTooLarge };
  /// Takes a decimal number of type T: an integer, or anything `strtod` accepts except hexadecimal; floats are
  /// correctly rounded. Takes nothing if the field is invalid.
  template <class T>
  [[nodiscard]] Number take_number(T& value) {
    const char* first = at_;
    if (end_ - first > 1 && *first == '+' && first[1] != '-') ++first;
    if constexpr (std::is_unsigned_v<T>) {
      if (first != end_ && *first == '-') return take_negative(first, value);
    }
    const auto [last, error] = std::from_chars(first, end_, value);
    if (error == std::errc::result_out_of_range) {
      if (!ends_at(last)) return Number::kMalformed;
      if constexpr (std::is_floating_point_v<T>) {
        // from_chars does not distinguish overflow from underflow.
        const double x = std::strtod(std::string(first, last).c_str(), nullptr);
        if (std::abs(x) < 1.0) {
          value = static_cast<T>(x);
          advance(last);
          return Number::kGood;
        }
      }
      return Number::kTooLarge;
    }
    if (error != std::errc() || !ends_at(last)) return Number::kMalformed;
    advance(last);
    return Number::kGood;
  }

 private:
  /// A number with a sign, of which an unsigned type has 0 alone.
  template <class T>
  [[nodiscard]] Number take_negative(const char* first, T& value) {
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(first, end_, number);
    if (error == std::errc::invalid_argument || !ends_at(last)) return Number::kMalformed;
    if (number != 0 || error != std::errc()) return Number::kTooLarge;
    value = 0;
    advance(last);
    return Number::kGood;
  }
  [[nodiscard]] bool ends_at(const char* p) const { return p == end_ || is_blank(*p); }
  void advance(const char* p) {
    at_ = p;
    skip_blanks();
  }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  const char* at_;
  const char* end_;
};

}  // namespace tdsl::rt
