#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"

namespace tdsl::ir {

/// `A[p[i], j]`: a read of a tensor that is not known to be small at subscripts that are data.
struct Lookup {
  enum class Place : std::uint8_t { kBody, kGuard, kLeft };
  Expr read;
  std::vector<bool> data;  ///< per dimension: subscripted by data
  Place place = Place::kBody;
  bool conditional = false;  ///< stands behind a condition of its own expression
  bool inner = false;        ///< stands in a subscript of another one
};

/// Of tensors by their types; scalars are none.
using TypeOf = std::function<const Type&(ValueId)>;

/// All of a Compute, those of its reduction over scattered elements included.
[[nodiscard]] std::vector<Lookup> lookups_of(const Compute& c, const TypeOf& type, const Hoist& hoist);

/// The lookup that becomes part of the operation itself, a reduction over the panels of what it reads; null if none
/// can.
[[nodiscard]] const Lookup* lookup_in_panels(const Compute& c, const std::vector<Lookup>& list);

/// Any operator under which a single element with the identity is that element.
[[nodiscard]] Monoid found_once(Scalar s);

}  // namespace tdsl::ir
