#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// What an expression may refer to.
struct ExprContext {
  std::size_t labels = 0;           ///< index variables 0 … labels - 1 may be used
  std::optional<Scalar> argument;   ///< the type of `$0` and `$1`; nothing if they may not be used
  bool reads = true;                ///< true if tensors may be read
  std::vector<Scalar> arguments{};  ///< in a procedure: the types of its variables
};

/// Appends one sentence per violated invariant of `e`: operand types, labels, ranks and element types of reads.
void verify_expr(const Program& program, const Expr& e, const ExprContext& context, std::vector<std::string>& problems);

/// One sentence per violated invariant of a Fused node: members and their labels, reads between members, results.
[[nodiscard]] std::vector<std::string> fused_problems(const Program& program, const Node& node, const Fused& fused);

/// One sentence per violated invariant of a Routine: number, types, ranks and extents of operands and results.
[[nodiscard]] std::vector<std::string> routine_problems(const Program& program, const Node& node,
                                                        const Routine& routine);

/// Violated rules of a Compute's sparse iteration, one sentence each: it visits every point that may change the result;
/// levels are iterated below their outer levels; all reads of its compressed operands are visited or looked up; the
/// loops can make the result (ir/analysis/iteration_rules.h).
[[nodiscard]] std::vector<std::string> iteration_problems(const Program& program, const Node& node, const Compute& c);

}  // namespace tdsl::ir
