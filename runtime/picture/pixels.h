#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/picture/request.h"
#include "runtime/types.h"

namespace tdsl::rt {

// Note [Pixels do not depend on cuts] Blocks of an array arrive in any order, from any rank, cut anywhere, and the
// picture must have the same bytes. So a pixel keeps only exact, commutative values: the element of largest magnitude
// as an ordered number, extremes, and counts. The mean of a 1-D picture's column is a sum of integers: with U = 2^30
// and the least t for which all elements are below U^t, each element is cut into floor(x / U^(t-1)), floor of the rest
// / U^(t-2), and a rest that is dropped (both toward zero). When t rises by one, the first part of each element becomes
// its second part, and the new first part is 0: the sums move likewise, and so are those of all elements cut with the
// final t. Elements below U^-30 count as 0.

/// The sum of a number of finite values, independent of order. Relative to the largest value the error of the mean is
/// below 2^-30.
class OrderlessSum {
 public:
  void add(double x) {
    const double magnitude = std::fabs(x);
    while (magnitude >= below()) raise();
    const double first = std::trunc(x * scale(1));
    sums_[0] += static_cast<std::int64_t>(first);
    sums_[1] += static_cast<std::int64_t>((x - first / scale(1)) * scale(2));
    ++count_;
  }
  void add(OrderlessSum other);
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Requires count() > 0.
  [[nodiscard]] double mean() const;

 private:
  static constexpr int kBits = 30;
  static constexpr int kLeast = -29;
  [[nodiscard]] double below() const { return below_; }
  /// 1 / U^(t - part)
  [[nodiscard]] double scale(int part) const { return part == 1 ? scale_ : scale_ * 0x1p30; }
  void raise();

  std::int64_t sums_[2] = {0, 0};
  std::int64_t count_ = 0;
  std::int64_t top_ = kLeast;  ///< t
  double below_ = 0x1p-870;    ///< U^t; infinity for the last one
  double scale_ = 0x1p900;     ///< 1 / U^(t - 1)
};

/// Facts about all shown elements.
struct ShownElements {
  double least = std::numeric_limits<double>::infinity();  ///< of the finite ones; above `most` if there is none
  double most = -std::numeric_limits<double>::infinity();
  std::int64_t nan = 0, infinite = 0;
  std::int64_t nonzero = 0;  ///< finite or not

  void add(const ShownElements& other);
};

/// Where a picture's elements come from.
struct PictureSource {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<std::int64_t> shape;
  PictureSlice slice;   ///< of `shape`, from within()
  bool stored = false;  ///< only elements other than 0 arrive: the picture shows how many there are
};

/// A 1-D picture's column.
struct Column {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  std::int64_t bad = 0;  ///< nan or infinite
  OrderlessSum sum;

  void add(const Column& other);
};

/// The pixels of a picture, at most `edge` by `edge`, reduced from blocks (Note [Pixels do not depend on cuts]). At
/// most 4 bytes per pixel of a 2-D picture, 1 MiB in all. Adding is thread-safe.
class Pixels {
 public:
  static constexpr std::int64_t kEdge = 512;

  explicit Pixels(PictureSource source, std::int64_t edge = kEdge);

  [[nodiscard]] const PictureSource& source() const { return source_; }
  /// True for bands of columns: one dense dimension.
  [[nodiscard]] bool is_band() const { return band_; }
  /// Extents in elements; `rows` is 1 if one dimension is shown.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Extents in pixels; 0 if the array is empty.
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] std::int64_t width() const { return width_; }

  /// Adds the shown elements of the half-open box [lo, hi): element lo + x is `data[sum(x[d] * strides[d])]`.
  template <Element T>
  void add_box(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, const T* data,
               std::span<const std::int64_t> strides);
  /// Elements of a `stored` source, one by one. Not thread-safe: threads add to Pixels of their own.
  void add_stored(std::span<const std::int64_t> at, double value);

  /// Adds the pixels of other blocks; both have the same source. Thread-safe in this object.
  void add(const Pixels& other);
  /// The contents as bytes, for other ranks of the same kind of machine.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Adds contents from the front of `bytes`, and removes them.
  void add_bytes(std::span<const std::byte>& bytes);

  [[nodiscard]] const ShownElements& shown() const { return shown_; }
  /// The element of largest magnitude in a pixel, with 21 significant bits; nan or infinite if any is.
  [[nodiscard]] double value(std::int64_t row, std::int64_t column) const;
  /// The number of elements other than 0 in a pixel of a `stored` source; saturates at 2^32 - 1.
  [[nodiscard]] std::uint32_t count(std::int64_t row, std::int64_t column) const;
  [[nodiscard]] const std::vector<Column>& bands() const { return bands_; }

 private:
  /// The first element of pixel `p`, of `pixels` that show `elements`.
  [[nodiscard]] static std::int64_t first_of(std::int64_t p, std::int64_t pixels, std::int64_t elements) {
    return static_cast<std::int64_t>((static_cast<__int128>(p) * elements + pixels - 1) / pixels);
  }
  [[nodiscard]] static std::int64_t pixel_of(std::int64_t i, std::int64_t pixels, std::int64_t elements) {
    return static_cast<std::int64_t>(static_cast<__int128>(i) * pixels / elements);
  }
  /// Magnitudes in order, and the positive number before its negative; nan and infinities are the largest.
  [[nodiscard]] static std::uint32_t ordered(double x);

  struct Part;
  struct Line;
  template <class T>
  static void add_line(const T* data, std::int64_t stride, std::int64_t count, Part& part);
  template <class T>
  void add_rows(const T* data, std::int64_t first, std::int64_t last, std::int64_t row_stride, const Line& line,
                std::span<Part> parts) const;
  template <class T>
  void add_columns(const T* data, const Line& line);
  void merge(std::int64_t pixel_row, std::int64_t pixel_column, std::span<const Part> parts);

  PictureSource source_;
  std::vector<std::size_t> dimensions_;  ///< shown ones
  bool band_ = false;
  std::int64_t rows_ = 1, columns_ = 1, height_ = 1, width_ = 1;
  std::mutex mutex_;
  ShownElements shown_;
  std::vector<std::uint32_t> pixels_;  ///< ordered numbers, or counts
  std::vector<Column> bands_;
};

/// A pixel's share of a block.
struct Pixels::Part {
  ShownElements shown;
};

/// Columns [lo, hi) of a block's rows.
struct Pixels::Line {
  std::int64_t lo = 0, hi = 0, stride = 1;
};

/// In four lanes: a chain of minima would wait for each one.
template <class T>
void Pixels::add_line(const T* data, std::int64_t stride, std::int64_t count, Part& part) {
  constexpr std::int64_t kLanes = 4;
  T least[kLanes], most[kLanes];
  std::fill_n(least, kLanes, std::numeric_limits<T>::max());
  std::fill_n(most, kLanes, std::numeric_limits<T>::lowest());
  std::int64_t nonzero = 0, bad = 0;
  const auto add = [&](T x, std::int64_t lane) {
    nonzero += x != T(0);
    if constexpr (std::is_floating_point_v<T>) {
      if (!(std::fabs(x) <= std::numeric_limits<T>::max())) {
        ++bad;
        part.shown.nan += std::isnan(x);
        return;
      }
    }
    if (x < least[lane]) least[lane] = x;
    if (x > most[lane]) most[lane] = x;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add(data[(i + lane) * stride], lane);
  }
  for (; i < count; ++i) add(data[i * stride], 0);
  const T low = *std::min_element(least, least + kLanes), high = *std::max_element(most, most + kLanes);
  if (bad < count) part.shown.add({static_cast<double>(low) + 0.0, static_cast<double>(high) + 0.0, 0, 0, 0});
  part.shown.nonzero += nonzero;
  part.shown.infinite = part.shown.infinite + bad;  // with nan until merge
}

/// Adds the elements of rows [first, last), which one row of pixels shows, to parts of pixels, from that of `line.lo`.
template <class T>
void Pixels::add_rows(const T* data, std::int64_t first, std::int64_t last, std::int64_t row_stride, const Line& line,
                      std::span<Part> parts) const {
  const std::int64_t begin = pixel_of(line.lo, width_, columns_);
  for (std::int64_t i = first; i < last; ++i) {
    const T* const row = data + (i - first) * row_stride;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto pixel = begin + static_cast<std::int64_t>(p);
      const std::int64_t from = std::max(line.lo, first_of(pixel, width_, columns_));
      const std::int64_t to = std::min(line.hi, first_of(pixel + 1, width_, columns_));
      add_line(row + (from - line.lo) * line.stride, line.stride, to - from, parts[p]);
    }
  }
}

template <class T>
void Pixels::add_columns(const T* data, const Line& line) {
  const std::int64_t begin = pixel_of(line.lo, width_, columns_), end = pixel_of(line.hi - 1, width_, columns_) + 1;
  std::vector<Column> columns(static_cast<std::size_t>(end - begin));
  ShownElements all;
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    Column& column = columns[static_cast<std::size_t>(pixel - begin)];
    const std::int64_t from = std::max(line.lo, first_of(pixel, width_, columns_));
    const std::int64_t to = std::min(line.hi, first_of(pixel + 1, width_, columns_));
    Part part;
    add_line(data + (from - line.lo) * line.stride, line.stride, to - from, part);
    column.bad = part.shown.infinite;
    part.shown.infinite -= part.shown.nan;
    column.least = part.shown.least;
    column.most = part.shown.most;
    all.add(part.shown);
    for (std::int64_t j = from; j < to; ++j) {
      const auto x = static_cast<double>(data[(j - line.lo) * line.stride]);
      if (std::isfinite(x)) column.sum.add(x);
    }
  }
  const std::scoped_lock lock(mutex_);
  shown_.add(all);
  for (std::int64_t pixel = begin; pixel < end; ++pixel)
    bands_[static_cast<std::size_t>(pixel)].add(columns[static_cast<std::size_t>(pixel - begin)]);
}

template <Element T>
void Pixels::add_box(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, const T* data,
                     std::span<const std::int64_t> strides) {
  for (std::size_t d = 0; d < lo.size(); ++d) {
    if (lo[d] >= hi[d]) return;
    if (!source_.slice.at[d]) continue;
    const std::int64_t at = *source_.slice.at[d];
    if (at < lo[d] || at >= hi[d]) return;
    data += (at - lo[d]) * strides[d];
  }
  const std::size_t last = dimensions_.back();
  const Line line{lo[last], hi[last], strides[last]};
  if (band_) return add_columns(data, line);
  const bool matrix = dimensions_.size() == 2;
  const std::int64_t top = matrix ? lo[dimensions_[0]] : 0, bottom = matrix ? hi[dimensions_[0]] : 1;
  const std::int64_t row_stride = matrix ? strides[dimensions_[0]] : 0;
  const std::int64_t begin = pixel_of(line.lo, width_, columns_), end = pixel_of(line.hi - 1, width_, columns_) + 1;
  std::vector<Part> parts;
  for (std::int64_t row = top; row < bottom;) {
    const std::int64_t pixel_row = pixel_of(row, height_, rows_);
    const std::int64_t next = std::min(bottom, first_of(pixel_row + 1, height_, rows_));
    parts.assign(static_cast<std::size_t>(end - begin), Part{});
    add_rows(data + (row - top) * row_stride, row, next, row_stride, line, parts);
    merge(pixel_row, begin, parts);
    row = next;
  }
}

}  // namespace tdsl::rt
