#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// A box in panels of about 1 MiB, as it lies row-major: how dense files are read and written without a dense copy of a
/// tile. Rows of the last dimension are never cut, so that a panel has at least one.
///
///     for (Panels panels(box, sizeof(T), 0); panels.next();) reader.read_box<T>(panels.lo(), panels.hi(), memory,
///     panels.strides());
class Panels {
  using Index = plan::Index;

 public:
  /// Dimensions behind `deepest` are whole in every panel.
  Panels(const plan::Box& box, Index element_bytes, int deepest) : box_(box) {
    constexpr Index kBytes = Index{1} << 20;
    Index behind = 1;  // elements of the dimensions behind
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

  /// Goes to the first panel, then to the next one; false: there is none.
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
  /// Of the largest panel.
  [[nodiscard]] Index elements() const { return elements_; }

 private:
  using List = std::array<Index, plan::kMaxRank>;
  [[nodiscard]] std::span<const Index> of_rank(const List& list) const {
    return std::span<const Index>(list).first(plan::idx(box_.rank));
  }

  plan::Box box_;
  List lo_{}, hi_{}, strides_{};
  int cut_ = -1;  ///< the dimension along which a panel is a part; those before it have one index in each
  Index height_ = 1;
  Index elements_ = 0;
  bool begun_ = false;
};

}  // namespace tdsl::rt
