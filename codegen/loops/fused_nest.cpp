#include <algorithm>
#include <numeric>
#include <set>

#include "codegen/loops/fused_nest_builder.h"
#include "codegen/loops/matrix_product.h"
#include "codegen/operations/describe.h"
#include "ir/graph/group.h"

namespace tdsl::codegen {

namespace {

/// Longest description that becomes the name of an unnamed value.
constexpr std::size_t kLongestName = 32;

Extent length_of(const ir::Label& l) { return l.end - l.begin; }

}  // namespace

FusedNestBuilder::FusedNestBuilder(const NestRequest& request, const OperationStep& step)
    : ComputeNest(request), step_(step), op_(*step.op), fused_(*step.fused) {
  nest_.form = nest::Form::kRows;
  outer_ = result().shared.size() - 1;
  block_ = shared_label(outer_);
  in_blocks_ = std::ranges::any_of(fused_.members,
                                   [this](const Member& m) { return !m.walks() || (!is_result(m) && is_stored(m)); });
  add_captures();
  add_indices();
  for (std::size_t k = 0; k < op_.reads.size(); ++k)
    operands_.push_back(added(operand_variable(op_.reads[k].tensor, static_cast<int>(k))));
  take_places();
  for (const Member& m : fused_.members) {
    if (is_stored(m)) values_[m.value] = variable(m);
  }
}

BuiltNest FusedNestBuilder::run() {
  std::vector<int> around(outer_);
  for (std::size_t f = 0; f < outer_; ++f) around[f] = shared_label(f);
  labels_ = numbered(0, op_.labels.size());
  loops(around, false, [&] {
    Body body = collected([&] {
      for (const Members& part : in_walks()) part.front()->walks() ? walk(part) : statements(*part.front());
    });
    if (!in_blocks_) return append(std::move(body));
    const bool products =
        blocked_ || std::ranges::any_of(fused_.members, [](const Member& m) { return matrix_product(m).has_value(); });
    add(nest::For{block_, nest::Blocks{of_nest(bytes_per_row()), products, coded_}, nest::Order::kSerial,
                  std::move(body)});
    for (const Member& m : fused_.members) {
      if (is_symmetric(m)) add(nest::Mirror{values_.at(m.value), indices_of(m).front()});
    }
  });
  nest_.fresh = collected([&] {
    for (const Member& m : fused_.members) {
      if (is_result(m) && (m.closes() || m.walks())) add(nest::Fill{values_.at(m.value), identity(m)});
    }
  });
  nest_.body = std::move(top_);
  for (std::size_t k = 0; k < op_.labels.size(); ++k) {
    if (nest_.indices[k].name.empty()) nest_.indices[k].name = unused_name(op_.labels[k].name);
  }
  return {std::move(nest_), std::move(captured_), widest_};
}

int FusedNestBuilder::shared_label(std::size_t f) const {
  return result().closes() ? static_cast<int>(op_.labels.size() - result().shared.size() + f) : result().shared[f];
}

Expr FusedNestBuilder::part(const Expr& e) {
  if (const auto* i = std::get_if<ir::IndexRef>(&e->op))
    return ir::index_ref(labels_[static_cast<std::size_t>(i->label)], e->range);
  const auto* r = std::get_if<ir::Read>(&e->op);
  if (r == nullptr) return {};
  if (program_.is_host(r->tensor)) return ir::read(e->type, captured(r->tensor), {}, e->range);
  if (const auto scalar = row_values_.find(r->tensor); scalar != row_values_.end()) return local_read(scalar->second);
  const auto operand = fused_.operand.find(e.id());
  if (const auto scalar = operand == fused_.operand.end() ? row_elements_.end() : row_elements_.find(operand->second);
      scalar != row_elements_.end())
    return local_read(scalar->second);
  const auto member = values_.find(r->tensor);
  const ValueId v = member != values_.end() ? member->second : operands_[number_of(e)];
  std::vector<Expr> subscripts;
  for (std::size_t d = is_local(v) ? outer_ : 0; d < r->subscripts.size(); ++d)
    subscripts.push_back(of_nest(r->subscripts[d]));
  return ir::read(e->type, v, std::move(subscripts), e->range);
}

nest::For FusedNestBuilder::enter(int label) {
  return {labels_[static_cast<std::size_t>(label)], nest::TaskRange{}, nest::Order::kSerial, {}};
}

bool FusedNestBuilder::vectorises(int label, const Body& body) const {
  return nest::not_simd(nest_, labels_[static_cast<std::size_t>(label)], body).empty();
}

bool FusedNestBuilder::line(ValueId total, std::span<const int> labels) {
  loops(labels.first(labels.size() - 1), false, [&] { row(total, labels.back()); });
  return true;
}

std::size_t FusedNestBuilder::number_of(const Expr& read) const {
  return static_cast<std::size_t>(fused_.operand.at(read.id()));
}

ValueId FusedNestBuilder::captured(ValueId v) {
  if (!captures_.contains(v)) capture(v);
  return captures_.at(v);
}

void FusedNestBuilder::add_captures() {
  std::set<ValueId> values;
  const auto add_all = [&](const Extent& e) {
    std::ranges::for_each(e.values(), [&](ValueId v) { values.insert(v); });
  };
  for_each_use(program_, {{}, step_}, [&](ValueId v) {
    if (program_.is_host(v)) values.insert(v);
  });
  for (const SymbolicAccess& read : op_.reads) std::ranges::for_each(program_.type(read.tensor).shape, add_all);
  std::ranges::for_each(program_.type(step_.target).shape, add_all);
  for (const SymbolicLabel& l : op_.labels) add_all(l.range.lo), add_all(l.range.hi);
  for (const Member& m : fused_.members) {
    for (int l = 0; l < m.label_count(); ++l) add_all(m.label(l).begin), add_all(m.label(l).end);
    add_all(m.place.value_or(Extent()));
  }
  for (const ValueId v : values) capture(v);
}

void FusedNestBuilder::add_indices() {
  std::set<int> cut;
  for (std::size_t f = 0; f <= outer_; ++f) cut.insert(shared_label(f));
  for (int k = 0; k < static_cast<int>(op_.labels.size()); ++k) {
    const SymbolicLabel& l = op_.labels[static_cast<std::size_t>(k)];
    const bool whole = !cut.contains(k);
    nest_.indices.push_back({k == block_ && in_blocks_ ? "rows"
                             : whole                   ? ""
                                                       : l.name,
                             true, of_nest(l.range.lo), of_nest(l.range.hi)});
    nest_.indices.back().whole = whole;
  }
}

std::vector<int> FusedNestBuilder::indices_of(const Member& m) {
  std::vector<int> indices, used;
  // The indices of a walk are fixed by its first member; further loops run inside of them.
  if (m.walks()) {
    for (const std::int32_t l : m.compute.iteration->driver().labels) used.push_back(walk_index(m, l));
  }
  // Guards of walks are no groups.
  const auto group = m.compute.guard && !m.walks() ? ir::group_of(m.compute) : std::nullopt;
  for (int l = 0; l < m.label_count(); ++l) {
    const auto shared = std::ranges::find(m.shared, l);
    if (m.walks() &&
        std::ranges::find(m.compute.iteration->driver().labels, l) != m.compute.iteration->driver().labels.end()) {
      indices.push_back(walk_index(m, l));
      continue;
    }
    if (m.is_outer(l)) {
      indices.push_back(shared_label(static_cast<std::size_t>(shared - m.shared.begin())));
      used.push_back(indices.back());
      continue;
    }
    const ir::Label& label = m.label(l);
    nest::Index index{label.name.empty() ? "k" : label.name, true, of_nest(label.begin), of_nest(label.end)};
    index.whole = !m.counts_rows(l);
    index.block = m.counts_rows(l) ? block_ : -1;
    if (group && l == group->label) index.of_task = index.whole = false;
    indices.push_back(shared_index(std::move(index), used));
    used.push_back(indices.back());
  }
  return indices;
}

std::string FusedNestBuilder::unused_name(const std::string& name) const {
  std::string unused = name;
  for (int copy = 2; std::ranges::find(nest_.indices, unused, &nest::Index::name) != nest_.indices.end(); ++copy)
    unused = name + "_" + std::to_string(copy);
  return unused;
}

int FusedNestBuilder::shared_index(nest::Index index, const std::vector<int>& used) {
  const std::string name = index.name;
  for (int copy = 1;; ++copy) {
    if (copy > 1) index.name = name + "_" + std::to_string(copy);
    const auto known = std::ranges::find(nest_.indices, index.name, &nest::Index::name);
    const int k = static_cast<int>(known - nest_.indices.begin());
    if (known == nest_.indices.end()) {
      nest_.indices.push_back(std::move(index));
      return k;
    }
    const bool same = known->of_task == index.of_task && known->begin == index.begin && known->end == index.end &&
                      known->whole == index.whole && known->block == index.block;
    if (same && std::ranges::find(used, k) == used.end()) return k;
  }
}

ValueId FusedNestBuilder::variable(const Member& m) {
  if (const auto taken = in_place_.find(m.value); taken != in_place_.end()) return values_.at(taken->second);
  const std::string& known = program_.info(m.value).name;
  const std::string text = known.empty() ? describe(program_, m.compute) : known;
  nest::Variable made{is_result(m) ? Role::kResult : Role::kLocal,
                      &m == &result() && !m.place   ? title_of(program_, step_.target)
                      : text.size() <= kLongestName ? text
                                                    : "part",
                      {m.type, {}, {}}};
  for (std::size_t d = is_result(m) ? 0 : outer_; d < m.compute.out.size(); ++d) {
    made.type.shape.push_back(of_nest(length_of(m.compute.out[d])));
    if (is_result(m)) made.origin.push_back(of_nest(m.compute.out[d].begin));
  }
  if (m.place) made.place = of_nest(*m.place);
  return added(std::move(made));
}

void FusedNestBuilder::take_places() {
  for (std::size_t k = 0; k + 1 < fused_.members.size(); ++k) {
    const Member& m = fused_.members[k];
    if (m.compute.monoid || m.compute.out.empty() || m.walks()) continue;
    for (std::size_t from = 0; from < k; ++from) {
      const Member& before = fused_.members[from];
      const bool free =
          std::ranges::none_of(in_place_, [&](const auto& entry) { return entry.second == before.value; });
      if (!free || before.walks() || !same_elements(before, m) || !ends_in(before, k)) continue;
      in_place_[m.value] = before.value;
      break;
    }
  }
}

bool FusedNestBuilder::same_elements(const Member& before, const Member& m) {
  return before.type == m.type && !before.closes() &&
         std::ranges::equal(before.compute.out, m.compute.out, [](const ir::Label& a, const ir::Label& b) {
           return a.begin == b.begin && a.end == b.end && a.begin == Extent(0);
         });
}

bool FusedNestBuilder::ends_in(const Member& before, std::size_t k) const {
  std::vector<std::int32_t> same(before.compute.out.size());
  std::iota(same.begin(), same.end(), 0);
  bool here = false, only = true;
  for (std::size_t reader = 0; reader < fused_.members.size(); ++reader) {
    ir::for_each_node(fused_.members[reader].compute.bodies[0], [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || r->tensor != before.value) return;
      here = here || reader == k;
      only = only && (reader < k || (reader == k && is_read(n, same, before.type)));
    });
  }
  return here && only;
}

bool FusedNestBuilder::is_read(const ir::ExprNode& e, const std::vector<std::int32_t>& labels, ir::Scalar type) const {
  const auto* r = std::get_if<ir::Read>(&e.op);
  return r != nullptr && e.type == type && !program_.is_host(r->tensor) &&
         std::ranges::equal(r->subscripts, labels, ir::is_label);
}

Extent FusedNestBuilder::bytes_per_row() const {
  Extent bytes;
  for (const SymbolicAccess& a : op_.reads) {
    const bool by_rows = std::ranges::any_of(
        a.dims, [&](const SymbolicDim& d) { return !d.terms.empty() && d.terms[0].label == block_; });
    Extent elements(ir::size_of(program_.type(a.tensor).scalar));
    for (const SymbolicDim& d : a.dims) {
      if (d.terms.empty()) elements = elements * (d.offset.hi - d.offset.lo);
    }
    if (by_rows) bytes = bytes + elements;
  }
  for (const Member& m : fused_.members) {
    if (m.closes() || !is_stored(m) || in_place_.contains(m.value)) continue;
    Extent elements(ir::size_of(m.type));
    for (std::size_t d = m.shared.size(); d < m.compute.out.size(); ++d)
      elements = elements * length_of(m.compute.out[d]);
    bytes = bytes + elements;
  }
  return bytes;
}

BuiltNest build_rows_nest(const NestRequest& request, const OperationStep& step) {
  return FusedNestBuilder(request, step).run();
}

}  // namespace tdsl::codegen
