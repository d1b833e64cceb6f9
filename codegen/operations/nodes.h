#pragma once

#include <vector>

#include "codegen/operations/fields.h"

namespace tdsl::codegen {

/// All nodes of a kernel's expressions (bodies, guard, store subscripts), parents before children. A shared node occurs
/// as often as in the text.
[[nodiscard]] std::vector<const ir::ExprNode*> nodes_of(const ComputeKernel& kernel);
[[nodiscard]] std::vector<const ir::ExprNode*> nodes_of(const FusedKernel& kernel);

/// The kernel's facts about its nodes; nodes without facts are absent.
[[nodiscard]] std::vector<NodeFacts> facts_of(const ComputeKernel& kernel);
[[nodiscard]] std::vector<NodeFacts> facts_of(const FusedKernel& kernel);

/// Adds the facts to the kernel, the inverse of `facts_of`. False if a fact refers to a node that does not exist.
[[nodiscard]] bool set_facts(ComputeKernel& kernel, const std::vector<NodeFacts>& facts);
[[nodiscard]] bool set_facts(FusedKernel& kernel, const std::vector<NodeFacts>& facts);

}  // namespace tdsl::codegen
