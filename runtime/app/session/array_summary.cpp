#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/base/number_format.h"
#include "runtime/check.h"

// Layout of NumPy 1.24's numpy/core/arrayprint.py with default options: precision 8, threshold 1000, three edge items,
// lines of 75 characters.

namespace tdsl::rt {

namespace {

constexpr std::size_t kLineWidth = 75;
constexpr int kPrecision = 8;

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// A number's text split into sign and integer digits, fraction digits, and exponent with letter and sign.
struct Parts {
  std::string whole, fraction, exponent;
};

Parts split_text(std::string_view text) {
  const std::size_t e = std::min(text.find('e'), text.size());
  const std::size_t point = std::min(text.find('.'), e);
  const std::string_view fraction = point < e ? text.substr(point + 1, e - point - 1) : std::string_view();
  return {std::string(text.substr(0, point)), std::string(fraction), std::string(text.substr(e))};
}

/// Scientific notation of the exact value, rounded to `decimals` fraction digits.
template <class T>
std::string digits_of(T value, int decimals) {
  std::array<char, 64> buffer;
  const auto end = buffer.data() + buffer.size();
  return {buffer.data(), std::to_chars(buffer.data(), end, value, std::chars_format::scientific, decimals).ptr};
}

/// The shortest representation, rounded to at most 8 decimals, without trailing zeros.
template <class T>
Parts split_number(T value, std::chars_format format) {
  std::array<char, 128> buffer;  // fixed notation only below 10^8
  const auto end = buffer.data() + buffer.size();
  Parts parts = split_text({buffer.data(), std::to_chars(buffer.data(), end, value, format).ptr});
  if (parts.fraction.size() > static_cast<std::size_t>(kPrecision)) {
    parts = split_text({buffer.data(), std::to_chars(buffer.data(), end, value, format, kPrecision).ptr});
  }
  while (!parts.fraction.empty() && parts.fraction.back() == '0') { parts.fraction.pop_back(); }
  return parts;
}

/// Texts of equal width for all shown elements of a floating-point array.
template <class T>
class FloatingTexts {
 public:
  explicit FloatingTexts(std::span<const T> elements) {
    choose_format(elements);
    for (const T x : elements) {
      if (!std::isfinite(x)) { continue; }
      const Parts parts = split_number(x, format_);
      left_ = std::max(left_, parts.whole.size());
      decimals_ = std::max(decimals_, parts.fraction.size());
      exponent_ = std::max(exponent_, parts.exponent.size());
    }
    right_ = decimals_ + exponent_;
    for (const T x : elements) {
      if (!std::isfinite(x)) {
        const std::size_t length = std::isinf(x) && x < 0 ? 4 : 3;
        left_ = std::max(left_, length - std::min(length, right_ + 1));
      }
    }
  }

  std::string operator()(T x) const {
    if (!std::isfinite(x)) { return padded(std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf", left_ + right_ + 1); }
    if (format_ == std::chars_format::scientific) {
      // All digits come from the exact value: an f32 is not padded with zeros beyond its shortest representation.
      Parts parts = split_text(digits_of(x, static_cast<int>(decimals_)));
      parts.exponent.insert(2, exponent_ - parts.exponent.size(), '0');
      return padded(parts.whole, left_) + "." + parts.fraction + parts.exponent;
    }
    const Parts parts = split_number(x, format_);
    std::string text = padded(parts.whole, left_) + "." + parts.fraction;
    return text.append(decimals_ - parts.fraction.size(), ' ');
  }

 private:
  void choose_format(std::span<const T> elements) {
    T largest = 0, smallest = std::numeric_limits<T>::infinity();
    for (const T x : elements) {
      if (std::isfinite(x) && x != T{0}) {
        largest = std::max(largest, std::fabs(x));
        smallest = std::min(smallest, std::fabs(x));
      }
    }
    const bool wide = largest > T{0} &&
                      (largest >= T{1e8F} || static_cast<double>(smallest) < 0.0001 || largest / smallest > T{1000});
    format_ = wide ? std::chars_format::scientific : std::chars_format::fixed;
  }

  std::chars_format format_ = std::chars_format::fixed;
  std::size_t left_ = 0, decimals_ = 0, exponent_ = 0, right_ = 0;
};

/// Texts of equal width for all shown elements of a bool or integer array.
template <class T>
class ExactTexts {
 public:
  explicit ExactTexts(std::span<const T> elements) {
    for (const T x : elements) { width_ = std::max(width_, format_scalar(x).size()); }
  }
  std::string operator()(T x) const { return padded(format_scalar(x), width_); }

 private:
  std::size_t width_ = 0;
};

/// Brackets and line breaks around the elements' texts.
template <class Texts, class T>
class Layout {
 public:
  Layout(std::span<const std::int64_t> shape, std::span<const T> elements)
      : shape_(shape), indices_(summary_indices(shape)), elements_(elements), texts_(elements) {}

  std::string text() { return nested(0, " ", kLineWidth); }

 private:
  [[nodiscard]] bool summarised(std::size_t axis) const {
    return static_cast<std::int64_t>(indices_[axis].size()) < shape_[axis];
  }

  std::string nested(std::size_t axis, const std::string& indent, std::size_t width) {
    const std::string inner = axis + 1 == shape_.size() ? row(axis, indent, width) : rows(axis, indent, width);
    return "[" + inner.substr(indent.size()) + "]";
  }

  std::string row(std::size_t axis, const std::string& indent, std::size_t width) {
    std::string done, line = indent;
    const std::size_t limit = width - 1;
    const auto add = [&](const std::string& word) {
      if (line.size() + word.size() > limit && line.size() > indent.size()) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::size_t i = 0; i < indices_[axis].size(); ++i) {
      if (i == static_cast<std::size_t>(record::kSummaryEdge) && summarised(axis)) {
        add("...");
        line += ' ';
      }
      add(texts_(elements_[next_++]));
      line += i + 1 < indices_[axis].size() ? " " : "";
    }
    return done + line;
  }

  std::string rows(std::size_t axis, const std::string& indent, std::size_t width) {
    std::string text;
    const std::string separator(shape_.size() - axis - 1, '\n');
    for (std::size_t i = 0; i < indices_[axis].size(); ++i) {
      if (i == static_cast<std::size_t>(record::kSummaryEdge) && summarised(axis)) {
        text += indent + "..." + separator;
      }
      text += indent + nested(axis + 1, indent + " ", width - 1);
      text += i + 1 < indices_[axis].size() ? separator : "";
    }
    return text;
  }

  std::span<const std::int64_t> shape_;
  std::vector<std::vector<std::int64_t>> indices_;
  std::span<const T> elements_;
  Texts texts_;
  std::size_t next_ = 0;
};

}  // namespace

template <Element T>
std::string format_summary(std::string_view name, std::span<const std::int64_t> shape, std::span<const T> elements) {
  std::size_t expected = 1;
  for (const auto& axis : summary_indices(shape)) { expected *= axis.size(); }
  TDSL_CHECK(elements.size() == expected, "a summary has the elements of summary_indices");
  const std::string head = std::string(name) + ": " + format_type(element_type_of<T>, shape);
  if (shape.empty()) { return head + " = " + format_scalar(elements[0]); }
  if (elements.empty()) { return head + "\n[]"; }
  if constexpr (std::floating_point<T>) {
    return head + "\n" + Layout<FloatingTexts<T>, T>(shape, elements).text();
  } else {
    return head + "\n" + Layout<ExactTexts<T>, T>(shape, elements).text();
  }
}

#define TDSL_SUMMARY(enumerator, T, ...) \
  template std::string format_summary<T>(std::string_view, std::span<const std::int64_t>, std::span<const T>);
TDSL_ELEMENT_TYPES(TDSL_SUMMARY)
#undef TDSL_SUMMARY

}  // namespace tdsl::rt
