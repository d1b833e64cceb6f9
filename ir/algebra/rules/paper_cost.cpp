#include "ir/algebra/rules/paper_cost.h"

#include <algorithm>

namespace tdsl::ir::algebra {

namespace {

/// The number of pieces per key: one per coordinate along the loose axes, limited by the number of tuples.
Index pieces_of(const RelationType& type, const Mesh& mesh) {
  if (!type.pieces) return 1;
  Index coordinates = 1;
  for (const int axis : type.layout->loose_axes()) coordinates *= mesh.sizes[static_cast<std::size_t>(axis)];
  return std::min(type.pieces->most, type.layout->loose_axes().empty() ? mesh.sites() : coordinates);
}

}  // namespace

Index paper_cost(std::span<const Expr> roots, const Mesh& mesh) {
  Index cost = 0;
  for (const Expr& e : nodes_of(roots)) {
    if (const auto* r = as<Redistribute>(e)) {
      const RelationType& operand = e->operands[0]->type;
      cost += operand.floats(pieces_of(operand, mesh)) * r->to.copies(mesh);
    }
  }
  return cost;
}

Index paper_cost(const Expr& e, Index sites) {
  const std::vector<Expr> roots{e};
  return paper_cost(roots, Mesh{{sites}});
}

}  // namespace tdsl::ir::algebra
