#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/record/contraction_order.h"
#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

// Note [Sums of products]
// sum[j, k](X[i, j, k] * B[j, q] * C[k, q]) costs what the order of contraction makes it cost, and sizes decide which
// order is best. So it is recorded as one of several forms (Control::choose), which are found when the program records
// it and knows the sizes:
//
//   of three factors   the three orders, that with the fewest operations first (of equally many: the smallest
//   intermediate results) of more factors    the order with the fewest operations, and the one with the smallest
//   intermediate results of all             last, the sum as one nest of loops
//
// The first one is therefore the best order by operations, whatever the sizes; another runs where that is faster or
// fits (Note [Forms]).

namespace tdsl::record {

struct SumOfProducts {
  plan::Op whole;  ///< as one: reads are the factors, each subscripted by labels alone; labels from 0, those of the
                   ///< result first
  std::vector<std::string> names;  ///< of the factors, for people

  /// Recording places that a sum of `factors` factors has, from that of `whole` on.
  [[nodiscard]] static int places(std::size_t factors);
};

/// How to record it: `record` an operation, a contraction (plan::OpClass::kContraction) or what
/// `sum_of_products_kernel` computes. `note` is told what is chosen, among what.
struct SumRecording {
  Control& control;
  std::function<TensorHandle(plan::OpBuilder&)> record;
  std::function<void(const std::string&)> note;
};
[[nodiscard]] TensorHandle record_sum(const SumOfProducts& sum, const SumRecording& recording);

/// A product over an empty sum has no points, so that nothing would be read for its epilogue: the operation becomes a
/// map over zeros, which reads what the epilogue reads beside the product. Whether it did.
bool drop_empty_sum(plan::Op& op);

}  // namespace tdsl::record
