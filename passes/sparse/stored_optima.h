#pragma once

#include <map>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// The results of argmin and argmax over the rows or columns of a matrix with sparse dimensions, with the matrix.
using StoredOptima = std::map<ir::ValueId, ir::ValueId>;
[[nodiscard]] StoredOptima stored_optima(const ir::Program& program);

/// Finds these optima among stored elements and the first absent one:
///
///     %2 = compute [i in 0..%0] argmax[j in 0..%0] (%1[i, j])
/// becomes
///     %3 = compute [i in 0..%0] max[j in 0..%0] (%1[i, j])
///     %4 = compute [i in 0..%0] min[j in 0..%0] (j) where and(ne(%1[i, j], 0.0), eq(%1[i, j], %3[i]))
///     %5:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (select(lt(add(j, 1), %0), %1[i, add(j, 1)], 0.0))
///     %6 = compute [i in 0..%0] min[j in 0..%0] (add(j, 1)) where and(ne(%1[i, j], 0.0), eq(%5[i, j], 0.0))
///     %7 = compute [i in 0..%0] any[j in 0..%0] (ne(%1[i, j], 0.0)) where eq(0, j)
///     %2 = compute [i in 0..%0] (select(eq(%3[i], 0.0), select(%7[i], %6[i], 0), select(eq(%4[i], LAST), -1, %4[i])))
///
/// where %4 also accepts nan for nan, and LAST is the largest integer. An optimum of 0 is at the first element that is
/// 0: the end of the run of stored ones with which the row begins. The background of %3 is split next (background.cpp).
[[nodiscard]] ir::Program with_stored_optima(const ir::Program& program, PassContext& context,
                                             const StoredOptima& optima);

}  // namespace tdsl::passes
