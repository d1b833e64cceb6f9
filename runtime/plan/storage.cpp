#include "runtime/plan/storage.h"

#include <algorithm>

#include "runtime/plan/op.h"

namespace tdsl::plan {

namespace {

constexpr double kHeadBytes = 128;
constexpr double kAlignment = 64;  ///< of every array in a block
constexpr double kPositionBytes = 8;
constexpr double kCoordinateBytes = 4;
/// From this share of its elements on a block is stored densely.
constexpr double kDenseShare = 0.4;

}  // namespace

BlockFormula::BlockFormula(const Storage& storage, Index element_bytes, const std::vector<Index>& extents) {
  const auto element = static_cast<double>(storage.values ? element_bytes : 0);
  const auto dense_element = static_cast<double>(storage.values ? element_bytes : 1);
  fixed_ = kHeadBytes + kAlignment * static_cast<double>(2 * storage.levels.size() + 1);
  // Entries of the level before: so many whatever is stored, and so many for every stored element.
  double certain = 1, per_element = 0;
  for (std::size_t l = 0; l < storage.levels.size(); ++l) {
    const std::size_t d = l < storage.order.size() ? static_cast<std::size_t>(storage.order[l]) : l;
    const double extent = d < extents.size() ? static_cast<double>(extents[d]) : 1;
    if (storage.levels[l] == Level::kDense) {
      certain *= extent;
      per_element *= extent;
      listed_ += kCoordinateBytes * certain;
      continue;
    }
    if (l > 0) fixed_ += kPositionBytes * (certain + 1);
    if (l > 0) each_ += kPositionBytes * per_element;
    each_ += kCoordinateBytes;
    certain = 0;
    per_element = 1;
  }
  fixed_ += element * certain;
  each_ += element * per_element;
  most_each_ = std::max(each_, dense_element / kDenseShare);
  least_each_ = storage.values ? element : 1;
}

Estimate BlockFormula::bytes(const Estimate& blocks, const Estimate& stored) const {
  const double present = std::min(blocks.expected, stored.expected);
  const double most = blocks.hi * (fixed_ + listed_) + most_each_ * stored.hi;
  return {least_each_ * stored.lo, std::min(present * fixed_ + each_ * stored.expected, most), most};
}

Index TensorDesc::bytes() const {
  if (!sized()) return product(elements(), element.bytes);
  const auto all = Estimate::exactly(static_cast<double>(elements()));
  return block_bytes(Estimate::exactly(1), all, shape).expected_bytes();
}

Estimate TensorDesc::block_bytes(const Estimate& blocks, const Estimate& inside, const std::vector<Index>& extents, double times) const {
  const auto width = static_cast<double>(element.bytes);
  if (!sized()) return {inside.lo * width, inside.expected * width, inside.hi * width};
  double all = 1;
  for (const Index extent : shape) all *= static_cast<double>(extent);
  if (all == 0) return {};
  // What lies elsewhere may hold nothing, or be all there is.
  const double least = times > 1 ? 0 : std::max(0.0, stored.lo - std::max(0.0, all - inside.lo));
  const double most = std::min(stored.hi * times, inside.hi);
  const Estimate share{least, std::min(stored.expected * (inside.expected / all), most), most};
  return BlockFormula(storage, element.bytes, extents).bytes(blocks, share);
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
  return block_bytes(Estimate::exactly(1), Estimate::exactly(elements), extents);
}

}  // namespace tdsl::plan
