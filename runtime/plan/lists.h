#pragma once

#include <cstddef>
#include <optional>

#include "runtime/plan/op_plan.h"

// Note [Lists] y[i] = sum[j](A[i, j] * x[j]) with a compressed A reads x only at subscripts j that A stores. A rank
// that owns rows of A finds these subscripts once and requests only them, as a list, from the owners of x, where they
// are under half of the owner's block. Which ranks do so depends on data: predictions are intervals from nothing to the
// whole, and every rank requests from the owner itself, since a rank with a list cannot forward the whole in a tree.

namespace tdsl::plan {

/// The source of a dense operand's first subscript: dimension `dim` of the compressed operand `read`, plus `offset`.
struct Walk {
  std::size_t read = 0;
  int dim = 0;
  Index offset = 0;
};
/// Nothing if the first subscript of the access is no label whose values a compressed operand stores.
[[nodiscard]] std::optional<Walk> walk_of(const Op& op, const Access& access, const TensorLookup& tensors);

/// True if ranks may request parts of the operand by lists: it is dense, in memory and cut along its first dimension.
/// Not with nodes: there trees let the whole enter every node once.
[[nodiscard]] bool by_lists(const Op& op, const OpPlan& plan, const TensorLookup& tensors, TensorId operand);

}  // namespace tdsl::plan
