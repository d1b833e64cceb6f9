#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// Copies parts of an index graph under new values.

namespace tdsl::ir {

using Renaming = std::map<ValueId, ValueId>;

[[nodiscard]] Expr renamed(const Expr& e, const Renaming& names);
[[nodiscard]] Extent renamed(const Extent& e, const Renaming& names);
/// Renames all uses in the node, at any depth, and in the shapes of the values it defines.
void rename(Program& program, Node& node, const Renaming& names);
/// The node with new values for all its definitions, at any depth; these are added to `names`.
[[nodiscard]] Node copied(Program& program, Node node, Renaming& names);
/// The same without the effects inside.
[[nodiscard]] Node cloned(Program& program, const Node& node, Renaming& names);
/// True for nodes irrelevant to the region's yields and to other nodes' values: prints, asserts, checks, outputs.
[[nodiscard]] bool is_effect(const Node& node);
/// Every value that the node uses, at any depth, including shapes and values defined inside.
[[nodiscard]] std::set<ValueId> mentioned(const Program& program, const Node& node);
/// The regions directly inside a node.
[[nodiscard]] std::vector<Region*> regions_in(Node& node);
[[nodiscard]] std::vector<const Region*> regions_in(const Node& node);

}  // namespace tdsl::ir
