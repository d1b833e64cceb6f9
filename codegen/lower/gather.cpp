#include <fmt/format.h>

#include "codegen/lower/compute_lowering.h"
#include "ir/analysis/lookups.h"

// Note [Gathers]
// `A[p[i], j]` reads A at data-dependent subscripts. An operation can contain one such read: the dimension becomes an
// additional reduce label that runs over A's tiles (plan::LabelRole::kGather), and a task computes the points whose
// subscript is in its tile. So a task visits A panel by panel, or every rank searches its own part of A and partial
// results are combined: no rank ever holds all of A. Each element is found exactly once, so any operator that returns a
// single element unchanged can combine the partial results. Other such reads have been replaced by gathered tensors
// (passes/legalise/gathers.cpp), or their operand is fetched whole, with a warning.

namespace tdsl::codegen {

void ComputeLowering::inline_lookup(RecordedOp& op, ComputeKernel& kernel) {
  const ir::TypeOf type = [this](ValueId v) -> const ir::Type& { return builder_.type(v); };
  const std::vector<ir::Lookup> list =
      ir::lookups_of(compute_, type, [this](const Expr& x) { return builder_.hoist(x); });
  const ir::Lookup* found = ir::lookup_in_panels(compute_, list);
  if (found == nullptr) return;
  const ir::Lookup& lookup = *found;
  const auto& r = std::get<ir::Read>(lookup.read->op);
  std::vector<int> labels(r.subscripts.size(), -1);
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (!lookup.data[d]) continue;
    labels[d] = static_cast<int>(op.labels.size());
    op.add_reduce({fmt::format("at{}", d), {0, builder_.rewritten(builder_.type(r.tensor).shape[d], range_)}, true});
  }
  kernel.gathers[lookup.read.id()] = std::move(labels);
  if (!compute_.monoid) compute_.monoid = ir::found_once(type_.scalar);
}

}  // namespace tdsl::codegen
