#include "passes/algebra/differentiate.h"

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
