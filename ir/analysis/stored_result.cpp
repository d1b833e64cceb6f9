#include "ir/analysis/stored_result.h"

#include <algorithm>

#include "ir/analysis/periodic.h"
#include "ir/analysis/rearrangement.h"
#include "ir/analysis/stored_walk.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

namespace {

/// True if the read is a lookup, which becomes a gather (passes/legalise/gathers.cpp).
bool looks_up(const Compute& c, const Read& r) {
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (is_data_subscript(r, d, read_scalar) && !periodic_of(r.subscripts[d], c.out, read_scalar)) return true;
  }
  return false;
}

/// True if points are computed one by one in order, from dense operands without lookups.
bool computes_points(const Program& program, const Compute& c) {
  const bool from_zero = std::ranges::all_of(c.out, [](const Label& l) { return l.begin == Extent(0); });
  if (c.bodies.size() != 1 || c.out.size() != 2 || !from_zero || !c.reduce.empty() || c.monoid || !c.left.empty() ||
      c.base || c.combine || (c.fill && !is_zero(c.fill)))
    return false;
  bool dense = true;
  for (const Expr& e : {c.bodies[0], c.guard}) {
    if (!e) continue;
    for_each_read(e,
                  [&](const Read& r) { dense = dense && !program.type(r.tensor).is_compressed() && !looks_up(c, r); });
  }
  return dense;
}

}  // namespace

StoredBy storage_of(const Program& program, const Node& node) {
  const auto* c = std::get_if<Compute>(&node.op);
  if (c == nullptr || !program.type(node.results[0]).is_compressed()) return StoredBy::kNone;
  const auto walk = stored_walk(program, *c);
  if (walk && walk->result != StoredWalk::Result::kDense) return StoredBy::kWalk;
  const auto parts = rearrangement(program, *c);
  if (parts &&
      std::ranges::all_of(*parts, [&](const Rearranged& part) { return program.type(part.tensor).is_compressed(); }))
    return StoredBy::kRearrangement;
  return computes_points(program, *c) ? StoredBy::kPoints : StoredBy::kNone;
}

}  // namespace tdsl::ir
