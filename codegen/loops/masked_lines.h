#pragma once

#include <optional>

#include "codegen/nest/nest.h"
#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// A reduction of the elements of a line for which a mask holds (runtime/kernels/lines/masked.h):
///
///     s[b] = sum[k where lo[b] <= r[k] && r[k] < hi[b]](d[k])      mask lo[b] <= r[k] && r[k] < hi[b], value d[k]
///
/// Expressions are those of the Compute.
struct MaskedLine {
  Expr mask;   ///< computed for all elements: it cannot stop the run, and all of its reads are in bounds
  Expr value;  ///< null: 1
  nest::LineReduction::Mask masks = nest::LineReduction::Mask::kAll;
};

/// The kernel's reduction along the label as such a line, if a mask reads elements along the label in the order of
/// memory. `guard`: the part of the Compute's guard to be observed; may be null, then the value of a count or of a
/// select with several conditions is the mask.
[[nodiscard]] std::optional<MaskedLine> masked_line(const ComputeKernel& kernel, int label, const Expr& guard);

}  // namespace tdsl::codegen
