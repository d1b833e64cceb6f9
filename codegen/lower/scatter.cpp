#include <algorithm>

#include "codegen/lower/compute_lowering.h"
#include "ir/analysis/reduce_labels.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

// Note [Scatters]
// Store subscripts that cannot be inverted (`H[bin[i]]`, `R[i + j]`) are lowered to a reduction: their dimensions may
// be written anywhere (plan::kAnyLabel), and labels that occur in no other subscript are reduced. Every task iterates
// over its points, computes their targets, and keeps the points whose target is in its tile. The planner may cut the
// points, whose partial results are combined in order, or the result, or both. The pass `scatters`
// (passes/legalise/scatters.cpp) handles the base, and the rule that `=` writes an element once.

void ComputeLowering::reduce_scattered() {
  if (compute_.left.empty()) return;
  std::vector<bool> placed(compute_.out.size(), false);
  bool solvable = true;
  for (const Expr& e : compute_.left) {
    const auto form = plain_subscript(e);
    solvable = solvable && form;
    if (form && !form->terms.empty() && static_cast<std::size_t>(form->terms[0].label) < placed.size()) {
      placed[static_cast<std::size_t>(form->terms[0].label)] = true;
    }
  }
  if (solvable && std::ranges::find(placed, false) == placed.end()) return;
  TDSL_CHECK(compute_.combine && !compute_.monoid, "scattered values are combined");
  static_cast<void>(ir::reduce_labels(compute_, placed));
}

}  // namespace tdsl::codegen
