#include "runtime/base/number_format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tdsl::rt {

namespace {

/// The shortest digits that read back exactly, as `d.ddd` and a power of ten.
struct Decimal {
  bool negative = false;
  std::string digits;  // without a point, which follows the first digit
  int exponent = 0;
};

/// From a number in scientific notation.
Decimal decimal_of(std::string_view text, bool negative) {
  const std::size_t e = text.find('e');
  Decimal decimal;
  decimal.negative = negative;
  for (const char c : text.substr(0, e)) {
    if (c != '.') { decimal.digits += c; }
  }
  const std::size_t sign = text[e + 1] == '+' ? 1 : 0;  // from_chars does not accept a plus
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), decimal.exponent);
  return decimal;
}

template <class T>
Decimal shortest_decimal(T value) {
  std::array<char, 64> buffer;
  char* const end = buffer.data() + buffer.size();
  const char* last = buffer.data();
  if constexpr (kIsHalf<T>) {
    const float size = std::fabs(static_cast<float>(value));
    float read = -1;
    // Nine digits are enough for a float.
    for (int decimals = 0; decimals < 9 && T(read) != T(size); ++decimals) {
      last = std::to_chars(buffer.data(), end, size, std::chars_format::scientific, decimals).ptr;
      std::from_chars(buffer.data(), last, read);
    }
  } else {
    last = std::to_chars(buffer.data(), end, std::fabs(value), std::chars_format::scientific).ptr;
  }
  return decimal_of({buffer.data(), static_cast<std::size_t>(last - buffer.data())},
                    std::signbit(static_cast<double>(value)));
}

/// `+08`, `-123`: a sign and at least two digits.
std::string exponent_text(int exponent) {
  const std::string digits = std::to_string(std::abs(exponent));
  return (exponent < 0 ? "-" : "+") + std::string(digits.size() < 2 ? 1 : 0, '0') + digits;
}

template <class T>
std::string format_floating(T value) {
  if (value != value) { return "nan"; }
  if (std::isinf(static_cast<double>(value))) { return value > 0 ? "inf" : "-inf"; }
  const Decimal decimal = shortest_decimal(value);
  const int count = static_cast<int>(decimal.digits.size());
  std::string text = decimal.negative ? "-" : "";
  // The range in which Python omits the exponent.
  if (decimal.exponent < -4 || decimal.exponent >= 16) {
    text += decimal.digits.substr(0, 1);
    text += count > 1 ? "." + decimal.digits.substr(1) : "";
    return text + "e" + exponent_text(decimal.exponent);
  }
  if (decimal.exponent < 0) {
    return text + "0." + std::string(static_cast<std::size_t>(-decimal.exponent - 1), '0') + decimal.digits;
  }
  const int before_point = decimal.exponent + 1;
  if (count <= before_point) {
    return text + decimal.digits + std::string(static_cast<std::size_t>(before_point - count), '0') + ".0";
  }
  const auto split = static_cast<std::size_t>(before_point);
  return text + decimal.digits.substr(0, split) + "." + decimal.digits.substr(split);
}

template <class T>
std::string format_complex(Complex<T> value) {
  const std::string im = format_floating(value.im);
  return format_floating(value.re) + (im.front() == '-' ? "" : "+") + im + "i";
}

}  // namespace

std::string format_scalar(Complex<float> value) { return format_complex(value); }
std::string format_scalar(Complex<double> value) { return format_complex(value); }
std::string format_scalar(double value) { return format_floating(value); }
std::string format_scalar(float value) { return format_floating(value); }
std::string format_scalar(F16 value) { return format_floating(value); }
std::string format_scalar(Bf16 value) { return format_floating(value); }
std::string format_scalar(std::int8_t value) { return std::to_string(value); }
std::string format_scalar(std::uint8_t value) { return std::to_string(value); }
std::string format_scalar(std::int16_t value) { return std::to_string(value); }
std::string format_scalar(std::uint16_t value) { return std::to_string(value); }
std::string format_scalar(std::int32_t value) { return std::to_string(value); }
std::string format_scalar(std::uint32_t value) { return std::to_string(value); }
std::string format_scalar(std::int64_t value) { return std::to_string(value); }
std::string format_scalar(std::uint64_t value) { return std::to_string(value); }
std::string format_scalar(bool value) { return value ? "true" : "false"; }

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }
  double number = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed, 1);
  return std::string(buffer.data(), result.ptr) + " " + std::string(kUnits[unit]);
}

std::string format_type(ElementType type, std::span<const std::int64_t> shape) {
  std::string text(element_name(type));
  for (std::size_t d = 0; d < shape.size(); ++d) { text += (d == 0 ? "[" : ", ") + std::to_string(shape[d]); }
  return text + (shape.empty() ? "" : "]");
}

std::string series_summary(std::string_view name, ElementType type, std::int64_t records,
                           std::span<const std::int64_t> shape, std::string_view last) {
  std::string text = std::string(name) + ": " + std::string(element_name(type)) + "[r=" + std::to_string(records);
  for (const std::int64_t extent : shape) text += ", " + std::to_string(extent);
  text += "]";
  const std::size_t value = shape.empty() ? last.find(" = ") : last.find('\n');
  return value == std::string_view::npos ? text : text + std::string(last.substr(value));
}

}  // namespace tdsl::rt
