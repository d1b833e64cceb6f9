#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/signature.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::tests {

/// A layout for nearly every operation, made up from a seed and the operation's numbers: equal on all ranks, good for nothing. A quarter of
/// them is on one rank or on all, three eighths are copies along some axes (if the mesh has several); an eighth is left to the planner.
class RandomPlan : public plan::Imposed {
 public:
  RandomPlan(std::uint64_t seed, const plan::PlanInputs& inputs) : seed_(seed) {
    const std::vector<plan::Mesh> meshes = plan::meshes_of(inputs.ranks, inputs.ranks_per_node);
    mesh_ = meshes[seed % meshes.size()];
  }
  [[nodiscard]] const plan::Mesh& mesh() const override { return mesh_; }
  [[nodiscard]] const plan::Layout* layout_for(const plan::Op& op) override {
    const plan::KnownOperands nothing{[](plan::TensorId) { return nullptr; }, [](plan::TensorId) { return nullptr; }};
    const std::string key = std::to_string(op.site) + ' ' + plan::signature_of(op, nothing);
    const auto [known, fresh] = layouts_.try_emplace(key);
    if (fresh) known->second = draw(op, key);
    return known->second ? &*known->second : nullptr;
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
      return plan::Layout{std::vector<plan::Axes>(slots), h % 8 == 0, home, std::nullopt};
    }
    std::vector<plan::Index> most;
    for (std::size_t d = 0; d < op.shape.size(); ++d) most.push_back(op.is_uncut(d) || op.out[d].label == plan::kNoLabel ? 1 : op.shape[d]);
    for (const plan::ReduceLabel& r : op.reduce) {
      most.push_back(op.combine == plan::Combine::kNone || op.base >= 0 ? 1 : op.labels[plan::idx(r.label)].range.size());
    }
    std::vector<plan::Layout> layouts = plan::copy_layouts(mesh_, most);
    layouts.erase(layouts.begin());  // everywhere
    if (layouts.empty() || h % 8 >= 5) layouts = plan::spread_layouts(mesh_, most);
    return layouts[h / 8 % layouts.size()];
  }

  std::uint64_t seed_;
  plan::Mesh mesh_;
  std::map<std::string, std::optional<plan::Layout>> layouts_;
};

}  // namespace tdsl::tests
