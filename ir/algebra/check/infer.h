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

/// The type of an operator's result. Problems are reasons why the result may differ from the operator's meaning: two
/// tuples with one key, an absent block whose value is used but unknown, joined tuples on different sites, partial
/// results used as complete ones. Throws AlgebraError if there is no type.
[[nodiscard]] Inferred infer(const Op& op, std::span<const RelationType* const> operands);

/// Upper bound on the pieces of a group that a local aggregation may leave: the most sites that can hold tuples of one
/// group, for any number of sites.
[[nodiscard]] Index most_pieces(const RelationType& operand, const Dims& keep);
/// The layout of tuples joined in place, over the join's key before `Join::keys`, and the reasons why some pairs may be
/// on different sites.
[[nodiscard]] Layout joined_layout(const Join& join, const RelationType& left, const RelationType& right,
                                   std::vector<std::string>& problems);

}  // namespace tdsl::ir::algebra
