#pragma once

#include <memory>
#include <vector>

#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// One step of a combination. Bools combine by kAny and kAll.
template <plan::Combine kCombine, class T>
[[nodiscard]] constexpr T combined(T a, T b) {
  using plan::Combine;
  if constexpr (kCombine == Combine::kAny) return a || b;
  if constexpr (kCombine == Combine::kAll) return a && b;
  if constexpr (kCombine == Combine::kSum) return scalar::add(a, b);
  if constexpr (kCombine == Combine::kProd) return scalar::multiply(a, b);
  if constexpr (kCombine == Combine::kMin) return scalar::min(a, b);
  if constexpr (kCombine == Combine::kMax) return scalar::max(a, b);
}

/// The kernel that combines partial results: reads[0] is P[c…, out…], and out gets P[0] op P[1] op … in the order of
/// the reduce labels c, independent of the arrival order of the parts. Sums of bools are not needed: partial sums are
/// integers. `pieces`: plan::Op::pieces of the operation that computed the parts.
[[nodiscard]] Kernel combine_kernel(std::shared_ptr<const plan::Op> op, plan::Combine combine, ElementType type,
                                    const std::vector<plan::PackedPiece>& pieces = {});

}  // namespace tdsl::rt
