#include "runtime/picture/pixels.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/check.h"

namespace tdsl::rt {

void OrderlessSum::raise() {
  sums_[1] = sums_[0];
  sums_[0] = 0;
  ++top_;
  scale_ *= 0x1p-30;
  below_ = top_ * kBits >= std::numeric_limits<double>::max_exponent ? std::numeric_limits<double>::infinity()
                                                                     : below_ * 0x1p30;
}

void OrderlessSum::add(OrderlessSum other) {
  while (top_ < other.top_) raise();
  while (other.top_ < top_) other.raise();
  sums_[0] += other.sums_[0];
  sums_[1] += other.sums_[1];
  count_ += other.count_;
}

double OrderlessSum::mean() const {
  const auto n = static_cast<double>(count_);
  return static_cast<double>(sums_[0]) / n / scale(1) + static_cast<double>(sums_[1]) / n / scale(2);
}

void ShownElements::add(const ShownElements& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  nan += other.nan;
  infinite += other.infinite;
  nonzero += other.nonzero;
}

void Column::add(const Column& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  bad += other.bad;
  sum.add(other.sum);
}

Pixels::Pixels(PictureSource source, std::int64_t edge)
    : source_(std::move(source)), dimensions_(source_.slice.shown()) {
  TDSL_CHECK(dimensions_.size() == 1 || dimensions_.size() == 2, "a picture shows one or two dimensions");
  band_ = dimensions_.size() == 1 && !source_.stored;
  columns_ = source_.shape[dimensions_.back()];
  if (dimensions_.size() == 2) rows_ = source_.shape[dimensions_.front()];
  height_ = std::min(rows_, edge);
  width_ = std::min(columns_, edge);
  if (height_ == 0 || width_ == 0) height_ = width_ = 0;
  if (band_) {
    bands_.resize(static_cast<std::size_t>(width_));
  } else {
    pixels_.resize(static_cast<std::size_t>(height_ * width_));
  }
}

std::uint32_t Pixels::ordered(double x) {
  const auto upper = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
  return (upper << 1) | ((upper >> 31) ^ 1U);
}

double Pixels::value(std::int64_t row, std::int64_t column) const {
  const std::uint32_t number = pixels_[static_cast<std::size_t>(row * width_ + column)];
  const std::uint32_t sign = (number & 1U) ^ 1U;
  // 0 is a pixel without elements, which ends as 0 too.
  if (number >> 1 == 0) return 0;
  return std::bit_cast<double>(static_cast<std::uint64_t>((number >> 1) | (sign << 31)) << 32);
}

std::uint32_t Pixels::count(std::int64_t row, std::int64_t column) const {
  return pixels_[static_cast<std::size_t>(row * width_ + column)];
}

void Pixels::merge(std::int64_t pixel_row, std::int64_t pixel_column, std::span<const Part> parts) {
  const std::scoped_lock lock(mutex_);
  auto pixel = static_cast<std::size_t>(pixel_row * width_ + pixel_column);
  for (const Part& part : parts) {
    ShownElements shown = part.shown;
    const bool bad = shown.infinite > 0;  // with nan
    shown.infinite -= shown.nan;
    shown_.add(shown);
    std::uint32_t number = bad ? ordered(std::numeric_limits<double>::infinity()) : 0;
    if (shown.least <= shown.most) number = std::max({number, ordered(shown.least), ordered(shown.most)});
    pixels_[pixel] = std::max(pixels_[pixel], number);
    ++pixel;
  }
}

namespace {

std::uint32_t saturated(std::uint32_t a, std::uint32_t b) {
  return a > std::numeric_limits<std::uint32_t>::max() - b ? std::numeric_limits<std::uint32_t>::max() : a + b;
}

}  // namespace

void Pixels::add_stored(std::span<const std::int64_t> at, double value) {
  if (value == 0) return;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (source_.slice.at[d] && *source_.slice.at[d] != at[d]) return;
  }
  ++shown_.nonzero;
  if (std::isfinite(value)) {
    shown_.least = std::min(shown_.least, value);
    shown_.most = std::max(shown_.most, value);
  } else {
    ++(std::isnan(value) ? shown_.nan : shown_.infinite);
  }
  const std::int64_t row = dimensions_.size() == 2 ? pixel_of(at[dimensions_[0]], height_, rows_) : 0;
  const std::int64_t column = pixel_of(at[dimensions_.back()], width_, columns_);
  std::uint32_t& pixel = pixels_[static_cast<std::size_t>(row * width_ + column)];
  pixel = saturated(pixel, 1);
}

void Pixels::add(const Pixels& other) {
  const std::scoped_lock lock(mutex_);
  shown_.add(other.shown_);
  for (std::size_t p = 0; p < pixels_.size(); ++p) {
    pixels_[p] = source_.stored ? saturated(pixels_[p], other.pixels_[p]) : std::max(pixels_[p], other.pixels_[p]);
  }
  for (std::size_t c = 0; c < bands_.size(); ++c) bands_[c].add(other.bands_[c]);
}

std::vector<std::byte> Pixels::bytes() const {
  static_assert(std::is_trivially_copyable_v<ShownElements> && std::is_trivially_copyable_v<Column>);
  std::vector<std::byte> bytes;
  const auto put = [&bytes](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  put(std::as_bytes(std::span(&shown_, 1)));
  put(std::as_bytes(std::span(pixels_)));
  put(std::as_bytes(std::span(bands_)));
  return bytes;
}

void Pixels::add_bytes(std::span<const std::byte>& bytes) {
  Pixels other(source_, std::max(height_, width_));
  const auto take = [&bytes](std::span<std::byte> part) {
    TDSL_CHECK(part.size() <= bytes.size(), "all ranks have the same pictures");
    if (!part.empty()) std::memcpy(part.data(), bytes.data(), part.size());
    bytes = bytes.subspan(part.size());
  };
  take(std::as_writable_bytes(std::span(&other.shown_, 1)));
  take(std::as_writable_bytes(std::span(other.pixels_)));
  take(std::as_writable_bytes(std::span(other.bands_)));
  add(other);
}

}  // namespace tdsl::rt
