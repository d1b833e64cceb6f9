#include "runtime/plan/storage.h"

#include <cmath>
#include <limits>

#include "runtime/plan/compressed.h"
#include "runtime/plan/op.h"
#include "runtime/plan/row_counts.h"

namespace tdsl::plan {

namespace {

constexpr double kHeadBytes = 128;
constexpr double kAlignment = 64;  ///< of every array in a block
constexpr double kPositionBytes = 8;
constexpr double kCoordinateBytes = 4;
/// A block is stored densely if at least this share of its elements is nonzero.
constexpr double kDenseShare = 0.4;
/// A block compresses its rows if fewer than this share of them are nonempty.
constexpr double kListedShare = 0.9;

}  // namespace

Storage compressed(const std::vector<Index>& shape, const Estimate& stored) {
  Storage storage{std::vector<Level>(shape.size(), Level::kCompressed), {}, true};
  if (shape.size() > 1 && stored.hi >= kListedShare * static_cast<double>(shape.front()))
    storage.levels.front() = Level::kDense;
  return storage;
}

Storage compressed_rows(bool values) { return {{Level::kDense, Level::kCompressed}, {}, values}; }

Storage entry_lists(std::size_t rank) { return {std::vector<Level>(rank, Level::kCompressed), {}, true, true}; }

double entry_bytes(std::size_t rank) { return std::ceil(kCoordinateBytes * static_cast<double>(rank) / 8) * 8 + 8; }

namespace {

double volume_of(const std::vector<Index>& shape) {
  double volume = 1;
  for (const Index extent : shape) volume *= static_cast<double>(extent);
  return volume;
}

}  // namespace

Estimate guessed_stored(const std::vector<Index>& shape) {
  constexpr double kGuessedShare = 0.01;
  const double all = volume_of(shape);
  return {0, std::ceil(kGuessedShare * all), all};
}

Estimate drawn_stored(const std::vector<Index>& shape, double density) {
  constexpr double kDeviations = 10;  // practically impossible to exceed
  const double all = volume_of(shape);
  const double mean = all * std::clamp(density, 0.0, 1.0);
  const double around = kDeviations * std::sqrt(mean * (1 - std::clamp(density, 0.0, 1.0))) +
                        (mean > 0 && density < 1 ? 5 * kDeviations : 0);
  return {std::max(0.0, std::floor(mean - around) - 1), mean, std::min(all, std::ceil(mean + around))};
}

double stored_share(const TensorDesc& tensor) {
  const double all = volume_of(tensor.shape);
  return tensor.sized() && all > 0 ? std::min(1.0, tensor.stored.expected / all) : 1;
}

Tiling RowCounts::cut(Index tiles) const {
  if (tiles <= 1 || bins() <= 0 || rows <= 0 || rows > kMostBlockExtent) return Tiling::near_equal(rows, tiles);
  constexpr double kRow = 1.5;  // 3 ns per row, 2 ns per element
  const Tiling bin = Tiling::near_equal(rows, bins());
  tiles = std::min(tiles, rows);
  const auto work = [&](Index b) {
    return static_cast<double>(before[static_cast<std::size_t>(b)]) +
           kRow * static_cast<double>(b == bins() ? rows : bin.tile(b).lo);
  };
  const double all = work(bins());
  std::vector<Index> ends;
  Index b = 0;
  for (Index t = 1; t < tiles; ++t) {
    const double wanted = all * static_cast<double>(t) / static_cast<double>(tiles);
    while (b < bins() && work(b + 1) <= wanted) ++b;
    // Rows within a bin are assumed equal.
    const Interval here = b < bins() ? bin.tile(b) : Interval{rows, rows};
    const double share = b < bins() ? (wanted - work(b)) / (work(b + 1) - work(b)) : 0;
    const Index end = here.lo + static_cast<Index>(std::round(share * static_cast<double>(here.size())));
    const Index least = ends.empty() ? 1 : ends.back() + 1;
    ends.push_back(std::clamp(end, least, rows - (tiles - t)));
  }
  ends.push_back(rows);
  return Tiling::at(ends);
}

std::uint64_t RowCounts::hash() const {
  std::uint64_t h = 1469598103934665603ULL;
  for (const Index x : before) h = (h ^ static_cast<std::uint64_t>(x)) * 1099511628211ULL;
  return h >> 1;
}

BlockFormula::BlockFormula(const Storage& storage, Index element_bytes, const std::vector<Index>& extents) {
  if (storage.entries) {
    // A list may be longer than its block has elements.
    each_ = least_each_ = entry_bytes(storage.levels.size());
    dense_each_ = each_ * kDenseShare;
    fixed_ = kHeadBytes;
    volume_ = std::numeric_limits<double>::infinity();
    return;
  }
  const auto element = static_cast<double>(storage.values ? element_bytes : 0);
  dense_each_ = static_cast<double>(storage.values ? element_bytes : 1);
  fixed_ = kHeadBytes + kAlignment * static_cast<double>(2 * storage.levels.size() + 1);
  // Entries of the previous level: a constant part, and a part per stored element.
  double certain = 1, per_element = 0;
  for (std::size_t l = 0; l < storage.levels.size(); ++l) {
    const std::size_t d = l < storage.order.size() ? static_cast<std::size_t>(storage.order[l]) : l;
    const double extent = d < extents.size() ? static_cast<double>(extents[d]) : 1;
    volume_ *= extent;
    if (storage.levels[l] == Level::kDense) {
      if (l == 0) rows_ = extent;
      certain *= extent;
      per_element *= extent;
      continue;
    }
    if (l > 0) fixed_ += kPositionBytes;
    if (l > 0) each_ += kPositionBytes * per_element;
    if (rows_ > 0 && per_element == 0) pointers_ = kPositionBytes * certain / rows_;
    each_ += kCoordinateBytes;
    certain = 0;
    per_element = 1;
  }
  fixed_ += element * certain;
  each_ += element * per_element;
  least_each_ = storage.values ? element : 1;
}

/// Upper bound for `rows` rows: all of them if at least 90 % are nonempty, else the nonempty ones.
double BlockFormula::pointers_of(double rows, double stored) const {
  const double listed = pointers_ + kCoordinateBytes;
  return std::min(rows * std::max(pointers_, kListedShare * listed),
                  stored * std::max(pointers_ / kListedShare, listed));
}

/// Upper bound if it is unknown which blocks are stored densely: x elements in dense blocks take dense_each_ / 0.4 * x
/// bytes, and y elements in the others each_ * y + pointers_of(y). The sum is concave in x, so its maximum is at an end
/// or where all rows have pointers.
double BlockFormula::most_inside(double blocks, double stored, bool any_dense) const {
  const double rows = blocks * rows_;
  if (!any_dense) return each_ * stored + pointers_of(rows, stored);
  const double all_rows = pointers_of(rows, std::numeric_limits<double>::infinity());
  const auto with_dense = [&](double x) {
    return dense_each_ / kDenseShare * x + each_ * (stored - x) + pointers_of(rows, stored - x);
  };
  const double each_pointer = pointers_of(std::numeric_limits<double>::infinity(), 1);
  const double some = each_pointer > 0 ? std::clamp(stored - all_rows / each_pointer, 0.0, stored) : stored;
  return std::max({with_dense(0), with_dense(some), with_dense(stored)});
}

double BlockFormula::expected_pointers(double stored) const {
  if (rows_ == 0) return 0;
  const double filled = rows_ * -std::expm1(-stored / rows_);
  return filled < kListedShare * rows_ ? filled * (pointers_ + kCoordinateBytes) : rows_ * pointers_;
}

Estimate BlockFormula::bytes(const Estimate& blocks, const Estimate& stored, bool any_dense) const {
  const double present = std::min(blocks.expected, stored.expected);
  // An empty block has a head or is absent.
  const double most = blocks.hi * fixed_ + most_inside(blocks.hi, stored.hi, any_dense);
  const double expected =
      present == 0 ? 0 : present * (fixed_ + expected_pointers(stored.expected / present)) + each_ * stored.expected;
  return {least_each_ * stored.lo, std::min(expected, most), most};
}

Estimate BlockFormula::one(const Estimate& stored) const {
  const double limit = kDenseShare * volume_;  // above this it is dense
  const auto compressed = [&](double elements) { return each_ * elements + pointers_of(rows_, elements); };
  const double inside = stored.hi < limit ? compressed(stored.hi) : std::max(compressed(limit), dense_each_ * volume_);
  const Estimate any = bytes(Estimate::exactly(1), stored);
  const double most = std::min(any.hi, fixed_ + inside);
  return {any.lo, std::min(any.expected, most), most};
}

Index TensorDesc::bytes() const {
  if (!sized()) return product(elements(), element.bytes);
  const auto all = Estimate::exactly(static_cast<double>(elements()));
  return block_bytes(Estimate::exactly(1), all, shape).expected_bytes();
}

double TensorDesc::mean_bytes() const {
  const double all = volume_of(shape);
  return sized() && all > 0 ? static_cast<double>(bytes()) / all : static_cast<double>(element.bytes);
}

namespace {

/// The stored elements among `elements`; an element may be counted several times.
Estimate stored_inside(const TensorDesc& tensor, const Estimate& elements, double times) {
  const double all = volume_of(tensor.shape);
  if (all == 0) return {};
  const double share = elements.expected / all;
  if (tensor.storage.entries) return {0, tensor.stored.expected * share, tensor.stored.hi * times};
  // The remaining elements may store nothing, or everything.
  const double least = times > 1 ? 0 : std::max(0.0, tensor.stored.lo - std::max(0.0, all - elements.lo));
  const double most = std::min(tensor.stored.hi * times, elements.hi);
  return {least, std::min(tensor.stored.expected * share, most), most};
}

}  // namespace

Estimate TensorDesc::block_bytes(const Estimate& blocks, const Estimate& inside, const std::vector<Index>& extents,
                                 double times, double least) const {
  const auto width = static_cast<double>(element.bytes);
  if (!sized()) return {inside.lo * width, inside.expected * width, inside.hi * width};
  const BlockFormula formula(storage, element.bytes, extents);
  const Estimate stored = stored_inside(*this, inside, times);
  Estimate bytes = formula.bytes(blocks, stored, this->stored.hi >= kDenseShare * least);
  if (blocks.hi == 1 && stored.hi < kDenseShare * inside.lo) {  // a single block, too large to be dense
    bytes.hi = std::min(bytes.hi, formula.one(stored).hi);
    bytes.expected = std::min(bytes.expected, bytes.hi);
  }
  return bytes;
}

Estimate stored_in_rows(const TensorDesc& tensor, Interval rows) {
  const RowCounts& counts = *tensor.rows;
  rows = intersect(rows, {0, counts.rows});
  if (rows.empty()) return {};
  const Tiling bins = Tiling::near_equal(counts.rows, counts.bins());
  Estimate stored;
  const Interval met = bins.tiles_meeting(rows);
  for (Index b = met.lo; b < met.hi; ++b) {
    if (b > met.lo && b + 1 < met.hi) {  // all bins between the ends at once
      const auto between = static_cast<double>(counts.before[static_cast<std::size_t>(met.hi - 1)] -
                                               counts.before[static_cast<std::size_t>(b)]);
      stored += {0, between, between};
      b = met.hi - 2;
      continue;
    }
    const Interval bin = bins.tile(b);
    const auto here = static_cast<double>(counts.before[static_cast<std::size_t>(b + 1)] -
                                          counts.before[static_cast<std::size_t>(b)]);
    stored += {0, here * static_cast<double>(intersect(bin, rows).size()) / static_cast<double>(bin.size()), here};
  }
  double most = static_cast<double>(rows.size());
  for (std::size_t d = 1; d < tensor.shape.size(); ++d) most *= static_cast<double>(tensor.shape[d]);
  most = std::min(tensor.stored.hi, most);
  return {0, std::min(stored.expected, most), std::min(stored.hi, most)};
}

Estimate TensorDesc::block_bytes(const Box& box) const {
  if (!sized()) return Estimate::exactly(static_cast<double>(product(box.volume(), element.bytes)));
  double elements = 1;
  std::vector<Index> extents;
  for (int d = 0; d < box.rank; ++d) {
    extents.push_back(box[d].size());
    elements *= static_cast<double>(box[d].size());
  }
  if (elements == 0) return {};
  bool whole_rows = rows != nullptr;
  for (int d = 1; d < box.rank; ++d) whole_rows = whole_rows && box[d].size() == shape[idx(d)];
  Estimate inside = whole_rows ? stored_in_rows(*this, box[0]) : stored_inside(*this, Estimate::exactly(elements), 1);
  // All entries of a part may be in one tile.
  if (storage.entries) inside.hi *= static_cast<double>(box[0].size()) / static_cast<double>(shape[0]);
  return BlockFormula(storage, element.bytes, extents).one(inside);
}

}  // namespace tdsl::plan
