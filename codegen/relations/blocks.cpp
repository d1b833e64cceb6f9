#include "codegen/relations/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace tdsl::codegen {

using plan::Index;
using plan::TensorId;

namespace {

/// Extents up to this are cut into single elements if shares do not divide them.
constexpr Index kFewElements = 32;

std::optional<int> plain_label(const plan::DimAccess& d, const plan::Op& op, Index extent) {
  const bool one = !d.whole && d.divisor == 1 && d.terms.size() == 1 && d.terms[0].coefficient == 1 &&
                   d.offset == plan::Interval{0, 1};
  if (!one || op.labels[static_cast<std::size_t>(d.terms[0].label)].range != plan::Interval{0, extent})
    return std::nullopt;
  return d.terms[0].label;
}

std::optional<std::string> opaque_result(const plan::Op& op) {
  std::set<int> placed;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const plan::OutSubscript& out = op.out[d];
    if (op.is_uncut(d)) return "a dimension of the result is computed as a whole";
    if (out.label == plan::kAnyLabel) return "where results go comes from data";
    if (out.label < 0 || out.coefficient != 1 || out.constant != 0) return "a part of the result is written";
    const plan::LabelDesc& label = op.labels[static_cast<std::size_t>(out.label)];
    if (label.range != plan::Interval{0, op.shape[d]}) return "a part of the result is written";
    if (!placed.insert(out.label).second) return "a diagonal of the result is written";
  }
  return std::nullopt;
}

std::optional<std::string> opaque_labels(const plan::Op& op) {
  std::set<int> known;
  for (const plan::OutSubscript& out : op.out) known.insert(out.label);
  for (const plan::ReduceLabel& r : op.reduce) known.insert(r.label);
  for (std::size_t l = 0; l < op.labels.size(); ++l) {
    if (op.labels[l].from_data) return "subscripts come from data";
    if (op.labels[l].range.lo != 0) return "an index does not begin at 0";
    if (!known.contains(static_cast<int>(l))) return "several points meet in an element";
  }
  if (!op.reduce.empty() && op.combine == plan::Combine::kNone) return "partial results cannot meet";
  return std::nullopt;
}

}  // namespace

bool reads_diagonal(const plan::Access& access) {
  return access.dims.size() == 2 && access.dims[0].terms.size() == 1 && access.dims[1].terms.size() == 1 &&
         access.dims[0].terms[0].label == access.dims[1].terms[0].label;
}

std::optional<std::string> opaque_because(const plan::Op& op, const std::map<TensorId, plan::TensorDesc>& tensors) {
  using plan::OpClass;
  if (op.op_class == OpClass::kLoop) return "a loop that is one task";
  if (op.outputs.size() != 1) return "it has several results";
  if (const auto reason = opaque_result(op)) return reason;
  if (const auto reason = opaque_labels(op)) return reason;
  std::set<int> read;
  for (const plan::Access& access : op.reads) {
    const std::vector<Index>& shape = tensors.at(access.tensor).shape;
    std::set<int> labels;
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      if (access.dims[d].whole) return "an operand is read as a whole";
      const auto label = plain_label(access.dims[d], op, shape[d]);
      if (!label) return "subscripts are no plain indices over whole dimensions";
      if (!labels.insert(*label).second && !reads_diagonal(access)) return "a diagonal is read";
    }
    read.insert(labels.begin(), labels.end());
  }
  for (const plan::ReduceLabel& r : op.reduce) {
    if (!read.contains(r.label)) return "an index that is reduced subscripts no operand";
  }
  return std::nullopt;
}

std::optional<Placed> placed_by(const plan::PlanValue& plan, const plan::Op& op) {
  const auto decided = plan.at.find(op.site);
  if (decided == plan.at.end()) return std::nullopt;
  const plan::Decision& decision = decided->second;
  const auto slots = plan::slot_names(op), dims = plan::result_names(op);
  Placed placed;
  const auto work = plan::parse_layout(decision.work, slots, plan.mesh);
  if (!work) return std::nullopt;
  placed.work = *work;
  placed.work.cut.resize(slots.size());
  const auto optional = [&](const std::string& text) {
    auto layout = text.empty() ? std::nullopt : plan::parse_layout(text, dims, plan.mesh);
    if (layout) layout->cut.resize(dims.size());
    return layout;
  };
  placed.result = optional(decision.result);
  placed.copy = optional(decision.copy);
  placed.readers = decision.readers;
  return placed;
}

RelationBlocks::RelationBlocks(const plan::Region& region, const plan::PlanValue* plan, Index blocks)
    : blocks_(blocks) {
  std::map<TensorId, plan::TensorDesc> tensors;
  for (const plan::RegionOp& recorded : region.ops) {
    for (const plan::TensorDesc& output : recorded.op.outputs) {
      tensors.emplace(output.id, output);
      enter(output);
    }
    if (!opaque_because(recorded.op, tensors)) unite(recorded.op);
  }
  if (plan == nullptr) return;
  for (const plan::RegionOp& recorded : region.ops) share(recorded.op, *plan);
}

void RelationBlocks::enter(const plan::TensorDesc& tensor) {
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    number_.emplace(Dimension{tensor.id, d}, parent_.size());
    parent_.push_back(parent_.size());
    class_.push_back({tensor.shape[d], 1});
  }
}

std::size_t RelationBlocks::root(const Dimension& dimension) const {
  std::size_t at = number_.at(dimension);
  while (parent_[at] != at) at = parent_[at];
  return at;
}

void RelationBlocks::unite(const plan::Op& op) {
  std::map<int, Dimension> first;
  const auto meet = [&](int label, const Dimension& dimension) {
    const auto [known, fresh] = first.emplace(label, dimension);
    if (!fresh) parent_[root(dimension)] = root(known->second);
  };
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    meet(op.out[d].label, {op.outputs[0].id, d});
    if (op.base >= 0) meet(op.out[d].label, {op.base, d});
  }
  for (const plan::Access& access : op.reads) {
    for (std::size_t d = 0; d < access.dims.size(); ++d) meet(access.dims[d].terms[0].label, {access.tensor, d});
  }
}

void RelationBlocks::require(const Dimension& dimension, Index shares) {
  Class& found = class_[root(dimension)];
  found.shares = std::lcm(found.shares, shares);
}

void RelationBlocks::share(const plan::Op& op, const plan::PlanValue& plan) {
  const auto placed = placed_by(plan, op);
  if (!placed || op.outputs.size() != 1) return;
  const auto shares = [&](const plan::Axes& axes) { return plan::coordinates(plan.mesh, axes); };
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const Dimension made{op.outputs[0].id, d};
    require(made, shares(placed->work.cut[d]));
    if (placed->result) require(made, shares(placed->result->cut[d]));
    if (placed->copy) require(made, shares(placed->copy->cut[d]));
  }
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    const Index parts = shares(placed->work.cut[op.shape.size() + k]);
    for (const plan::Access& access : op.reads) {
      for (std::size_t d = 0; d < access.dims.size(); ++d) {
        const auto& terms = access.dims[d].terms;
        if (terms.size() == 1 && terms[0].label == op.reduce[k].label) require({access.tensor, d}, parts);
      }
    }
  }
}

RelationBlocks::Cut RelationBlocks::of(TensorId tensor, std::size_t dim) const {
  const Class& found = class_[root({tensor, dim})];
  const Index wanted = found.shares > 1 ? found.shares : blocks_;
  if (found.extent % wanted == 0 && found.extent > 0) return {wanted, found.extent / wanted};
  if (wanted == 1) return {1, found.extent};
  if (found.extent <= kFewElements) return {std::max<Index>(found.extent, 1), std::min<Index>(found.extent, 1)};
  return {wanted, (found.extent + wanted - 1) / wanted, true};
}

}  // namespace tdsl::codegen
