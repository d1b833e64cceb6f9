#include "ir/algebra/arrivals.h"

#include <algorithm>
#include <set>

#include "ir/algebra/places.h"

namespace tdsl::ir::algebra {

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
