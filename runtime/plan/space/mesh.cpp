#include "runtime/plan/space/mesh.h"

#include <algorithm>
#include <functional>

namespace tdsl::plan {

namespace {

using Sizes = std::vector<Index>;

/// Ascending factors above 1 whose product is n, at most `most` of them.
std::vector<Sizes> factorisations(Index n, std::size_t most) {
  std::vector<Sizes> all;
  Sizes now;
  const std::function<void(Index, Index)> extend = [&](Index rest, Index least) {
    if (rest == 1) {
      all.push_back(now);
      return;
    }
    if (now.size() == most) return;
    for (Index f = least; f <= rest; ++f) {
      if (rest % f != 0) continue;
      if (f != rest && f * f > rest) {  // the remainder would be smaller than f
        f = rest - 1;
        continue;
      }
      now.push_back(f);
      extend(rest / f, f);
      now.pop_back();
    }
  };
  extend(n, 2);
  return all;
}

/// True if some grouping of the factors of `fine` multiplies to `coarse`.
bool coarsens(Sizes coarse, const Sizes& fine) {
  if (coarse.size() >= fine.size()) return false;
  const std::function<bool(std::size_t)> place = [&](std::size_t k) {
    if (k == fine.size()) return std::all_of(coarse.begin(), coarse.end(), [](Index left) { return left == 1; });
    for (Index& left : coarse) {
      if (left % fine[k] != 0) continue;
      left /= fine[k];
      if (place(k + 1)) return true;
      left *= fine[k];
    }
    return false;
  };
  return place(0);
}

/// Factorisations of `between` and of `inside`.
struct Split {
  Sizes between;
  Sizes inside;
};

bool coarsens(const Split& coarse, const Split& fine) {
  const bool between = coarse.between == fine.between || coarsens(coarse.between, fine.between);
  const bool inside = coarse.inside == fine.inside || coarsens(coarse.inside, fine.inside);
  return between && inside && (coarse.between != fine.between || coarse.inside != fine.inside);
}

Mesh mesh_of(const Split& split) {
  Mesh mesh;
  Index stride = 1;
  const auto add = [&](const Sizes& sizes, bool inside) {
    for (std::size_t k = sizes.size(); k-- > 0;) {
      mesh.axes.insert(mesh.axes.begin(), {sizes[k], stride, inside});
      stride *= sizes[k];
    }
  };
  add(split.inside, true);
  add(split.between, false);
  return mesh;
}

}  // namespace

Index Mesh::ranks() const {
  Index n = 1;
  for (const MeshAxis& axis : axes) n *= axis.size;
  return n;
}

std::vector<Mesh> meshes_of(Index ranks, Index ranks_per_node) {
  const bool nodes = ranks_per_node > 1 && ranks_per_node < ranks && ranks % ranks_per_node == 0;
  const Index inside = nodes ? ranks_per_node : 1;
  std::vector<Split> splits;
  for (const Sizes& between : factorisations(ranks / inside, kMeshAxes - (nodes ? 1 : 0))) {
    for (const Sizes& within : factorisations(inside, kMeshAxes - between.size())) splits.push_back({between, within});
  }
  std::vector<Mesh> meshes;
  for (const Split& split : splits) {
    const bool coarse =
        std::any_of(splits.begin(), splits.end(), [&](const Split& other) { return coarsens(split, other); });
    if (!coarse) meshes.push_back(mesh_of(split));
  }
  return meshes;
}

}  // namespace tdsl::plan
