#pragma once

#include <span>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Disjoint boxes that cover `box` minus all `holes`.
[[nodiscard]] std::vector<plan::Box> outside(const plan::Box& box, std::span<const plan::Box> holes);

/// Splits a box along its leading dimensions into parts of at most `most` elements.
[[nodiscard]] std::vector<plan::Box> cut(const plan::Box& box, plan::Index most);

/// All elements of a tensor.
[[nodiscard]] plan::Box whole_box(std::span<const plan::Index> shape);

/// A rank's rows when the tensor is divided evenly by rows.
[[nodiscard]] plan::Box share_of_rows(std::span<const plan::Index> shape, int rank, int ranks);

/// Merges adjacent boxes, dimension by dimension, starting with the last.
[[nodiscard]] std::vector<plan::Box> united(std::vector<plan::Box> boxes);

}  // namespace tdsl::rt
