#pragma once

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"

namespace tdsl::ir {

/// Adds to the adjoints of a routine's operands, given those of its results. With d for an adjoint:
///
///     cumsum            running sums from the end
///     sort, topk        each element's derivative goes where it came from
///     x = solve(A, b)   db = solve(A', dx), dA = -db x'
///     Y = inv(A)        dA = -Y' dY Y'
///     d = det(A)        dA = dd d inv(A)'
///     L = cholesky(A)   S = inv(L)' P inv(L), P the lower triangle of L' dL with half its diagonal;
///                       dA = the lower triangle of S + S' with half its diagonal (only that is read)
///
/// and those of ir/differentiate/factorise.h. Source of the last: Murray, Differentiation of the Cholesky
/// decomposition, 2016, section 3. lu throws NotDifferentiable.
void add_adjoints(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                  Adjoints& adjoints);

}  // namespace tdsl::ir
