#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/algebra/expr.h"
#include "tests/unit/algebra/oracle/kernels.h"

namespace tdsl::ir::algebra {

/// Contents of inputs by name, and implementations of called kernels.
struct Data {
  std::map<std::string, Tuples> inputs;
  Calls calls{};
};

/// The tuples of an input. Throws AlgebraError if they are missing or have other keys than its type.
[[nodiscard]] const Tuples& input_of(const Node& node, const Data& data);
/// Applies the operator to the tuples of one site. Relations are small: keys are matched by sorting.
[[nodiscard]] Tuples apply(const Node& node, std::span<const Tuples* const> operands, const Calls& calls);

/// The meaning of an expression: its value with all tuples in one place, so that bcast and shuf are identities.
[[nodiscard]] Tuples evaluate(const Expr& e, const Data& data);

}  // namespace tdsl::ir::algebra
