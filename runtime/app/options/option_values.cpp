#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <system_error>
#include <type_traits>

#include "runtime/app/options/options.h"
#include "runtime/base/number_format.h"
#include "runtime/real_types.h"

namespace tdsl::rt {

namespace {

[[noreturn]] void fail_value(std::string_view what, std::string_view text, const std::string& expected) {
  throw RunError(std::string(what) + ": `" + std::string(text) + "` is not " + expected + " [bad-option]",
                 ExitCode::kUsage);
}

/// Removes `_` between digits, as in TDSL literals.
std::string without_separators(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
                         std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] != '_' || !between) { digits += text[i]; }
  }
  return digits;
}

/// Parses all of `text` as a number of type T.
template <class T>
std::errc parse_all(std::string_view text, T& value) {
  const std::string clean = without_separators(text);
  const char* first = clean.data();
  const char* last = first + clean.size();
  if (clean.size() > 1 && clean[0] == '+' && clean[1] != '-') { ++first; }
  const auto result = std::from_chars(first, last, value);
  return result.ec == std::errc() && result.ptr != last ? std::errc::invalid_argument : result.ec;
}

template <class T>
ScalarValue parse_integer(std::string_view text, std::string_view what) {
  T value = 0;
  const bool negative = std::is_unsigned_v<T> && text.starts_with('-');
  const std::errc error = negative ? std::errc::result_out_of_range : parse_all(text, value);
  const std::string name(element_name(element_type_of<T>));
  if (error == std::errc::result_out_of_range) {
    throw RunError(std::string(what) + ": " + std::string(text) + " does not fit into " + name + " (" +
                       std::to_string(std::numeric_limits<T>::min()) + " to " +
                       std::to_string(std::numeric_limits<T>::max()) + ") [bad-option]",
                   ExitCode::kUsage);
  }
  if (error != std::errc()) { fail_value(what, text, "an integer (" + name + "), for example 12"); }
  return value;
}

template <class T>
ScalarValue parse_float(std::string_view text, std::string_view what) {
  T value = 0;
  const std::errc error = parse_all(text, value);
  if (error == std::errc::result_out_of_range) {
    throw RunError(std::string(what) + ": " + std::string(text) + " is too large or too small for " +
                       std::string(element_name(element_type_of<T>)) + "; write inf or 0 if that is meant [bad-option]",
                   ExitCode::kUsage);
  }
  if (error != std::errc()) {
    fail_value(what, text, "a number (" + std::string(element_name(element_type_of<T>)) + "), for example 1e-3");
  }
  return value;
}

/// `1.5-2i`, `2i`, `3`, also with `j`.
template <class T>
ScalarValue parse_complex(std::string_view text, std::string_view what) {
  const auto part = [&](std::string_view number, T& value) {
    if (number.starts_with('+')) number.remove_prefix(1);
    if (parse_all(number, value) != std::errc())
      fail_value(
          what, text,
          "a complex number (" + std::string(element_name(element_type_of<Complex<T>>)) + "), for example 1.5-2i");
  };
  Complex<T> z(0);
  if (!text.ends_with('i') && !text.ends_with('j')) {
    part(text, z.re);
    return z;
  }
  const std::string_view parts = text.substr(0, text.size() - 1);
  // The imaginary part begins at the last sign that does not belong to an exponent.
  std::size_t split = parts.find_last_of("+-");
  while (split != std::string_view::npos && split > 0 && (parts[split - 1] == 'e' || parts[split - 1] == 'E'))
    split = parts.find_last_of("+-", split - 1);
  if (split != std::string_view::npos && split > 0) {
    part(parts.substr(0, split), z.re);
    part(parts.substr(split), z.im);
  } else {
    part(parts, z.im);
  }
  return z;
}

/// Factor of a size suffix; 0 if unknown.
double byte_factor(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") { return 1; }
  static constexpr std::string_view kPrefixes = "KMGT";
  const char letter = suffix[0] == 'k' ? 'K' : suffix[0];
  const std::size_t power = kPrefixes.find(letter);
  if (power == std::string_view::npos) { return 0; }
  const std::string_view rest = suffix.substr(1);
  if (rest.empty() || rest == "iB" || rest == "i") { return std::pow(1024.0, static_cast<double>(power + 1)); }
  return rest == "B" ? std::pow(1000.0, static_cast<double>(power + 1)) : 0;
}

std::string_view suffix_of(std::string_view size) {
  return size.substr(std::min(size.find_first_not_of("0123456789._"), size.size()));
}

/// The size in the suffix's unit, rounded up to two decimals.
std::string hundredths(std::int64_t bytes, std::string_view suffix) {
  if (bytes <= 0) return "0";
  const double unit = byte_factor(suffix);
  std::array<char, 64> text{};
  // Rounding in the division, in printing or in parsing may lose a byte.
  for (double count = std::ceil(static_cast<double>(bytes) / unit * 100);; ++count) {
    const int length = std::snprintf(text.data(), text.size(), "%.2f", count / 100);
    std::string number(text.data(), static_cast<std::size_t>(length));
    if (parse_bytes(number + std::string(suffix), "") >= bytes) return number;
  }
}

}  // namespace

ScalarValue parse_scalar(ElementType type, std::string_view text, std::string_view what) {
  if (type == ElementType::kC64) return parse_complex<float>(text, what);
  if (type == ElementType::kC128) return parse_complex<double>(text, what);
  return visit_real_type(type, what, [&](auto tag) -> ScalarValue {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "1" && text != "false" && text != "0") fail_value(what, text, "true or false");
      return text == "true" || text == "1";
    } else if constexpr (std::is_integral_v<T>) {
      return parse_integer<T>(text, what);
    } else {
      return parse_float<T>(text, what);
    }
  });
}

NumberKinds parse_number_kinds(std::string_view text, std::string_view what) {
  NumberKinds kinds;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    // Subscripts are always checked: affine ones before the run, computed ones during it.
    if (word != "nan" && word != "inf" && word != "bounds") fail_value(what, word, "nan, inf or bounds");
    kinds.nan |= word == "nan";
    kinds.inf |= word == "inf";
    if (comma == std::string_view::npos) return kinds;
    rest.remove_prefix(comma + 1);
  }
}

std::int64_t parse_bytes(std::string_view text, std::string_view what) {
  const std::size_t end = text.size() - suffix_of(text).size();
  double number = 0;
  const double factor = byte_factor(suffix_of(text));
  if (end == 0 || factor == 0 || parse_all(text.substr(0, end), number) != std::errc()) {
    fail_value(what, text, "a size, for example 512MiB or 2G");
  }
  const double bytes = number * factor;
  if (bytes < 1 || bytes >= 0x1p63) { fail_value(what, text, "a size between 1 byte and 2^63"); }
  return static_cast<std::int64_t>(bytes);
}

std::string option_size(std::int64_t bytes, std::string_view like) {
  const std::string_view suffix = suffix_of(like);
  if (byte_factor(suffix) <= 1) return std::to_string(bytes);
  return hundredths(bytes, suffix) + std::string(suffix);
}

std::string shown_size(std::int64_t bytes, std::string_view like) {
  const std::string_view suffix = suffix_of(like);
  if (byte_factor(suffix) <= 1) return format_bytes(bytes);
  return hundredths(bytes, suffix) + " " + std::string(suffix);
}

double parse_duration(std::string_view text, std::string_view what) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(end);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  double number = 0;
  if (end == 0 || factor == 0 || parse_all(text.substr(0, end), number) != std::errc()) {
    fail_value(what, text, "a time, for example 600, 10m or 2h");
  }
  return number * factor;
}

namespace {

/// Positive numbers with a separator between them.
std::vector<std::int64_t> parse_numbers(std::string_view text, char separator, std::string_view what,
                                        const std::string& meaning, const char* example) {
  std::vector<std::int64_t> numbers;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    std::int64_t number = 0;
    if (parse_all(text.substr(start, end - start), number) != std::errc() || number < 1)
      fail_value(what, text, meaning + ", for example " + example);
    numbers.push_back(number);
    start = end + 1;
  }
  if (numbers.size() > kMaxRank)
    fail_value(what, text, meaning + ": tensors have at most " + std::to_string(kMaxRank) + " dimensions");
  return numbers;
}

}  // namespace

std::vector<std::int64_t> parse_tile(std::string_view text, std::string_view what) {
  return parse_numbers(text, ',', what, "a tile size", "256 or 256,512");
}

std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what) {
  return parse_numbers(text, 'x', what, "a grid of nodes", "16 or 4x4x1");
}

}  // namespace tdsl::rt
