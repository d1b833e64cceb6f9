#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/algebra/keys.h"
#include "ir/algebra/layout.h"
#include "ir/algebra/relation.h"

namespace tdsl::ir::algebra {

/// Sites to run an expression on. Layouts determine which values a tuple's place depends on, not the mapping.
struct Sites {
  Mesh mesh;
  /// Each seed gives a different mapping (0: round robin), and different places for loose tuples.
  std::uint64_t seed = 0;
  /// Alternative mapping: near-equal shares of the frontier, in order, as the planner cuts dimensions: share t of T
  /// begins at key t n / T. Joined relations must then have equal frontiers along the dimensions they are cut by.
  bool shares = false;
};

/// The places of a relation's tuples as coordinates on the mesh. The constructor's arguments must outlive it.
class Places {
 public:
  Places(const Layout& layout, const Key& frontier, const Sites& sites);

  [[nodiscard]] Key coordinates(Index site) const;
  [[nodiscard]] std::size_t site(const Key& coordinates) const;
  /// The coordinate of a key along an axis of a cut.
  [[nodiscard]] Index cut_coordinate(const Cut& cut, int axis, const Key& key) const;
  /// All sites that hold a key. Along loose axes the site is determined by `name` and the seed.
  [[nodiscard]] std::vector<std::size_t> holders(const Key& key, std::uint64_t name) const;

 private:
  [[nodiscard]] Index size_of(int axis) const { return sites_.mesh.sizes[static_cast<std::size_t>(axis)]; }
  /// The index of the key's site among those along a cut's axes.
  [[nodiscard]] Index share_of(const Cut& cut, const Key& key) const;

  const Layout& layout_;
  const Key& frontier_;
  const Sites& sites_;
};

/// Floats that arrive at each site when a relation of this type, already placed on sites, is moved to each layout of
/// `to`: the tuples that the site does not hold, once each. Dimensions are cut into near-equal shares (Sites::shares);
/// for a relation in pieces, each coordinate of a loose axis holds one piece of every key. Everything else on loose
/// axes counts as absent from all sites.
[[nodiscard]] std::vector<Index> arrivals(const RelationType& type, std::span<const Layout> to, const Mesh& mesh);

}  // namespace tdsl::ir::algebra
