#include "codegen/loops/loop_order.h"

#include <algorithm>

#include "codegen/loops/masked_lines.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// True if incrementing the label leaves the read in place or advances it to the next element in memory.
bool reads_in_order(const RecordedOp& op, const ComputeKernel& kernel, int label) {
  const ir::SparseIteration* iteration = ir::stored_loops(kernel.compute);
  const auto is_stored = [&](ValueId v) {
    return iteration != nullptr &&
           std::ranges::find(iteration->operands, v, &ir::StoredOperand::tensor) != iteration->operands.end();
  };
  for (const SymbolicAccess& access : op.reads) {
    if (is_stored(access.tensor)) continue;
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      if (access.dims[d].whole) return false;
      const bool last = d + 1 == access.dims.size();
      for (const Term& t : access.dims[d].terms) {
        if (t.label == label && (!last || !(t.coefficient == Extent(1)))) return false;
      }
    }
  }
  return kernel.checked.empty();
}

/// True if lines along the label are faster than rows of the result: with a mask per element of the row, since partial
/// results stay in registers; or found by search.
bool prefers_lines(const ComputeKernel& kernel, int label, int row) {
  using Mask = nest::LineReduction::Mask;
  const std::optional<MaskedLine> line = masked_line(kernel, label, kernel.compute.guard);
  return line && (line->masks == Mask::kFirst || (line->masks == Mask::kAll && ir::mentions_label(line->mask, row)));
}

}  // namespace

int row_label(const RecordedOp& op) {
  std::size_t rank = op.out.size();
  while (rank > 0 && op.is_uncut(rank - 1)) --rank;
  return rank == 0 || op.out[rank - 1].coefficient != 1 ? -1 : op.out[rank - 1].label;
}

std::vector<int> out_labels(const RecordedOp& op) {
  std::vector<int> order;
  for (std::size_t d = 0; d < op.out.size(); ++d) {
    const int label = op.out[d].label;
    if (label >= 0 && !op.is_uncut(d) && std::ranges::find(order, label) == order.end()) order.push_back(label);
  }
  return order;
}

int label_across(const RecordedOp& op, int row) {
  const auto has_label = [](const SymbolicDim& dim, int label) {
    return std::ranges::any_of(dim.terms, [&](const Term& t) { return t.label == label; });
  };
  for (const SymbolicAccess& access : op.reads) {
    if (access.dims.size() < 2) continue;
    const SymbolicDim& last = access.dims.back();
    const bool moves_across = std::any_of(access.dims.begin(), access.dims.end() - 1,
                                          [&](const SymbolicDim& d) { return has_label(d, row); });
    if (!moves_across || last.whole || last.terms.size() != 1 || last.terms.front().label == row) continue;
    const int label = last.terms.front().label;
    if (op.role_of(label) == plan::LabelRole::kOut) return label;
  }
  return -1;
}

LoopOrder loop_order(const RecordedOp& op, const ComputeKernel& kernel, const std::set<int>& in_tiles) {
  LoopOrder result;
  result.in_order = in_tiles;
  result.labels = out_labels(op);
  std::vector<int> reduce;
  for (std::size_t l = 0; l < op.labels.size(); ++l) {
    const auto label = static_cast<int>(l);
    if (op.role_of(label) == plan::LabelRole::kReduce) reduce.push_back(label);
    if (reads_in_order(op, kernel, label)) result.in_order.insert(label);
  }
  if (!kernel.scattered.empty()) {
    // Points are combined in program order.
    result.labels.insert(result.labels.end(), reduce.begin(), reduce.end());
    result.in_order.clear();
    return result;
  }
  const int row = row_label(op);
  if (reduce.empty()) {
    // A label that also indexes other output dimensions (a diagonal) does not run along a row.
    const auto uses = std::ranges::count_if(op.out, [&](const auto& o) { return o.label == row; });
    if (row < 0 || uses > 1) result.in_order.clear();
    return result;
  }
  if (row >= 0 && result.in_order.contains(row) && !prefers_lines(kernel, reduce.back(), row)) {
    std::erase(result.labels, row);
    result.labels.insert(result.labels.end(), reduce.begin(), reduce.end());
    result.labels.push_back(row);
    return result;
  }
  result.into_scalar = true;
  result.labels.insert(result.labels.end(), reduce.begin(), reduce.end());
  return result;
}

}  // namespace tdsl::codegen
