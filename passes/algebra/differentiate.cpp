// Replaces derivatives by the nodes that compute them, in reverse mode (ir/differentiate):
//
//     %3:f64 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
//     %4:f64[%0] = gradient %3 (%1)
// becomes
//     %4:f64[%0] = compute [i in 0..%0] (%2[i])
//
// Postcondition: no Gradient, or context.failed() if part of a loss has no derivative.

#include "passes/passes.h"

#include <vector>

#include "ir/analysis/support.h"
#include "ir/differentiate/differentiate.h"

namespace tdsl::passes {

ir::Program differentiate(const ir::Program& program, PassContext& context) {
  std::vector<ir::NotDifferentiable> problems;
  ir::Program result = ir::differentiate(program, problems);
  // As the frontend does: from the expression.
  ir::infer_storage(result, program.values.size());
  for (const ir::NotDifferentiable& p : problems)
    context.not_supported(p.range, p.message + " yet", p.gradient, "for this grad");
  return result;
}

}  // namespace tdsl::passes
