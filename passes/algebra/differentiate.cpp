// Replaces Gradient nodes by the nodes that compute the derivatives, in reverse mode:
//
//     %3:f64 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
//     %4:f64[%0] = gradient %3 (%1)
// becomes
//     %4:f64[%0] = compute [i in 0..%0] (%2[i])
//
// Postcondition: no Gradient, or context.failed() because an operation between a variable and its loss has no
// derivative. Implemented in ir/differentiate.

#include "passes/passes.h"

#include <vector>

#include "ir/analysis/support.h"
#include "ir/differentiate/differentiate.h"

namespace tdsl::passes {

ir::Program differentiate(const ir::Program& program, PassContext& context) {
  std::vector<ir::NotDifferentiable> problems;
  ir::Program result = ir::differentiate(program, problems);
  // Infers storage from the expression, as the frontend does.
  ir::infer_storage(result, program.values.size());
  for (const ir::NotDifferentiable& p : problems)
    context.not_supported(p.range, p.message + " yet", p.gradient, "for this grad");
  return result;
}

}  // namespace tdsl::passes
