#pragma once

#include <set>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// In which order a kernel runs over its labels.
struct LoopOrder {
  std::vector<int> labels;   ///< outermost first
  bool into_scalar = false;  ///< a reduction whose reduce labels are innermost
  std::set<int> in_order;    ///< labels along which every operand is constant or contiguous
};

/// The label that the last output dimension follows with stride 1, or -1.
[[nodiscard]] int row_label(const OpTemplate& op);
/// Labels of the output in the order of its dimensions.
[[nodiscard]] std::vector<int> out_labels(const OpTemplate& op);

/// The output label along which an operand is contiguous that moves across memory along `row`, as a transposed one
/// does; -1 if none is.
[[nodiscard]] int label_across(const OpTemplate& op, int row);

/// Without reduction: the output's dimensions in order. With: see emit_kernel.h.
[[nodiscard]] LoopOrder loop_order(const OpTemplate& op, const KernelTemplate& kernel);

}  // namespace tdsl::codegen
