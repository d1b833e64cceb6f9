#include <algorithm>

#include "codegen/lower/compute_lowering.h"
#include "ir/analysis/reduce_labels.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

// Note [Scatters]
// A left side whose subscripts cannot be solved for the labels (`H[bin[i]]`, `R[i + j]`) is lowered to a reduction: the
// dimensions such a subscript stands in may be written anywhere (plan::kAnyLabel), and labels that stand in no other
// subscript are reduced. Every task runs over its points, computes where each goes, and keeps those of its own tile.
// The planner may cut the points, whose partial results are combined in order, or the result, or both. The base value,
// and that `=` writes an element once, are handled by passes/legalise/scatters.cpp.

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
  TDSL_CHECK(compute_.combine && !compute_.monoid, "what is scattered is combined");
  static_cast<void>(ir::reduce_labels(compute_, placed));
}

}  // namespace tdsl::codegen
