#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/record/contraction_order.h"
#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

// Note [Sums of products] The cost of sum[j, k](X[i, j, k] * B[j, q] * C[k, q]) depends on the contraction order, and
// the best order depends on sizes. So it is recorded as one of several forms (Control::choose), determined when the
// program records it and sizes are known:
//
//   three factors     the three orders, the one with the fewest operations first (ties: smallest intermediate results)
//   more factors      the order with the fewest operations, and the one with the smallest intermediate results
//   any number        last, the sum as a single loop nest
//
// The first form is therefore the best order by operations for any sizes; another runs if it is faster or fits (Note
// [Forms]).

namespace tdsl::record {

struct SumOfProducts {
  plan::Op whole;  ///< as a single operation: reads are the factors, each subscripted by plain labels; labels are
                   ///< numbered from 0, those of the result first
  std::vector<std::string> names;  ///< of the factors, for messages

  /// Number of recording sites of a sum with `factors` factors, starting with that of `whole`.
  [[nodiscard]] static int places(std::size_t factors);
};

/// How to record the sum: `record` records an operation, a contraction (plan::OpClass::kContraction) or what
/// `sum_of_products_kernel` computes. `note` receives the chosen form and its alternatives.
struct SumRecording {
  Control& control;
  std::function<TensorHandle(plan::OpBuilder&)> record;
  std::function<void(const std::string&)> note;
};
[[nodiscard]] TensorHandle record_sum(const SumOfProducts& sum, const SumRecording& recording);

/// A product over an empty sum has no points, so its epilogue would read nothing: the operation becomes a map over
/// zeros that reads the epilogue's other operands. Returns whether it was changed.
bool drop_empty_sum(plan::Op& op);

}  // namespace tdsl::record
