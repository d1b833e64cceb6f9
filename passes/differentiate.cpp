#include "passes/differentiate.h"

#include <vector>

#include "ir/differentiate/differentiate.h"

namespace tdsl::passes {

ir::Program differentiate(const ir::Program& program, PassContext& context) {
  std::vector<ir::NotDifferentiable> problems;
  ir::Program result = ir::differentiate(program, problems);
  for (const ir::NotDifferentiable& p : problems)
    context.not_supported(p.range, p.message + " yet", p.gradient, "for this grad");
  return result;
}

}  // namespace tdsl::passes
