#pragma once

#include <memory>
#include <vector>

#include "ir/eval/environment.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Evaluates a Routine node: one array per result.
[[nodiscard]] std::vector<std::shared_ptr<Array>> evaluate_routine(Environment& environment, const Node& node,
                                                                   const Routine& routine);

/// The factorisations and solvers (Routine::is_line is false). `results` already have their types and shapes.
void evaluate_factorisation(const Node& node, const Routine& routine, const std::vector<const Array*>& operands,
                            const std::vector<std::shared_ptr<Array>>& results);

/// The same for complex matrices: lu, svd, eigh, eig, inv and det.
void evaluate_complex_factorisation(const Node& node, const Routine& routine, const Array& operand,
                                    const std::vector<std::shared_ptr<Array>>& results);

/// Evaluates a Chain node from left to right, in the element type.
[[nodiscard]] std::shared_ptr<Array> evaluate_chain(Environment& environment, const Node& node, const Chain& chain);

}  // namespace tdsl::ir::eval
