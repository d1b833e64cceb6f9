#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/algebra/block.h"
#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// The tuples that one place holds; of a relation as a whole, every key once.
using Tuples = std::multimap<Key, Block>;

/// What inputs hold, by name, and what called kernels compute.
struct Data {
  std::map<std::string, Tuples> inputs;
  Calls calls{};
};

/// The tuples of an input. Throws AlgebraError if there are none or if their keys are not those of its type.
[[nodiscard]] const Tuples& input_of(const Node& node, const Data& data);
/// The operator on the tuples of one place. Relations are small: keys are matched by sorting.
[[nodiscard]] Tuples apply(const Node& node, std::span<const Tuples* const> operands, const Calls& calls);

/// What the expression means: its value where all tuples are in one place, so that bcast and shuf do nothing.
[[nodiscard]] Tuples evaluate(const Expr& e, const Data& data);

}  // namespace tdsl::ir::algebra
