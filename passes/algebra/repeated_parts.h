#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Parts of an expression that take long to compute and are the same for many points, because they lack some of the
/// index variables, are computed ahead, once a value.
///
///     %4 = compute [b in 0..bins] sum[i in 0..n] (f64(lt(%1[i], div(f64(b), f64(bins)))))
/// becomes
///     %5 = compute [b in 0..bins] (div(f64(b), f64(bins)))
///     %4 = compute [b in 0..bins] sum[i in 0..n] (f64(lt(%1[i], %5[b])))
///
/// A part that the innermost loop leaves alone stays: compilers move it out of the loop. Precondition and
/// postcondition: verified.
[[nodiscard]] ir::Program repeated_parts(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
