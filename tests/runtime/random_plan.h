#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/signature.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::tests {

/// A random layout for nearly every operation, derived from a seed and the operation's numbers: equal on all ranks, and
/// not efficient. A quarter is on one rank or on all, three eighths are copies along some axes (if the mesh has
/// several); an eighth is left to the planner. Seeds divisible by three distribute blocks individually instead, mostly
/// by tables.
class RandomPlan : public plan::Imposed {
 public:
  RandomPlan(std::uint64_t seed, const plan::PlanInputs& inputs) : seed_(seed) {
    const std::vector<plan::Mesh> meshes = plan::meshes_of(inputs.ranks, inputs.ranks_per_node);
    mesh_ = meshes[seed % meshes.size()];
  }
  [[nodiscard]] const plan::Mesh& mesh() const override { return mesh_; }
  [[nodiscard]] const plan::Layout* layout_for(const plan::Op& op, plan::Index /*execution*/) override {
    const plan::KnownOperands nothing{[](plan::TensorId) { return nullptr; }, [](plan::TensorId) { return nullptr; }};
    const std::string key = std::to_string(op.site) + ' ' + plan::signature_of(op, nothing);
    const auto [known, fresh] = layouts_.try_emplace(key);
    if (fresh) known->second = draw(op, key);
    return known->second ? &*known->second : nullptr;
  }

  [[nodiscard]] plan::Index shift_of(int /*site*/, plan::Index /*execution*/) const override { return 0; }

  /// Every third tensor has a copy, which half of its readers use.
  [[nodiscard]] const plan::KeptCopy* copy_of(const plan::Op& op) override {
    if (op.shape.empty() || op.outputs.size() != 1 ||
        (seed_ / 3 + static_cast<std::uint64_t>(op.site + op.shape.front())) % 3 != 0)
      return nullptr;
    const auto [known, fresh] = copies_.try_emplace(op.shape);
    if (fresh) {
      const std::vector<plan::Layout> layouts = plan::copy_layouts(mesh_, op.shape);
      known->second.layout = layouts[seed_ / 7 % layouts.size()];
      for (int site = 0; site < 1000; ++site) {
        if ((seed_ + static_cast<std::uint64_t>(site)) % 2 == 0) known->second.readers.push_back(site);
      }
    }
    return &known->second;
  }

 private:
  [[nodiscard]] std::optional<plan::Layout> draw(const plan::Op& op, const std::string& key) const {
    std::uint64_t h = seed_ * 0x9e3779b97f4a7c15ULL;
    for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    h ^= h >> 29;
    const std::size_t slots = op.shape.size() + op.reduce.size();
    if (h % 8 == 7) return std::nullopt;
    if (h % 8 < 2) {
      const auto home = static_cast<plan::Index>(h / 8 % static_cast<std::uint64_t>(mesh_.ranks()));
      return plan::Layout{.cut = std::vector<plan::Axes>(slots), .repeated = h % 8 == 0, .home = home, .map = {}};
    }
    std::vector<plan::Index> most;
    for (std::size_t d = 0; d < op.shape.size(); ++d)
      most.push_back(op.is_uncut(d) || op.out[d].label == plan::kNoLabel ? 1 : op.shape[d]);
    for (const plan::ReduceLabel& r : op.reduce) {
      most.push_back(op.combine == plan::Combine::kNone || op.base >= 0 ? 1
                                                                        : op.labels[plan::idx(r.label)].range.size());
    }
    if (slots > 0 && seed_ % 3 == 0)
      return plan::Layout{.cut = std::vector<plan::Axes>(slots), .map = draw_map(op, most, h / 8)};
    std::vector<plan::Layout> layouts = plan::copy_layouts(mesh_, most);
    layouts.erase(layouts.begin());  // replicated
    if (layouts.empty() || h % 8 >= 5) layouts = plan::spread_layouts(mesh_, most);
    return layouts[h / 8 % layouts.size()];
  }

  /// Blocks with arbitrary owners: a table, or cyclic. Some are incompatible with imposed tiles and cannot be realised.
  [[nodiscard]] plan::BlockMap draw_map(const plan::Op& op, const std::vector<plan::Index>& most,
                                        std::uint64_t h) const {
    const auto draw_below = [&h](plan::Index n) {
      h = h * 0xd1342543de82ef95ULL + 1;
      return static_cast<plan::Index>((h >> 33) % static_cast<std::uint64_t>(n));
    };
    plan::BlockMap map;
    int splits = op.most_split_labels();
    for (std::size_t s = 0; s < most.size(); ++s) {
      const bool whole = s >= op.shape.size() && (splits == 0 || draw_below(2) == 0);
      map.blocks.push_back(whole ? 1 : 1 + draw_below(std::max<plan::Index>(1, std::min<plan::Index>(most[s], 6))));
      splits -= s >= op.shape.size() && map.blocks.back() > 1 ? 1 : 0;
    }
    const bool split = std::any_of(map.blocks.begin() + static_cast<std::ptrdiff_t>(op.shape.size()), map.blocks.end(),
                                   [](plan::Index n) { return n > 1; });
    if (!split) map.blocks.resize(op.shape.size());
    if (map.blocks.empty()) map.blocks.assign(1, 1);
    if (draw_below(3) == 0 && !split) {
      map.over.assign(map.blocks.size(), 1);
      map.over[static_cast<std::size_t>(draw_below(static_cast<plan::Index>(map.over.size())))] = mesh_.ranks();
      map.first = draw_below(mesh_.ranks());
      return map;
    }
    for (plan::Index k = map.count(); k > 0; --k)
      map.owners.push_back(static_cast<std::int32_t>(draw_below(mesh_.ranks())));
    return map;
  }

  std::uint64_t seed_;
  plan::Mesh mesh_;
  std::map<std::string, std::optional<plan::Layout>> layouts_;
  std::map<std::vector<plan::Index>, plan::KeptCopy> copies_;  ///< by shape
};

}  // namespace tdsl::tests
