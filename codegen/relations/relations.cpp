#include "codegen/relations/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/relations/blocks.h"
#include "codegen/relations/kernel.h"
#include "codegen/relations/layouts.h"
#include "ir/algebra/rules/moves.h"
#include "ir/graph/check.h"
#include "runtime/check.h"

namespace tdsl::codegen {

using plan::Index;
using plan::TensorId;

namespace {

using Relation = algebra::Expr;

/// An operand or intermediate result: the labels of its key dimensions and of each array of its blocks.
struct Labelled {
  Relation value;
  LabelList keys;
  std::vector<LabelList> arrays;
};

class Translation {
 public:
  Translation(const plan::Region& region, const Bodies& bodies, const RelationRequest& request)
      : region_(region),
        bodies_(bodies),
        plan_(request.sites ? request.plan : nullptr),
        blocks_(region, request.plan, request.blocks),
        pool_(*made_.pool) {
    if (plan_ == nullptr) return;
    for (const plan::MeshAxis& axis : plan_->mesh.axes) made_.mesh.sizes.push_back(axis.size);
  }

  Relations run() {
    for (std::size_t k = 0; k < region_.ops.size(); ++k) operation(k);
    if (made_.program.results.empty()) unread();
    return std::move(made_);
  }

 private:
  // --- Relations and their placement
  [[nodiscard]] std::size_t axes() const { return plan_->mesh.axes.size(); }
  [[nodiscard]] algebra::Layout loose() const { return algebra::Layout::loose(static_cast<int>(axes())); }
  /// The layout of an output of an operation without reduction across sites; loose if the plan cannot express it.
  std::optional<algebra::Layout> layout_of(const std::optional<Placed>& placed, std::size_t rank) const {
    if (plan_ == nullptr) return std::nullopt;
    if (!placed) return loose();
    return on_sites(placed->result ? *placed->result : placed->work, first_slots(rank), axes()).value_or(loose());
  }
  algebra::Key frontier_of(TensorId id) {
    algebra::Key frontier;
    for (std::size_t d = 0; d < tensors_.at(id).shape.size(); ++d) frontier.push_back(blocks_.of(id, d).blocks);
    return frontier;
  }
  algebra::Bounds bounds_of(TensorId id) {
    algebra::Bounds bounds;
    for (std::size_t d = 0; d < tensors_.at(id).shape.size(); ++d) bounds.push_back(blocks_.of(id, d).size);
    return bounds;
  }
  void note_padding(const plan::Op& op, const plan::TensorDesc& tensor) {
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const RelationBlocks::Cut cut = blocks_.of(tensor.id, d);
      if (!cut.padded) continue;
      const std::string note = fmt::format("line {}, {}: {} elements as {} blocks of {}", rt::line_in(op.line), op.name,
                                           tensor.shape[d], cut.blocks, cut.size);
      if (std::ranges::find(made_.padded, note) == made_.padded.end()) made_.padded.push_back(note);
    }
  }
  std::string unused_name(const std::string& name) {
    std::string unused = name;
    for (int k = 2; !names_.insert(unused).second; ++k) unused = fmt::format("{} ({})", name, k);
    return unused;
  }
  /// The relation as placed for a reader at this site.
  Relation operand(TensorId id, int site) const {
    const auto copy = copies_.find(id);
    if (copy != copies_.end() && std::ranges::count(copy->second.readers, site) > 0) return copy->second.value;
    return made_.tensors.at(id);
  }
  Relation moved(Relation value, const std::optional<algebra::Layout>& to, RelationStep& step) {
    if (!to || !value->type.layout || *value->type.layout == *to) return value;
    const Relation at = pool_.redistribute(value, *to);
    if (std::ranges::find(step.moves, at) == step.moves.end()) step.moves.push_back(at);
    return at;
  }
  void keep(TensorId id, Relation value, const std::optional<Placed>& placed, RelationStep& step) {
    made_.tensors[id] = value;
    if (!placed || !placed->copy) return;
    const auto layout = on_sites(*placed->copy, first_slots(tensors_.at(id).shape.size()), axes());
    if (layout) copies_[id] = {moved(value, layout, step), placed->readers};
  }

  // --- Operations
  void operation(std::size_t k) {
    const plan::Op& op = region_.ops[k].op;
    for (const plan::TensorDesc& output : op.outputs) {
      tensors_.emplace(output.id, output);
      note_padding(op, output);
    }
    switch (op.op_class) {
      case plan::OpClass::kLoad:
      case plan::OpClass::kSource: return source(k);
      case plan::OpClass::kStore:
      case plan::OpClass::kCollect: return results(op);
      case plan::OpClass::kControl: return;
      default: break;
    }
    RelationStep step;
    step.op = k;
    if (!op.outputs.empty()) step.element_bytes = op.outputs[0].element.bytes;
    const std::optional<Placed> placed = plan_ == nullptr ? std::nullopt : placed_by(*plan_, op);
    const auto reason = opaque_because(op, tensors_);
    const bool on_mesh = plan_ == nullptr || (placed && on_sites(placed->work, {}, axes()) &&
                                              (!placed->result || on_sites(*placed->result, {}, axes())));
    step.opaque = reason    ? *reason
                  : on_mesh ? ""
                  : placed  ? "its ranks are no cut of the mesh"
                            : "the plan does not place it";
    step.opaque.empty() ? expression(op, placed, step) : opaque(op, placed, step);
    made_.steps.push_back(std::move(step));
  }

  void source(std::size_t k) {
    const plan::Op& op = region_.ops[k].op;
    const TensorId id = op.outputs[0].id;
    const std::optional<Placed> placed = plan_ == nullptr ? std::nullopt : placed_by(*plan_, op);
    const std::string name = unused_name(op.name);
    RelationStep copy;
    copy.op = k;
    keep(id, pool_.input({name, frontier_of(id), {}, {bounds_of(id)}, layout_of(placed, op.shape.size())}), placed,
         copy);
    if (!copy.moves.empty()) {
      copy.element_bytes = op.outputs[0].element.bytes;
      made_.steps.push_back(std::move(copy));
    }
    const auto body = bodies_.find(id);
    if (body == bodies_.end() || !made_.padded.empty()) return;
    made_.inputs.emplace(name, source_tuples(op, body->second));
  }
  /// The tuples computed by a source without operands.
  algebra::Tuples source_tuples(const plan::Op& op, const Body& body) {
    std::vector<Index> extents;
    std::vector<int> counted(op.labels.size(), -1);
    for (const plan::LabelDesc& label : op.labels) extents.push_back(label.range.size());
    algebra::Block positions;
    for (const int label : counting_labels(body)) {
      counted[static_cast<std::size_t>(label)] = static_cast<int>(positions.size());
      positions.push_back(counting(extents[static_cast<std::size_t>(label)]));
    }
    return algebra::tuples_of({evaluated(body, extents, counted, positions)}, frontier_of(op.outputs[0].id));
  }
  static algebra::Array counting(Index extent) {
    algebra::Array array{{extent}, {}};
    for (Index k = 0; k < extent; ++k) array.elements.push_back(static_cast<double>(k));
    return array;
  }

  void results(const plan::Op& op) {
    std::vector<TensorId> seen;
    for (const plan::Access& access : op.reads) {
      if (std::ranges::find(seen, access.tensor) == seen.end()) seen.push_back(access.tensor);
    }
    for (const TensorId id : seen) {
      const std::string name = seen.size() == 1 ? op.name : tensors_.at(id).name;
      const bool known = std::ranges::any_of(
          made_.program.results, [&](const auto& r) { return r.name == name && r.value == made_.tensors.at(id); });
      if (!known) made_.program.results.push_back({name, made_.tensors.at(id)});
    }
  }
  /// Results of a region without effects.
  void unread() {
    std::set<TensorId> read;
    for (const plan::RegionOp& recorded : region_.ops) {
      for (const plan::Access& access : recorded.op.reads) read.insert(access.tensor);
      if (recorded.op.base >= 0) read.insert(recorded.op.base);
    }
    for (const plan::RegionOp& recorded : region_.ops) {
      for (const plan::TensorDesc& output : recorded.op.outputs) {
        const auto found = made_.tensors.find(output.id);
        if (found != made_.tensors.end() && !read.contains(output.id))
          made_.program.results.push_back({recorded.op.name, found->second});
      }
    }
  }

  void opaque(const plan::Op& op, const std::optional<Placed>& placed, RelationStep& step) {
    // An operation that reads everything on one site or on all has its operands moved there; others fetch parts of
    // them.
    const auto whole = [](const plan::Access& access) {
      return std::ranges::all_of(access.dims, [](const plan::DimAccess& d) { return d.whole; });
    };
    std::optional<algebra::Layout> there;
    if (placed && placed->work.whole() && std::ranges::all_of(op.reads, whole))
      there = on_sites(placed->work, {}, axes());
    std::vector<Relation> operands;
    for (const plan::Access& access : op.reads) operands.push_back(moved(operand(access.tensor, op.site), there, step));
    if (op.base >= 0) operands.push_back(operand(op.base, op.site));
    for (const plan::TensorDesc& output : op.outputs) {
      const std::string name =
          unused_name(fmt::format("{} {}", name_of(op.op_class), op.outputs.size() == 1 ? op.name : output.name));
      algebra::Opaque node{
          name, frontier_of(output.id), {bounds_of(output.id)}, layout_of(placed, output.shape.size())};
      const Relation value = pool_.make(std::move(node), operands);
      if (op.outputs.size() == 1) step.value = value;
      keep(output.id, value, op.outputs.size() == 1 ? placed : std::nullopt, step);
    }
  }

  void expression(const plan::Op& op, const std::optional<Placed>& placed, RelationStep& step) {
    const TensorId id = op.outputs[0].id;
    const auto found = bodies_.find(id);
    std::optional<Body> known;
    if (found != bodies_.end()) known = reading_diagonals(found->second);
    if (known && !op.reduce.empty() && op.base >= 0) {  // without the base it is added to
      known->compute.base.reset();
      known->compute.combine.reset();
      known->operands.pop_back();
    }
    const Body* const body = known ? &*known : nullptr;
    const BlockWork work = work_of(op);
    Relation value = joined(op, body, work, placed, step);
    if (!op.reduce.empty()) {
      const algebra::Kernel by = meeting(op.combine);
      const bool spread =
          value->type.pieces.has_value() || (value->type.layout && !value->type.layout->loose_axes().empty());
      if (spread && placed->result) {
        value = moved(value, on_sites(*placed->result, first_slots(op.shape.size()), axes()), step);
        value = pool_.aggregate(value, algebra::all_dims(op.shape.size()), by);
      }
      if (op.base >= 0) {
        const algebra::Dims all = algebra::all_dims(op.shape.size());
        value = pool_.join(moved(operand(op.base, op.site), value->type.layout, step), value, all, all, by);
      }
    }
    step.value = value;
    keep(id, value, placed, step);
  }

  /// The operands' labels and block extents; operands are filled in by `joined`.
  BlockWork work_of(const plan::Op& op) {
    BlockWork work;
    const TensorId id = op.outputs[0].id;
    work.extents.assign(op.labels.size(), 1);
    keys_.assign(op.labels.size(), 1);
    for (const plan::LabelDesc& label : op.labels) work.names.push_back(label.name);
    const auto enter = [&](int label, RelationBlocks::Cut cut) {
      work.extents[static_cast<std::size_t>(label)] = cut.size;
      keys_[static_cast<std::size_t>(label)] = cut.blocks;
    };
    for (std::size_t d = 0; d < op.shape.size(); ++d) {
      work.result.push_back(op.out[d].label);
      enter(op.out[d].label, blocks_.of(id, d));
    }
    for (const plan::Access& access : op.reads) {
      work.operands.emplace_back();
      for (std::size_t d = 0; d < access.dims.size(); ++d) {
        work.operands.back().push_back(access.dims[d].terms[0].label);
        enter(work.operands.back().back(), blocks_.of(access.tensor, d));
      }
      if (reads_diagonal(access)) work.operands.back().pop_back();
    }
    if (op.base >= 0 && op.reduce.empty()) work.operands.push_back(work.result);
    if (!op.reduce.empty()) work.combine = op.combine;
    return work;
  }

  /// The slots of the task space with these labels.
  static std::vector<std::size_t> slots_of(const plan::Op& op, const LabelList& labels) {
    std::vector<std::size_t> slots;
    for (const int label : labels) {
      std::size_t slot = 0;
      while (slot < op.shape.size() && op.out[slot].label != label) ++slot;
      if (slot == op.shape.size()) {
        while (op.reduce[slot - op.shape.size()].label != label) ++slot;
      }
      slots.push_back(slot);
    }
    return slots;
  }
  /// The layout required of an operand with these labels.
  std::optional<algebra::Layout> needed(const plan::Op& op, const LabelList& labels,
                                        const std::optional<Placed>& placed) const {
    if (plan_ == nullptr) return std::nullopt;
    return on_sites(placed->work, slots_of(op, labels), axes());
  }
  /// The diagonal of a matrix, moved as blocks: only those with equal keys exist.
  Relation diagonal(Relation matrix, const std::optional<algebra::Layout>& to, RelationStep& step) {
    using algebra::Comparison;
    const Comparison equal{Comparison::Relation::kEqual, algebra::key_value(0), algebra::key_value(1)};
    const Relation blocks = moved(pool_.filter(matrix, algebra::Predicate({equal})), to, step);
    algebra::Kernel diag;
    diag.kind = algebra::Kernel::Kind::kDiag;
    return pool_.map(pool_.rekey(blocks, algebra::KeyFunction::select({0})), {diag});
  }

  /// The numbers 0, 1, .. of a label as a relation that every site can generate.
  Labelled index(const plan::Op& op, int label, const std::optional<Placed>& placed) {
    const Index blocks = keys_[static_cast<std::size_t>(label)],
                size = op.labels[static_cast<std::size_t>(label)].range.size();
    const std::string name = fmt::format("0..{} by {}", size, blocks > 0 ? (size + blocks - 1) / blocks : 0);
    made_.generated.insert(name);
    if (size % blocks == 0) made_.inputs.emplace(name, algebra::tuples_of({counting(size)}, {blocks}));
    const Relation value =
        pool_.input({name, {blocks}, {}, {{(size + blocks - 1) / blocks}}, needed(op, {label}, placed)});
    return {value, {label}, {{label}}};
  }

  /// Joins all operands, applies the body's kernel to each combination of blocks, and aggregates labels missing in the
  /// result.
  Relation joined(const plan::Op& op, const Body* body, BlockWork work, const std::optional<Placed>& placed,
                  RelationStep& step) {
    std::vector<Labelled> operands;
    for (std::size_t k = 0; k < work.operands.size(); ++k) {
      const TensorId id = k < op.reads.size() ? op.reads[k].tensor : op.base;
      const LabelList& labels = work.operands[k];
      const bool diagonally = k < op.reads.size() && reads_diagonal(op.reads[k]);
      const std::optional<algebra::Layout> to = needed(op, labels, placed);
      const Relation from = operand(id, op.site);
      operands.push_back({diagonally ? diagonal(from, to, step) : moved(from, to, step), labels, {labels}});
    }
    const std::vector<int> counted = add_indices(op, body, placed, operands, work);
    const algebra::Kernels kernels = kernels_for(op, body, work, counted);
    Labelled all = operands[0];
    for (std::size_t k = 1; k < operands.size(); ++k) {
      algebra::Kernels by{algebra::Kernel{}};  // pairs, until all are joined
      if (k + 1 == operands.size()) by = kernels;
      all = pair(all, operands[k], by, work, k + 1 == operands.size());
    }
    if (operands.size() == 1) all.value = one(all, kernels, work);
    if (!work.reduces()) return all.value;
    algebra::Dims keep;
    for (const int label : work.result)
      keep.push_back(static_cast<int>(std::ranges::find(all.keys, label) - all.keys.begin()));
    step.slots = slots_of(op, all.keys);
    step.sum = pool_.aggregate(all.value, std::move(keep), meeting(op.combine));
    return step.sum;
  }

  /// Adds index relations for labels used as numbers, or missing in all operands. Returns the operand of each counting
  /// label.
  std::vector<int> add_indices(const plan::Op& op, const Body* body, const std::optional<Placed>& placed,
                               std::vector<Labelled>& operands, BlockWork& work) {
    std::set<int> missing(work.result.begin(), work.result.end());
    for (const Labelled& operand : operands) {
      for (const int label : operand.keys) missing.erase(label);
    }
    if (body != nullptr) {
      for (const int label : counting_labels(*body)) missing.insert(label);
    }
    std::vector<int> counted(op.labels.size(), -1);
    for (const int label : missing) {
      counted[static_cast<std::size_t>(label)] = static_cast<int>(operands.size());
      operands.push_back(index(op, label, placed));
      work.operands.push_back({label});
    }
    // A scalar without operands: the relation of one empty key.
    if (operands.empty()) {
      made_.generated.insert("one");
      operands.push_back({pool_.input({"one", {}, {}, {{}}, needed(op, {}, placed)}), {}, {{}}});
    }
    return counted;
  }

  algebra::Kernels kernels_for(const plan::Op& op, const Body* body, const BlockWork& work,
                               const std::vector<int>& counted) {
    if (body != nullptr && body->operands.size() == work.operands.size()) {
      if (auto known = kernels_of(*body, work)) return *known;
    }
    algebra::Bounds result;
    for (const int label : work.result) result.push_back(work.extents[static_cast<std::size_t>(label)]);
    algebra::Kernel call;
    call.kind = algebra::Kernel::Kind::kCall;
    call.text = call_name(op, body, work);
    call.result = {result};
    if (body != nullptr) {
      made_.calls.emplace(call.text, [body = *body, extents = work.extents, counted](const algebra::Block& operands) {
        return algebra::Block{evaluated(body, extents, counted, operands)};
      });
    }
    return {call};
  }
  /// Unique name per function of blocks.
  std::string call_name(const plan::Op& op, const Body* body, const BlockWork& work) {
    const std::string function = body == nullptr ? op.name : body->text;
    std::string text = function;
    for (const Index extent : work.extents) text += fmt::format(" {}", extent);
    const auto [known, fresh] = calls_.try_emplace(text);
    if (!fresh && same_function(op, known->second.second)) return known->second.first;
    known->second = {unused_name(function), op.outputs[0].id};
    return known->second.first;
  }
  /// True if two operations with equal descriptions compute the same, including host values.
  bool same_function(const plan::Op& op, TensorId other) const {
    const auto a = bodies_.find(op.outputs[0].id), b = bodies_.find(other);
    if (a == bodies_.end() || b == bodies_.end()) return a == b;
    const auto same = [](const ir::Expr& x, const ir::Expr& y) { return !x || !y ? !x && !y : ir::equal(x, y); };
    return a->second.type == b->second.type && a->second.operands == b->second.operands &&
           same(a->second.compute.bodies.front(), b->second.compute.bodies.front()) &&
           same(a->second.compute.guard, b->second.compute.guard);
  }

  static LabelList order_for(const BlockWork& work, const LabelList& keys) {
    return work.reduces() ? keys : work.result;
  }
  static algebra::KeyFunction reordered(const LabelList& keys, const LabelList& order) {
    algebra::Dims dims;
    for (const int label : order) dims.push_back(static_cast<int>(std::ranges::find(keys, label) - keys.begin()));
    return algebra::KeyFunction::select(dims);
  }

  Relation one(const Labelled& operand, const algebra::Kernels& kernels, const BlockWork& work) {
    const algebra::KeyFunction keys = reordered(operand.keys, order_for(work, operand.keys));
    if (kernels.empty() && keys.is_identity(operand.keys.size())) return operand.value;
    return pool_.make(algebra::Map{keys, kernels}, {operand.value});
  }

  Labelled pair(const Labelled& left, const Labelled& right, const algebra::Kernels& by, const BlockWork& work,
                bool last) {
    algebra::Join join;
    Labelled both{{}, left.keys, left.arrays};
    both.arrays.insert(both.arrays.end(), right.arrays.begin(), right.arrays.end());
    for (std::size_t r = 0; r < right.keys.size(); ++r) {
      const auto at = std::ranges::find(left.keys, right.keys[r]);
      if (at == left.keys.end()) {
        both.keys.push_back(right.keys[r]);
      } else {
        join.left.push_back(static_cast<int>(at - left.keys.begin()));
        join.right.push_back(static_cast<int>(r));
      }
    }
    join.by = by.front();
    join.then = {by.begin() + 1, by.end()};
    join.keys =
        last ? reordered(both.keys, order_for(work, both.keys)) : algebra::KeyFunction::identity(both.keys.size());
    both.value = pool_.make(std::move(join), {left.value, right.value});
    return both;
  }

  struct Copy {
    Relation value;
    std::vector<int> readers;
  };

  const plan::Region& region_;
  const Bodies& bodies_;
  const plan::PlanValue* plan_;
  RelationBlocks blocks_;
  Relations made_;
  algebra::Pool& pool_;
  std::map<TensorId, plan::TensorDesc> tensors_;
  std::map<TensorId, Copy> copies_;
  std::set<std::string> names_;
  std::map<std::string, std::pair<std::string, TensorId>> calls_;  ///< names, by description and block extents
  std::vector<Index> keys_;                                        ///< blocks along each label of the current operation
};

}  // namespace

std::vector<algebra::Index> Relations::arrivals(const RelationStep& step) const {
  return algebra::moved_by(step.moves, mesh);
}

Relations relations_of(const plan::Region& region, const Bodies& bodies, const RelationRequest& request) {
  return Translation(region, bodies, request).run();
}

}  // namespace tdsl::codegen
