#pragma once

#include <span>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

using plan::Index;

/// Positions in memory, in elements, along one dimension of a matrix: at equal steps, or at any offsets, such as those
/// of rows in several tiles. Refers to the offsets.
class Axis {
 public:
  /// Consecutive positions at equal steps.
  struct Run {
    Index length = 0;
    Index step = 1;
  };

  explicit Axis(Index step) : step_(step) {}
  explicit Axis(std::span<const Index> offsets) : offsets_(offsets.data()) {}

  [[nodiscard]] bool is_regular() const { return offsets_ == nullptr; }
  [[nodiscard]] Index operator[](Index i) const { return is_regular() ? begin_ + i * step_ : offsets_[i]; }
  /// The axis without its first positions.
  [[nodiscard]] Axis from(Index first) const {
    Axis rest = *this;
    if (is_regular()) {
      rest.begin_ += first * step_;
    } else {
      rest.offsets_ += first;
    }
    return rest;
  }
  /// The longest run of the first `limit` positions, which exist.
  [[nodiscard]] Run run(Index limit) const {
    if (is_regular()) return {limit, step_};
    if (limit < 2) return {limit, 1};
    const Index step = offsets_[1] - offsets_[0];
    Index length = 2;
    while (length < limit && offsets_[length] - offsets_[length - 1] == step) ++length;
    return {length, step};
  }

 private:
  const Index* offsets_ = nullptr;  ///< null: regular
  Index begin_ = 0;
  Index step_ = 1;
};

}  // namespace tdsl::rt
