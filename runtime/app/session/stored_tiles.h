#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/app/session/tile_entries.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/philox.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/space/index.h"
#include "runtime/sparse/coded_visits.h"

// Converts inputs to compressed blocks tile by tile; no buffer is as large as the tensor.

namespace tdsl::rt {

/// The first subscripts of a box and those behind it, as files take them.
class Corners {
 public:
  explicit Corners(const plan::Box& box) : rank_(plan::idx(box.rank)) {
    for (std::size_t d = 0; d < rank_; ++d) {
      lo_[d] = box.dim[d].lo;
      hi_[d] = box.dim[d].hi;
    }
  }
  [[nodiscard]] ExtentSpan lo() const { return std::span(lo_).first(rank_); }
  [[nodiscard]] ExtentSpan hi() const { return std::span(hi_).first(rank_); }

 private:
  std::size_t rank_;
  std::array<plan::Index, plan::kMaxRank> lo_{}, hi_{};
};

/// Splits a box into row-major panels of about 1 MiB: dense files are read and written by panels, without a dense copy
/// of a tile. Rows of the last dimension are never split, so a panel has at least one row.
///
///     for (Panels panels(box, sizeof(T), 0); panels.next();)
///       reader.read_box<T>(panels.lo(), panels.hi(), memory, panels.strides());
class Panels {
  using Index = plan::Index;

 public:
  /// Dimensions after `deepest` are never split.
  Panels(const plan::Box& box, Index element_bytes, int deepest) : box_(box) {
    constexpr Index kBytes = Index{1} << 20;
    Index behind = 1;  // elements per index of dimension d
    for (int d = box.rank - 1; d >= 0; --d) {
      lo_[plan::idx(d)] = box[d].lo;
      hi_[plan::idx(d)] = box[d].hi;
      strides_[plan::idx(d)] = behind;
      const bool may_be_cut = d <= std::max(0, std::min(deepest, box.rank - 2));
      if (may_be_cut && (cut_ < 0 || plan::product(behind, element_bytes) <= kBytes)) {
        cut_ = d;
        height_ = std::clamp<Index>(kBytes / std::max<Index>(1, plan::product(behind, element_bytes)), 1,
                                    std::max<Index>(1, box[d].size()));
        elements_ = height_ * behind;
      }
      behind = plan::product(behind, box[d].size());
    }
    if (box.empty()) cut_ = -1;
    for (int d = 0; d < cut_; ++d) hi_[plan::idx(d)] = lo_[plan::idx(d)] + 1;
  }

  /// Advances to the next panel, at first to the first one; false at the end.
  [[nodiscard]] bool next() {
    if (cut_ < 0) return false;
    const auto c = plan::idx(cut_);
    lo_[c] = begun_ ? hi_[c] : box_[cut_].lo;
    begun_ = true;
    for (int d = cut_; lo_[plan::idx(d)] >= box_[d].hi; --d) {
      if (d == 0) return false;
      lo_[plan::idx(d)] = box_[d].lo;
      if (d < cut_) hi_[plan::idx(d)] = box_[d].lo + 1;
      hi_[plan::idx(d - 1)] = ++lo_[plan::idx(d - 1)] + 1;
    }
    hi_[c] = std::min(lo_[c] + height_, box_[cut_].hi);
    return true;
  }

  [[nodiscard]] std::span<const Index> lo() const { return of_rank(lo_); }
  [[nodiscard]] std::span<const Index> hi() const { return of_rank(hi_); }
  [[nodiscard]] std::span<const Index> strides() const { return of_rank(strides_); }
  /// Number of elements of the largest panel.
  [[nodiscard]] Index elements() const { return elements_; }

 private:
  using List = std::array<Index, plan::kMaxRank>;
  [[nodiscard]] std::span<const Index> of_rank(const List& list) const {
    return std::span<const Index>(list).first(plan::idx(box_.rank));
  }

  plan::Box box_;
  List lo_{}, hi_{}, strides_{};
  int cut_ = -1;  ///< the split dimension; each panel has one index in the dimensions before it
  Index height_ = 1;
  Index elements_ = 0;
  bool begun_ = false;
};

/// Sorts the tile's entries by subscripts, adds duplicates in file order, and drops zeros. `coded`: columns may be
/// coded, for these visits.
[[nodiscard]] Kernel stored_tile_kernel(std::shared_ptr<const TileEntries> entries,
                                        std::optional<sparse::CodedVisits> coded);

/// Reads the tile of a dense file in panels of rows. The reader must outlive the kernel.
[[nodiscard]] Kernel stored_panels_kernel(const TensorReader& reader, ElementType type,
                                          std::optional<sparse::CodedVisits> coded);

// Tiles of `sprandom`: a task draws the chunks that overlap its rows (runtime/kernels/sparse_random.h).

/// A dense tile, zeros included: any box of the matrix.
[[nodiscard]] Kernel dense_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

/// A tile as a compressed block of whole rows.
[[nodiscard]] Kernel stored_draw_kernel(RandomStream stream, double density, std::vector<Index> shape);

}  // namespace tdsl::rt
