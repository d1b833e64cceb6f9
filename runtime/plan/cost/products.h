#pragma once

#include <cstddef>

// The core of all counts, at layout precision (shares.h: one box per rank) and at tile precision (rank_view.h: lists of
// intervals). A set of elements is a product over dimensions; the need for a tensor with two accesses is the union of
// theirs.

namespace tdsl::plan::counting {

/// The volume of a product of `dims` dimensions with extent `along(d)` each; 1 for a point.
template <class F>
[[nodiscard]] double volume_over(std::size_t dims, F&& along) {
  double volume = 1;
  for (std::size_t d = 0; d < dims; ++d) volume *= static_cast<double>(along(d));
  return volume;
}

/// The volume of a union of sets: `alone(k)` is the volume of set k, `both()` that of the intersection of two. The
/// volumes of more than two sets are added.
template <class F, class G>
[[nodiscard]] double volume_of_union(std::size_t sets, F&& alone, G&& both) {
  double volume = 0;
  for (std::size_t k = 0; k < sets; ++k) volume += alone(k);
  return sets == 2 ? volume - both() : volume;
}

}  // namespace tdsl::plan::counting
