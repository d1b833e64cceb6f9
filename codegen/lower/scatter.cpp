#include <algorithm>

#include "codegen/lower/compute_lowering.h"
#include "ir/analysis/lookups.h"
#include "ir/analysis/reduce_labels.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

// Note [Scatters]
// Store subscripts that cannot be inverted (`H[bin[i]]`, `R[i + j]`) are lowered to a reduction: their dimensions may
// be written anywhere (plan::kAnyLabel), and labels that occur in no other subscript are reduced. Every task iterates
// over its points, computes their targets, and keeps the points whose target is in its tile. The planner may cut the
// points, whose partial results are combined in order, or the result, or both. The pass `scatters`
// (passes/legalise/scatters.cpp) handles the base, and the rule that `=` writes an element once.
//
// A compressed result is assembled (Note [Assemblies] in runtime/plan): positions in a row are always computed, and
// rows if they cannot be inverted. Its kernel sees the entries of an element, so it also handles `=`.

std::optional<AffineForm> ComputeLowering::inverted(std::size_t dimension) {
  if (assembled() && (dimension > 0 || compute_.guard)) return std::nullopt;
  return plain_subscript(compute_.left[dimension]);
}

void ComputeLowering::reduce_scattered() {
  if (compute_.left.empty()) return;
  std::vector<bool> placed(compute_.out.size(), false);
  bool solvable = true;
  for (std::size_t d = 0; d < compute_.left.size(); ++d) {
    const auto form = inverted(d);
    solvable = solvable && form;
    if (form && !form->terms.empty() && static_cast<std::size_t>(form->terms[0].label) < placed.size()) {
      placed[static_cast<std::size_t>(form->terms[0].label)] = true;
    }
  }
  const bool reduces = std::ranges::find(placed, false) != placed.end();
  if (!reduces && (solvable || assembled())) return;
  once_ = assembled() && !compute_.combine;
  if (once_) compute_.combine = ir::found_once(type_.scalar);  // stands for any operator
  TDSL_CHECK(compute_.combine && !compute_.monoid, "scattered values are combined");
  static_cast<void>(ir::reduce_labels(compute_, placed));
}

}  // namespace tdsl::codegen
