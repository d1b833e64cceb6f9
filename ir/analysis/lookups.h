#pragma once

#include <functional>
#include <vector>

#include "ir/graph/affine.h"

namespace tdsl::ir {

/// `A[p[i], j]`: a read with data-dependent subscripts of a tensor not known to be small.
struct Lookup {
  enum class Place : std::uint8_t { kBody, kGuard, kLeft };
  Expr read;
  std::vector<bool> data;  ///< per dimension: true if the subscript is data-dependent
  Place place = Place::kBody;
  bool conditional = false;  ///< guarded by a condition within its expression
  bool inner = false;        ///< occurs in a subscript of another lookup
};

/// Types of tensors; not called for scalars.
using TypeOf = std::function<const Type&(ValueId)>;

/// All lookups of a Compute, including those in its reduction over scattered elements.
[[nodiscard]] std::vector<Lookup> lookups_of(const Compute& c, const TypeOf& type, const Hoist& hoist);

/// The lookup that the operation itself performs, as a reduction over panels of the looked-up tensor; null if none can.
[[nodiscard]] const Lookup* lookup_in_panels(const Compute& c, const std::vector<Lookup>& list);

/// Some operator that combines a single element with its identity to that element.
[[nodiscard]] Monoid found_once(Scalar s);

}  // namespace tdsl::ir
