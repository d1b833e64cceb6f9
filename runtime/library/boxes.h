#pragma once

#include <span>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Disjoint boxes that make up what of `box` lies in none of `holes`.
[[nodiscard]] std::vector<plan::Box> outside(const plan::Box& box, std::span<const plan::Box> holes);

/// A box in parts of at most `most` elements, cut along its first dimensions.
[[nodiscard]] std::vector<plan::Box> cut(const plan::Box& box, plan::Index most);

/// All elements of a tensor.
[[nodiscard]] plan::Box whole_box(std::span<const plan::Index> shape);

/// The rows of the tensor that are rank's where they are shared out evenly.
[[nodiscard]] plan::Box share_of_rows(std::span<const plan::Index> shape, int rank, int ranks);

/// Unites boxes that lie side by side, dimension by dimension from the last one.
[[nodiscard]] std::vector<plan::Box> united(std::vector<plan::Box> boxes);

}  // namespace tdsl::rt
