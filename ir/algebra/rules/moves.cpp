#include "ir/algebra/rules/moves.h"

#include <algorithm>

#include "ir/algebra/places.h"

namespace tdsl::ir::algebra {

std::vector<Index> moved_by(std::span<const Expr> nodes, const Mesh& mesh) {
  std::vector<Expr> sources;
  for (const Expr& e : nodes) {
    if (as<Redistribute>(e) != nullptr && std::ranges::find(sources, e->operands[0]) == sources.end())
      sources.push_back(e->operands[0]);
  }
  std::vector<Index> arrived(static_cast<std::size_t>(mesh.sites()));
  for (const Expr& source : sources) {
    std::vector<Layout> to;
    for (const Expr& e : nodes) {
      if (as<Redistribute>(e) != nullptr && e->operands[0] == source) to.push_back(*e->type.layout);
    }
    const std::vector<Index> more = arrivals(source->type, to, mesh);
    for (std::size_t site = 0; site < arrived.size(); ++site) arrived[site] += more[site];
  }
  return arrived;
}

}  // namespace tdsl::ir::algebra
