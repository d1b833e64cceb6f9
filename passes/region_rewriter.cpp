#include "passes/region_rewriter.h"

#include <utility>

namespace tdsl::passes {

using namespace ir;

Program RegionRewriter::run() {
  Region body = std::move(program_.body);
  rewrite_region(body);
  program_.body = std::move(body);
  rename_everywhere(program_, renames_);
  return std::move(program_);
}

void RegionRewriter::rewrite_region(Region& region) {
  std::vector<Node> nodes;
  nodes.reserve(region.nodes.size());
  for (Node& node : region.nodes) rewrite_node(std::move(node), nodes);
  region.nodes = std::move(nodes);
}

void RegionRewriter::rewrite_node(Node node, std::vector<Node>& earlier) { keep(std::move(node), earlier); }

bool RegionRewriter::enters(const Node& node) const { return holds_operations(node); }

void RegionRewriter::rewrite_inside(Node& node) {
  if (!enters(node)) return;
  for (Region* inner : regions_in(node)) rewrite_region(*inner);
}

void RegionRewriter::rewrite_inside(Region& region) {
  for (Node& node : region.nodes) rewrite_inside(node);
}

void RegionRewriter::keep(Node node, std::vector<Node>& earlier) {
  rewrite_inside(node);
  earlier.push_back(std::move(node));
}

}  // namespace tdsl::passes
