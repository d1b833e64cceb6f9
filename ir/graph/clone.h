#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// Copies of parts of an index graph under other values.

namespace tdsl::ir {

using Renaming = std::map<ValueId, ValueId>;

[[nodiscard]] Expr renamed(const Expr& e, const Renaming& names);
[[nodiscard]] Extent renamed(const Extent& e, const Renaming& names);
/// Renames what the node uses, at any depth, and what the shapes of the values it defines mention.
void rename(Program& program, Node& node, const Renaming& names);
/// The node with new values for all it defines, at any depth; they are added to `names`.
[[nodiscard]] Node copied(Program& program, Node node, Renaming& names);
/// The same without the effects inside.
[[nodiscard]] Node cloned(Program& program, const Node& node, Renaming& names);
/// The region's nodes that matter for its yields or for other nodes' values: all but prints, asserts, checks, outputs.
[[nodiscard]] bool is_effect(const Node& node);
/// Every value that the node uses, at any depth, shapes included; those defined inside too.
[[nodiscard]] std::set<ValueId> mentioned(const Program& program, const Node& node);
/// The regions directly inside a node.
[[nodiscard]] std::vector<Region*> regions_in(Node& node);
[[nodiscard]] std::vector<const Region*> regions_in(const Node& node);

}  // namespace tdsl::ir
