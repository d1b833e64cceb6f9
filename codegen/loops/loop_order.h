#pragma once

#include <set>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// The loop order of a kernel.
struct LoopOrder {
  std::vector<int> labels;   ///< outermost first
  bool into_scalar = false;  ///< a reduction whose reduce labels are innermost
  std::set<int> in_order;    ///< labels along which every operand is constant or contiguous
};

/// The label that indexes the last output dimension with stride 1, or -1.
[[nodiscard]] int row_label(const RecordedOp& op);
/// Labels of the output in the order of its dimensions.
[[nodiscard]] std::vector<int> out_labels(const RecordedOp& op);

/// The output label along which an operand is contiguous that is strided along `row`, like a transposed one; -1 if
/// there is none.
[[nodiscard]] int label_across(const RecordedOp& op, int row);

/// Without reduction: the output's dimensions in order. With: see build_nest.h.
/// `in_tiles`: labels along which operands are contiguous in loops over tiles.
[[nodiscard]] LoopOrder loop_order(const RecordedOp& op, const ComputeKernel& kernel,
                                   const std::set<int>& in_tiles = {});

}  // namespace tdsl::codegen
