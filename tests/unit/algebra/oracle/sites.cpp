#include "tests/unit/algebra/oracle/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/graph/check.h"

namespace tdsl::ir::algebra {

namespace {

/// The site with the lowest coordinates that holds the same tuple: `at` with all copied axes set to 0.
std::size_t first_copy(const Places& places, const Layout& layout, std::size_t at) {
  Key place = places.coordinates(static_cast<Index>(at));
  for (int axis = 0; axis < layout.axes(); ++axis)
    place[static_cast<std::size_t>(axis)] *= layout.is_copied(axis) ? 0 : 1;
  return places.site(place);
}

std::vector<Tuples> placed(const Tuples& tuples, const Places& places, const std::string& name, std::size_t sites) {
  std::vector<Tuples> held(sites);
  for (const auto& [key, block] : tuples) {
    for (const std::size_t site : places.holders(key, std::hash<std::string>{}(name))) held[site].emplace(key, block);
  }
  return held;
}

std::vector<Tuples> redistributed(const Expr& e, const std::vector<Tuples>& from, const Sites& sites,
                                  Traffic& traffic) {
  const RelationType& operand = e->operands[0]->type;
  const Places before(*operand.layout, operand.keys.frontier(), sites);
  const Places after(*e->type.layout, e->type.keys.frontier(), sites);
  const Index floats = floats_of(operand.block);
  std::vector<Tuples> to(from.size());
  traffic.arrived.assign(from.size(), 0);
  for (std::size_t site = 0; site < from.size(); ++site) {
    if (first_copy(before, *operand.layout, site) != site) continue;
    for (const auto& [key, block] : from[site]) {
      for (const std::size_t target : after.holders(key, 0)) {
        traffic.paper += floats;
        traffic.arrived[target] += first_copy(before, *operand.layout, target) == site ? 0 : floats;
        to[target].emplace(key, block);
      }
    }
  }
  return to;
}

}  // namespace

Index Traffic::moved() const { return std::accumulate(arrived.begin(), arrived.end(), Index{0}); }

Index SitesRun::paper() const {
  return std::accumulate(traffic.begin(), traffic.end(), Index{0},
                         [](Index n, const Traffic& t) { return n + t.paper; });
}
Index SitesRun::moved() const {
  return std::accumulate(traffic.begin(), traffic.end(), Index{0},
                         [](Index n, const Traffic& t) { return n + t.moved(); });
}

SitesRun run_on_sites(std::span<const Expr> roots, const Data& data, const Sites& sites) {
  SitesRun run;
  const auto count = static_cast<std::size_t>(sites.mesh.sites());
  for (const Expr& e : nodes_of(roots)) {
    TDSL_CHECK(e->sound && e->type.layout, "only verified expressions on sites run on sites");
    std::vector<Tuples> held;
    if (const auto* input = as<Input>(e)) {
      held = placed(input_of(*e, data), Places(*e->type.layout, e->type.keys.frontier(), sites), input->name, count);
    } else if (const auto* opaque = as<Opaque>(e)) {
      std::vector<Tuples> whole;
      for (const Expr& operand : e->operands) whole.push_back(gathered(run.values.at(operand->id)));
      std::vector<const Tuples*> operands;
      std::ranges::transform(whole, std::back_inserter(operands), [](const Tuples& t) { return &t; });
      const Places places(*e->type.layout, e->type.keys.frontier(), sites);
      held = placed(apply(*e, operands, data.calls), places, opaque->name, count);
    } else if (as<Redistribute>(e) != nullptr) {
      held = redistributed(e, run.values.at(e->operands[0]->id), sites, run.traffic.emplace_back(Traffic{e, 0, {}}));
    } else {
      for (std::size_t site = 0; site < count; ++site) {
        std::vector<const Tuples*> operands;
        for (const Expr& operand : e->operands) operands.push_back(&run.values.at(operand->id)[site]);
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
  const Places places(*type.layout, type.keys.frontier(), sites);
  std::map<Key, Index> tuples;  // number of tuples per key, excluding copies
  for (std::size_t site = 0; site < held.size(); ++site) {
    const std::size_t first = first_copy(places, *type.layout, site);
    if (held[site] != held[first]) return fmt::format("sites {} and {} should hold copies", first, site);
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
