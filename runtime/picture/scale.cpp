#include "runtime/picture/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

namespace tdsl::rt {

namespace {

/// Pixels show integers exactly up to this magnitude.
constexpr double kMostExact = 1 << 20;

std::uint32_t most_of_counts(const Pixels& pixels) {
  std::uint32_t most = 0;
  for (std::int64_t row = 0; row < pixels.height(); ++row) {
    for (std::int64_t column = 0; column < pixels.width(); ++column) most = std::max(most, pixels.count(row, column));
  }
  return most;
}

}  // namespace

PictureScale::PictureScale(const Pixels& pixels, const PictureLook& look) {
  const ElementType type = pixels.source().type;
  if (pixels.source().stored) {
    kind_ = Kind::kCount;
    whole_ = true;
    most_ = most_of_counts(pixels);
    return;
  }
  logical_ = type == ElementType::kBool;
  whole_ = is_integer(type);
  const ShownElements& shown = pixels.shown();
  if (shown.least > shown.most) return;
  least_ = shown.least;
  most_ = shown.most;
  if (pixels.is_band()) {
    if (look.logarithmic) use_logarithm(pixels);
    return;
  }
  const bool exact = std::max(std::fabs(least_), std::fabs(most_)) <= kMostExact;
  if (logical_ || (whole_ && exact && most_ - least_ < static_cast<double>(kCategories) && !look.logarithmic)) {
    kind_ = Kind::kCategory;
    if (least_ >= 0 && most_ < static_cast<double>(kCategories)) least_ = 0;  // 0 has the same colour everywhere
  } else if (look.logarithmic) {
    use_logarithm(pixels);
  } else if (least_ < 0 && most_ > 0) {
    kind_ = Kind::kSigned;
    most_ = std::max(-least_, most_);
    least_ = -most_;
  }
}

/// The range of the magnitudes that the pixels show, 0 excluded.
void PictureScale::use_logarithm(const Pixels& pixels) {
  logarithmic_ = true;
  least_ = std::numeric_limits<double>::infinity();
  most_ = 0;
  const auto add = [this](double x) {
    if (!std::isfinite(x) || x <= 0) return;
    least_ = std::min(least_, x);
    most_ = std::max(most_, x);
  };
  for (const Column& column : pixels.bands()) {
    add(column.least);
    add(column.most);
  }
  for (std::int64_t row = 0; row < pixels.height() && !pixels.is_band(); ++row) {
    for (std::int64_t column = 0; column < pixels.width(); ++column) add(std::fabs(pixels.value(row, column)));
  }
  if (most_ == 0) least_ = most_ = 1;
}

double PictureScale::level(double value) const {
  if (kind_ == Kind::kCount) return most_ > 0 ? std::log2(1 + value) / std::log2(1 + most_) : 0;
  if (logarithmic_) {
    if (value == 0 || most_ == least_) return value == 0 ? 0 : 1;
    return std::log10(std::fabs(value) / least_) / std::log10(most_ / least_);
  }
  if (most_ == least_) return 0.5;
  return (value / 2 - least_ / 2) / (most_ / 2 - least_ / 2);
}

double PictureScale::value_of(double level) const {
  if (kind_ == Kind::kCount) return std::exp2(level * std::log2(1 + most_)) - 1;
  if (logarithmic_) return least_ * std::pow(most_ / least_, level);
  return least_ + level * (most_ - least_);
}

double PictureScale::value_at(const Pixels& pixels, std::int64_t row, std::int64_t column) const {
  return kind_ == Kind::kCount ? static_cast<double>(pixels.count(row, column)) : pixels.value(row, column);
}

Colour PictureScale::colour(double value) const {
  if (!std::isfinite(value)) return kBadColour;
  switch (kind_) {
    case Kind::kCount: return value == 0 ? kPaperColour : viridis(1 - level(value));
    case Kind::kCategory: return category(static_cast<std::size_t>(value - least_));
    case Kind::kSigned: return diverging(level(value));
    case Kind::kMagnitude: return viridis(level(value));
  }
  return kPaperColour;
}

std::string PictureScale::text(double value) const {
  if (logical_) return value != 0 ? "true" : "false";
  if (whole_ && std::fabs(value) < 1e8) return std::to_string(static_cast<std::int64_t>(value));
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

}  // namespace tdsl::rt
