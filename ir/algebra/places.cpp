#include "ir/algebra/places.h"

#include <algorithm>
#include <set>

#include "ir/graph/check.h"

namespace tdsl::ir::algebra {

namespace {

std::uint64_t mixed(std::uint64_t x) {
  // The finaliser of splitmix64.
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::uint64_t hash_of(const Key& values, std::uint64_t seed) {
  std::uint64_t hash = mixed(seed);
  for (const Index value : values) hash = mixed(hash ^ static_cast<std::uint64_t>(value));
  return hash;
}

/// Round robin: along the first dimension alone all coordinates are equally frequent.
std::uint64_t round_robin(const Key& values) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) sum += (2 * k + 1) * static_cast<std::uint64_t>(values[k]);
  return sum;
}

}  // namespace

Places::Places(const Layout& layout, const Key& frontier, const Sites& sites)
    : layout_(layout), frontier_(frontier), sites_(sites) {
  TDSL_CHECK(layout.axes() == static_cast<int>(sites.mesh.sizes.size()), "as many axes as the mesh has");
}

Key Places::coordinates(Index site) const {
  Key result(sites_.mesh.sizes.size());
  for (std::size_t axis = result.size(); axis-- > 0;) {
    result[axis] = site % sites_.mesh.sizes[axis];
    site /= sites_.mesh.sizes[axis];
  }
  return result;
}

std::size_t Places::site(const Key& coordinates) const {
  Index site = 0;
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
    site = site * sites_.mesh.sizes[axis] + coordinates[axis];
  return static_cast<std::size_t>(site);
}

Index Places::share_of(const Cut& cut, const Key& key) const {
  if (cut.dims.empty()) return 0;
  Index shares = 1;
  for (const int axis : cut.axes) shares *= size_of(axis);
  Index number = 0;
  Index keys = 1;
  for (const int dim : cut.dims) {
    const Index extent = frontier_[static_cast<std::size_t>(dim)];
    number = number * extent + key[static_cast<std::size_t>(dim)];
    keys *= extent;
  }
  // The last share that begins at or before this key.
  return ((number + 1) * shares - 1) / keys;
}

Index Places::cut_coordinate(const Cut& cut, int axis, const Key& key) const {
  if (sites_.shares) {
    Index share = share_of(cut, key);
    for (auto inner = cut.axes.rbegin(); *inner != axis; ++inner) share /= size_of(*inner);
    return share % size_of(axis);
  }
  const Key values = values_at(key, cut.dims);
  std::uint64_t number = sites_.seed == 0 ? round_robin(values) : hash_of(values, sites_.seed);
  for (const int earlier : cut.axes) {
    const auto size = static_cast<std::uint64_t>(size_of(earlier));
    if (earlier == axis) return static_cast<Index>(number % size);
    number /= size;
  }
  return 0;
}

std::vector<std::size_t> Places::holders(const Key& key, std::uint64_t name) const {
  std::vector<Key> found{Key(sites_.mesh.sizes.size(), 0)};
  for (int axis = 0; axis < layout_.axes(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (layout_.is_copied(axis)) {
      std::vector<Key> copies;
      for (const Key& place : found) {
        for (Index k = 0; k < size_of(axis); ++k) {
          copies.push_back(place);
          copies.back()[at] = k;
        }
      }
      found = std::move(copies);
      continue;
    }
    const Cut* cut = layout_.cut_of(axis);
    const std::uint64_t anywhere = hash_of(key, sites_.seed + name + static_cast<std::uint64_t>(axis));
    const Index coordinate = cut != nullptr ? cut_coordinate(*cut, axis, key)
                                            : static_cast<Index>(anywhere % static_cast<std::uint64_t>(size_of(axis)));
    for (Key& place : found) place[at] = coordinate;
  }
  std::vector<std::size_t> result;
  for (const Key& place : found) result.push_back(site(place));
  return result;
}

namespace {

/// The sites that hold one of the tuples of a key; there is one tuple per coordinate along the loose axes.
class Holders {
 public:
  Holders(const RelationType& type, const Sites& sites)
      : layout_(*type.layout), sites_(sites), places_(layout_, type.keys.frontier(), sites) {}

  [[nodiscard]] bool holds(std::size_t site, const Key& key) const {
    const Key coordinates = places_.coordinates(static_cast<Index>(site));
    return std::ranges::all_of(layout_.cuts(), [&](const Cut& cut) {
      return std::ranges::all_of(cut.axes, [&](int axis) {
        return places_.cut_coordinate(cut, axis, key) == coordinates[static_cast<std::size_t>(axis)];
      });
    });
  }
  [[nodiscard]] Index pieces() const {
    Index pieces = 1;
    for (const int axis : layout_.loose_axes()) pieces *= sites_.mesh.sizes[static_cast<std::size_t>(axis)];
    return pieces;
  }

 private:
  const Layout& layout_;
  const Sites& sites_;
  Places places_;
};

}  // namespace

std::vector<Index> arrivals(const RelationType& type, std::span<const Layout> to, const Mesh& mesh) {
  const Sites sites{mesh, 0, true};
  const Holders before(type, sites);
  std::vector<Places> after;
  for (const Layout& layout : to) after.emplace_back(layout, type.keys.frontier(), sites);
  const bool whole = !type.pieces.has_value();
  const Index floats = floats_of(type.block);
  const Index pieces = whole ? 1 : before.pieces();
  const bool nowhere = whole && !type.layout->loose_axes().empty();
  std::vector<Index> arrived(static_cast<std::size_t>(mesh.sites()));
  type.keys.for_each([&](const Key& key) {
    std::set<std::size_t> wanting;
    for (const Places& places : after) {
      const std::vector<std::size_t> holders = places.holders(key, 0);
      wanting.insert(holders.begin(), holders.end());
    }
    for (const std::size_t site : wanting)
      arrived[site] += floats * (pieces - (!nowhere && before.holds(site, key) ? 1 : 0));
  });
  return arrived;
}

}  // namespace tdsl::ir::algebra
