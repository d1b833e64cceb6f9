#include "ir/algebra/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/check.h"

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
  for (const Index value : values)
    hash = mixed(hash ^ static_cast<std::uint64_t>(value));
  return hash;
}

/// Round robin: along the first dimension alone every coordinate comes equally often.
std::uint64_t round_robin(const Key& values) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    sum += (2 * k + 1) * static_cast<std::uint64_t>(values[k]);
  return sum;
}

/// Where tuples are, as coordinates on the mesh.
class Places {
 public:
  Places(const Layout& layout, const Sites& sites) : layout_(layout), sites_(sites) {
    TDSL_CHECK(layout.axes() == static_cast<int>(sites.mesh.sizes.size()), "as many axes as the mesh has");
  }

  [[nodiscard]] Key coordinates(Index site) const {
    Key result(sites_.mesh.sizes.size());
    for (std::size_t axis = result.size(); axis-- > 0;) {
      result[axis] = site % sites_.mesh.sizes[axis];
      site /= sites_.mesh.sizes[axis];
    }
    return result;
  }
  [[nodiscard]] std::size_t site(const Key& coordinates) const {
    Index site = 0;
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
      site = site * sites_.mesh.sizes[axis] + coordinates[axis];
    return static_cast<std::size_t>(site);
  }

  /// The coordinate of a key along an axis of a cut.
  [[nodiscard]] Index cut_coordinate(const Cut& cut, int axis, const Key& key) const {
    const Key values = values_at(key, cut.dims);
    std::uint64_t number = sites_.seed == 0 ? round_robin(values) : hash_of(values, sites_.seed);
    for (const int earlier : cut.axes) {
      const auto size = static_cast<std::uint64_t>(size_of(earlier));
      if (earlier == axis)
        return static_cast<Index>(number % size);
      number /= size;
    }
    return 0;
  }

  /// All sites that hold a key. Loose axes: somewhere, as the input's name and the seed have it.
  [[nodiscard]] std::vector<std::size_t> holders(const Key& key, std::uint64_t name) const {
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
      const Index coordinate = cut != nullptr
                                   ? cut_coordinate(*cut, axis, key)
                                   : static_cast<Index>(anywhere % static_cast<std::uint64_t>(size_of(axis)));
      for (Key& place : found)
        place[at] = coordinate;
    }
    std::vector<std::size_t> result;
    for (const Key& place : found)
      result.push_back(site(place));
    return result;
  }

  /// The site of the same tuple with the lowest coordinates: the one it is on, moved to 0 along all copied axes.
  [[nodiscard]] std::size_t first_copy(std::size_t at) const {
    Key place = coordinates(static_cast<Index>(at));
    for (int axis = 0; axis < layout_.axes(); ++axis)
      place[static_cast<std::size_t>(axis)] *= layout_.is_copied(axis) ? 0 : 1;
    return site(place);
  }

  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  [[nodiscard]] Index size_of(int axis) const { return sites_.mesh.sizes[static_cast<std::size_t>(axis)]; }

  const Layout& layout_;
  const Sites& sites_;
};

std::vector<Tuples> placed(const Tuples& tuples, const Places& places, const std::string& name, std::size_t sites) {
  std::vector<Tuples> held(sites);
  for (const auto& [key, block] : tuples) {
    for (const std::size_t site : places.holders(key, std::hash<std::string>{}(name)))
      held[site].emplace(key, block);
  }
  return held;
}

std::vector<Tuples> redistributed(const Expr& e, const std::vector<Tuples>& from, const Sites& sites,
                                  Traffic& traffic) {
  const RelationType& operand = e->operands[0]->type;
  const Places before(*operand.layout, sites);
  const Places after(*e->type.layout, sites);
  const Index floats = floats_of(operand.block);
  std::vector<Tuples> to(from.size());
  for (std::size_t site = 0; site < from.size(); ++site) {
    if (before.first_copy(site) != site)
      continue;
    for (const auto& [key, block] : from[site]) {
      for (const std::size_t target : after.holders(key, 0)) {
        traffic.paper += floats;
        traffic.moved += before.first_copy(target) == site ? 0 : floats;
        to[target].emplace(key, block);
      }
    }
  }
  return to;
}

Index total(const std::vector<Traffic>& traffic, Index Traffic::*part) {
  return std::accumulate(traffic.begin(), traffic.end(), Index{0},
                         [&](Index sum, const Traffic& t) { return sum + t.*part; });
}

}  // namespace

Index SitesRun::paper() const {
  return total(traffic, &Traffic::paper);
}
Index SitesRun::moved() const {
  return total(traffic, &Traffic::moved);
}

SitesRun run_on_sites(std::span<const Expr> roots, const Data& data, const Sites& sites) {
  SitesRun run;
  const auto count = static_cast<std::size_t>(sites.mesh.sites());
  for (const Expr& e : nodes_of(roots)) {
    TDSL_CHECK(e->sound && e->type.layout, "only verified expressions on sites run on sites");
    std::vector<Tuples> held;
    if (const auto* input = as<Input>(e)) {
      held = placed(input_of(*e, data), Places(*e->type.layout, sites), input->name, count);
    } else if (as<Redistribute>(e) != nullptr) {
      held = redistributed(e, run.values.at(e->operands[0]->id), sites, run.traffic.emplace_back(Traffic{e}));
    } else {
      for (std::size_t site = 0; site < count; ++site) {
        std::vector<const Tuples*> operands;
        for (const Expr& operand : e->operands)
          operands.push_back(&run.values.at(operand->id)[site]);
        held.push_back(apply(*e, operands, data.calls));
      }
    }
    const std::string wrong = misplaced(held, e->type, sites);
    TDSL_CHECK(wrong.empty(), wrong);
    run.values.emplace(e->id, std::move(held));
  }
  return run;
}

Tuples gathered(const std::vector<Tuples>& held) {
  Tuples result;
  for (const Tuples& site : held) {
    for (const auto& [key, block] : site) {
      const auto found = result.find(key);
      if (found == result.end()) {
        result.emplace(key, block);
      } else {
        TDSL_CHECK(found->second == block, fmt::format("two blocks of key {} differ", key_text(key)));
      }
    }
  }
  return result;
}

std::string misplaced(const std::vector<Tuples>& held, const RelationType& type, const Sites& sites) {
  const Places places(*type.layout, sites);
  std::map<Key, Index> tuples;  // of each key, copies not counted
  for (std::size_t site = 0; site < held.size(); ++site) {
    const std::size_t first = places.first_copy(site);
    if (held[site] != held[first])
      return fmt::format("sites {} and {} should hold copies", first, site);
    const Key coordinates = places.coordinates(static_cast<Index>(site));
    for (const auto& [key, block] : held[site]) {
      tuples[key] += first == site ? 1 : 0;
      for (int axis = 0; axis < type.layout->axes(); ++axis) {
        const Cut* cut = type.layout->cut_of(axis);
        if (cut != nullptr && places.cut_coordinate(*cut, axis, key) != coordinates[static_cast<std::size_t>(axis)])
          return fmt::format("key {} is at site {}, against {}", key_text(key), site, layout_text(*type.layout));
      }
    }
  }
  std::vector<Key> keys;
  for (const auto& [key, count] : tuples) {
    if (count > (type.pieces ? type.pieces->most : 1))
      return fmt::format("{} tuples have key {}", count, key_text(key));
    keys.push_back(key);
  }
  return KeySet::of(std::move(keys), type.keys.arity()) == type.keys ? "" : "the keys are not those of the type";
}

}  // namespace tdsl::ir::algebra
