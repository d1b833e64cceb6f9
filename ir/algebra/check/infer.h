#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/relation.h"

namespace tdsl::ir::algebra {

struct Inferred {
  RelationType type;
  std::vector<std::string> problems;
};

/// The type of an operator's result. Problems are what makes the result differ from what the operator means: two tuples
/// with one key, an absent block whose value is used but not known, joined tuples on different sites, partial results
/// taken for whole ones. Throws AlgebraError where there is no type.
[[nodiscard]] Inferred infer(const Op& op, std::span<const RelationType* const> operands);

/// How many pieces of a group a local aggregation may leave: the greatest number of sites that the tuples of one group
/// can lie on, however many sites there are.
[[nodiscard]] Index most_pieces(const RelationType& operand, const Dims& keep);
/// The layout of tuples that are joined where they are, over the join's key before `Join::keys`, and the reasons why
/// some pair may not meet.
[[nodiscard]] Layout joined_layout(const Join& join, const RelationType& left, const RelationType& right,
                                   std::vector<std::string>& problems);

}  // namespace tdsl::ir::algebra
