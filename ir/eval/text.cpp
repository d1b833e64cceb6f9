#include "ir/eval/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tdsl::ir::eval {

namespace {

template <class T>
std::string float_text(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  char* const end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const int exponent = std::atoi(std::string(scientific.substr(scientific.find('e') + 1)).c_str());
  // Python's choice between the two notations.
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  // `fixed` prints all digits of an integer, although fewer may suffice to read it back.
  std::string digits(scientific.substr(0, scientific.find('e')));
  std::erase(digits, '.');
  const std::size_t before_point = static_cast<std::size_t>(std::max(exponent, 0)) + (std::signbit(value) ? 2 : 1);
  if (exponent >= 0 && digits.size() <= before_point)
    return digits + std::string(before_point - digits.size(), '0') + ".0";
  char* const fixed_end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
  return std::string(buffer.data(), fixed_end);
}

std::string element_text(const Array& a, std::size_t position) {
  switch (a.type) {
    case Scalar::kBool: return a.integers[position] != 0 ? "true" : "false";
    case Scalar::kI32:
    case Scalar::kI64: return std::to_string(a.integers[position]);
    case Scalar::kF32: return float_text(static_cast<float>(a.floats[position]));
    case Scalar::kF64: return float_text(a.floats[position]);
  }
  return "";
}

/// Arrays above this many elements show only the ends of each dimension, as the executables do.
constexpr std::int64_t kFullElements = 1000;
constexpr std::int64_t kEdge = 3;

void append(const Array& a, std::size_t dimension, std::size_t position, std::string& text) {
  if (dimension == a.shape.size()) {
    text += element_text(a, position);
    return;
  }
  std::size_t stride = 1;
  for (std::size_t d = dimension + 1; d < a.shape.size(); ++d) stride *= static_cast<std::size_t>(a.shape[d]);
  const std::int64_t extent = a.shape[dimension];
  const bool cut = a.size() > kFullElements && extent > 2 * kEdge;
  text += '[';
  for (std::int64_t k = 0; k < extent; ++k) {
    if (cut && k == kEdge) {
      k = extent - kEdge;
      text += " ...";
    }
    if (k > 0) text += ' ';
    append(a, dimension + 1, position + static_cast<std::size_t>(k) * stride, text);
  }
  text += ']';
}

}  // namespace

std::string text_of(const Array& array) {
  if (array.size() == 0) return "[]";
  std::string text;
  append(array, 0, 0, text);
  return text;
}

}  // namespace tdsl::ir::eval
