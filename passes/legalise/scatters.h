#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "passes/legalise/computes.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Stores whose subscripts cannot be solved for the index variables are scatters: combined into a tensor of their own,
/// which begins as the identity, so that points may be cut into parts. What is there already joins afterwards:
///
///     %4 = compute [i in 0..%0] (%2[i]) left [%1[i]] base %3 combine sum
/// becomes
///     %5 = compute [i in 0..%0] (%2[i]) left [%1[i]] combine sum
///     %4 = compute [i0 in 0..%6] (add(%3[i0], %5[i0]))
///
/// `=` has no operator for elements to meet with: they are counted first, and more than one is an error; then any
/// operator that gives back a single element will do.
///
///     %4 = compute [i in 0..%0] (%2[i]) left [%1[i]] base %3
/// becomes
///     %5 = compute [i in 0..%0] (1) left [%1[i]] combine sum
///     %6 = compute [] all[i0 in 0..%8] (le(%5[i0], 1))
///     assert %6 "an element of 'x' is written twice by '='" implied
///     %7 = compute [i in 0..%0] (%2[i]) left [%1[i]] combine max fill -inf
///     %4 = compute [i0 in 0..%8] (select(gt(%5[i0], 0), %7[i0], %3[i0]))
///
/// Warns of scatters into large tensors. Precondition and postcondition: verified.
[[nodiscard]] ir::Program scatters(const ir::Program& program, PassContext& context);

/// Nothing if every element of the left side can be solved for the index variables: each stands in one subscript, times
/// a number plus a constant. Of a scatter, for each out label whether there is such a subscript; the others are
/// reduced.
[[nodiscard]] std::optional<std::vector<bool>> scattered_labels(Legalised& one);

}  // namespace tdsl::passes
