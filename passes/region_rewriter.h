#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

/// Base of passes that visit all regions of a program. A pass that rewrites one node at a time overrides
/// `rewrite_node`; a pass that rewrites several nodes of a region together overrides `rewrite_region`.
///
///     class Inlining : public RegionRewriter {
///       using RegionRewriter::RegionRewriter;
///       void rewrite_node(Node node, std::vector<Node>& earlier) override {
///         if (auto* c = std::get_if<Compute>(&node.op)) absorb(*c, earlier);
///         keep(std::move(node), earlier);
///       }
///     };
class RegionRewriter {
 public:
  RegionRewriter(ir::Program program, PassContext& context) : program_(std::move(program)), context_(context) {}
  virtual ~RegionRewriter() = default;

  /// Returns the program with every region rewritten and `renames_` applied; call it once. Moves the body out of
  /// `program_` meanwhile.
  [[nodiscard]] ir::Program run();

 protected:
  /// Default: `rewrite_node` for every node, in order.
  virtual void rewrite_region(ir::Region& region);
  /// Appends the node, or its replacement, to `earlier`, the rewritten nodes of the region so far. Default: `keep`.
  virtual void rewrite_node(ir::Node node, std::vector<ir::Node>& earlier);
  /// True if the regions inside a node are rewritten. Default: `holds_operations`.
  [[nodiscard]] virtual bool enters(const ir::Node& node) const;

  /// Rewrites the regions inside a node, or inside all nodes of a region.
  void rewrite_inside(ir::Node& node);
  void rewrite_inside(ir::Region& region);
  /// Rewrites the regions inside the node and appends it.
  void keep(ir::Node node, std::vector<ir::Node>& earlier);

  ir::Program program_;
  PassContext& context_;
  ValueMap renames_;  ///< values that others replace
};

}  // namespace tdsl::passes
