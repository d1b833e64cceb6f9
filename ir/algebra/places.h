#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/algebra/keys.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// Sites to run an expression on. Layouts say which values decide where a tuple is, not how.
struct Sites {
  Mesh mesh;
  /// Every seed is another such function (0: round robin), and other places for what is loose.
  std::uint64_t seed = 0;
  /// Instead: near-equal shares of the frontier, in order, as the planner cuts dimensions: the share t of T begins at
  /// key t n / T. Relations that are joined then need one frontier along the dimensions they are cut by.
  bool shares = false;
};

/// Where the tuples of a relation are, as coordinates on the mesh. What it is made of must outlive it.
class Places {
 public:
  Places(const Layout& layout, const Key& frontier, const Sites& sites);

  [[nodiscard]] Key coordinates(Index site) const;
  [[nodiscard]] std::size_t site(const Key& coordinates) const;
  /// The coordinate of a key along an axis of a cut.
  [[nodiscard]] Index cut_coordinate(const Cut& cut, int axis, const Key& key) const;
  /// All sites that hold a key. Loose axes: somewhere, as `name` and the seed have it.
  [[nodiscard]] std::vector<std::size_t> holders(const Key& key, std::uint64_t name) const;
  /// The site of the same tuple with the lowest coordinates: the one it is on, moved to 0 along all copied axes.
  [[nodiscard]] std::size_t first_copy(std::size_t at) const;

 private:
  [[nodiscard]] Index size_of(int axis) const { return sites_.mesh.sizes[static_cast<std::size_t>(axis)]; }
  /// Of the sites along a cut's axes, which one.
  [[nodiscard]] Index share_of(const Cut& cut, const Key& key) const;

  const Layout& layout_;
  const Key& frontier_;
  const Sites& sites_;
};

}  // namespace tdsl::ir::algebra
