#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/eval/environment.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Evaluates a Routine node: one array per result.
[[nodiscard]] std::vector<std::shared_ptr<Array>> evaluate_routine(Environment& environment, const Node& node,
                                                                   const Routine& routine);

/// A matrix of a routine's batch, for messages.
struct MatrixPlace {
  const Node& node;
  const Routine& routine;
  std::vector<std::int64_t> batch;  ///< its subscripts in the leading dimensions

  /// Stops with the routine's name and the subscripts.
  [[noreturn]] void stop(const std::string& what) const;
};

/// One matrix, with results of rank 2 and less.
void evaluate_matrix(const MatrixPlace& place, const std::vector<const Array*>& operands,
                     const std::vector<std::shared_ptr<Array>>& results);

/// The factorisations and solvers (Routine::is_line is false), of each matrix of the leading dimensions. `results`
/// already have their types and shapes.
void evaluate_factorisation(const Node& node, const Routine& routine, const std::vector<const Array*>& operands,
                            const std::vector<std::shared_ptr<Array>>& results);

/// Evaluates a Chain node from left to right, in the element type.
[[nodiscard]] std::shared_ptr<Array> evaluate_chain(Environment& environment, const Node& node, const Chain& chain);

}  // namespace tdsl::ir::eval
