#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/compute_lowering.h"
#include "codegen/describe.h"

// Note [Gathers]
// `A[p[i], j]` reads A where data says. One such read is part of the operation that makes it: the dimension becomes a
// reduce label of its own that runs over A's tiles (LabelTemplate::Kind::kGather), and a task takes those points whose
// subscript falls into the tile it has. So A is met panel by panel, or every rank looks into its own part of A and the
// partial results meet: no rank ever holds all of A. An element that is found exactly once can be combined by any operator
// that gives back a single element. An operation with several such reads gets them gathered before, each in an operation
// of its own. Reads that are evaluated only under a condition are fetched whole, with a warning.

namespace tdsl::codegen {

using ir::Compute;
using ir::Monoid;

struct ComputeLowering::Lookup {
  enum class Place : std::uint8_t { kBody, kGuard, kLeft };
  Expr read;
  std::vector<bool> data;    ///< per dimension: subscripted by data
  Place place = Place::kBody;
  bool conditional = false;  ///< stands behind a condition of its own expression
  bool inner = false;        ///< stands in a subscript of another one
};

namespace {

/// Operands below a mebibyte are fetched whole: nobody's trouble.
bool is_small(const ir::Type& type) {
  double bytes = static_cast<double>(ir::size_of(type.scalar));
  for (const Extent& e : type.shape) {
    const auto n = e.constant();
    if (!n) return false;
    bytes *= static_cast<double>(*n);
  }
  return bytes < 1 << 20;
}

std::set<std::int32_t> labels_in(const Expr& e) {
  std::set<std::int32_t> labels;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) labels.insert(r->label);
  });
  return labels;
}

bool contains(const Expr& e, const Expr& part) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) { found = found || &n == part.id(); });
  return found;
}

Expr renumbered(const Expr& e, const std::vector<std::int32_t>& number) {
  return ir::rewrite(e, [&](const Expr& n) {
    const auto* r = std::get_if<ir::IndexRef>(&n->op);
    return r == nullptr ? n : ir::index_ref(number[static_cast<std::size_t>(r->label)], n->range);
  });
}

/// Any operator under which a single element with the identity is that element.
Monoid found_once(ir::Scalar s) { return Monoid{s == ir::Scalar::kBool ? Monoid::Kind::kAny : Monoid::Kind::kMax, {}, {}, {}}; }

}  // namespace

std::vector<ComputeLowering::Lookup> ComputeLowering::lookups() {
  std::vector<Lookup> list;
  const Hoist hoist = [this](const Expr& x) { return builder_.hoist(x); };
  const std::function<void(const Expr&, Lookup::Place, bool)> visit = [&](const Expr& e, Lookup::Place place, bool conditional) {
    if (const auto* s = std::get_if<ir::Select>(&e->op)) {
      visit(s->condition, place, conditional);
      visit(s->when_true, place, true);
      visit(s->when_false, place, true);
      return;
    }
    if (const auto* b = std::get_if<ir::Binary>(&e->op); b != nullptr && ir::is_logical(b->op)) {
      visit(b->left, place, conditional);
      visit(b->right, place, true);
      return;
    }
    for (const Expr& child : ir::children(*e)) visit(child, place, conditional);
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r == nullptr || builder_.is_host(r->tensor) || is_small(builder_.type(r->tensor))) return;
    std::vector<bool> data;
    for (std::size_t d = 0; d < r->subscripts.size(); ++d) data.push_back(is_data_subscript(*r, d, hoist));
    if (std::ranges::find(data, true) == data.end()) return;
    const auto known = std::ranges::find_if(list, [&](const Lookup& l) { return l.read.id() == e.id(); });
    if (known == list.end()) {
      list.push_back({e, std::move(data), place, conditional});
    } else {
      known->conditional = known->conditional || conditional;
      if (known->place == Lookup::Place::kBody) known->place = place;
    }
  };
  for (const Expr& body : compute_.bodies) visit(body, Lookup::Place::kBody, false);
  if (compute_.guard) visit(compute_.guard, Lookup::Place::kGuard, false);
  for (const Expr& e : compute_.left) visit(e, Lookup::Place::kLeft, false);
  for (Lookup& lookup : list) {
    lookup.inner = std::ranges::any_of(list, [&](const Lookup& other) { return other.read.id() != lookup.read.id() && contains(other.read, lookup.read); });
  }
  return list;
}

const ComputeLowering::Lookup* ComputeLowering::inlined(const std::vector<Lookup>& list) {
  const Lookup* only = nullptr;
  for (const Lookup& lookup : list) {
    // Fetched whole wherever it stands.
    if (lookup.inner && lookup.conditional) continue;
    if (only != nullptr) return nullptr;
    only = &lookup;
  }
  if (only == nullptr || only->conditional || only->place != Lookup::Place::kBody) return nullptr;
  const bool possible = compute_.monoid ? combine_of(*compute_.monoid) != plan::Combine::kNone
                                        : compute_.left.empty() && !compute_.base && !compute_.combine && !compute_.fill && !compute_.guard;
  return possible ? only : nullptr;
}

void ComputeLowering::separate_lookups() {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<Lookup> list = lookups();
    if (list.empty() || inlined(list) != nullptr) return;
    // What is read under the guard is gathered under it too: the guard's own reads come first.
    std::stable_partition(list.begin(), list.end(), [](const Lookup& l) { return l.place == Lookup::Place::kGuard; });
    const bool guard_looks_up = list.front().place == Lookup::Place::kGuard;
    for (const Lookup& lookup : list) {
      if (guard_looks_up && lookup.place != Lookup::Place::kGuard) continue;
      const std::optional<Expr> replacement = gathered(lookup);
      if (!replacement) continue;
      const auto replaced = [&](const Expr& e) {
        return e ? ir::rewrite(e, [&](const Expr& n) { return n.id() == lookup.read.id() ? *replacement : n; }) : e;
      };
      for (Expr& body : compute_.bodies) body = replaced(body);
      for (Expr& e : compute_.left) e = replaced(e);
      compute_.guard = replaced(compute_.guard);
      changed = true;
      break;
    }
  }
}

std::optional<Expr> ComputeLowering::gathered(const Lookup& lookup) {
  const auto& r = std::get<ir::Read>(lookup.read->op);
  const bool guarded = lookup.place != Lookup::Place::kGuard && compute_.guard;
  if (lookup.conditional) return std::nullopt;
  // The labels it depends on; a reduction must not be spread out for its sake.
  std::set<std::int32_t> used = labels_in(lookup.read);
  std::set<std::int32_t> by_data;
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (lookup.data[d]) by_data.merge(labels_in(r.subscripts[d]));
  }
  const auto out_labels = static_cast<std::int32_t>(compute_.out.size());
  for (const std::int32_t l : used) {
    if (l >= out_labels && !by_data.contains(l)) return std::nullopt;
  }
  // Under a guard it is read once for each point of the guard, which may be one element's condition on all of a reduction.
  if (guarded) {
    for (const std::int32_t l : labels_in(compute_.guard)) {
      if (l >= out_labels && !used.contains(l)) return std::nullopt;
      used.insert(l);
    }
  }
  Compute gather;
  gather.monoid = found_once(lookup.read->type);
  if (guarded) gather.guard = compute_.guard;
  std::vector<std::int32_t> number(compute_.out.size() + compute_.reduce.size(), -1);
  std::vector<std::int32_t> back;
  for (std::size_t l = 0; l < number.size(); ++l) {
    const ir::Label& label = l < compute_.out.size() ? compute_.out[l] : compute_.reduce[l - compute_.out.size()];
    if (used.contains(static_cast<std::int32_t>(l))) {
      number[l] = static_cast<std::int32_t>(gather.out.size());
      back.push_back(static_cast<std::int32_t>(l));
      gather.out.push_back(label);
      continue;
    }
    // Without a point nothing is read, and no subscript is wrong.
    if ((label.end - label.begin).constant().value_or(0) > 0) continue;
    const Expr some = ir::binary(ir::BinaryOp::kLt, expr_of(label.begin), expr_of(label.end));
    gather.guard = gather.guard ? ir::binary(ir::BinaryOp::kAnd, some, gather.guard) : some;
  }
  gather.bodies = {renumbered(lookup.read, number)};
  if (gather.guard) gather.guard = renumbered(gather.guard, number);
  return renumbered(separately(std::move(gather), lookup.read->type, "_gathered"), back);
}

void ComputeLowering::inline_lookup(OpTemplate& op, KernelTemplate& kernel) {
  const std::vector<Lookup> list = lookups();
  const Lookup* found = inlined(list);
  if (found == nullptr) return;
  const Lookup& lookup = *found;
  const auto& r = std::get<ir::Read>(lookup.read->op);
  std::vector<int> labels(r.subscripts.size(), -1);
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    if (!lookup.data[d]) continue;
    labels[d] = static_cast<int>(op.labels.size());
    op.labels.push_back({LabelTemplate::Kind::kGather, fmt::format("at{}", d), Extent(0),
                         builder_.rewritten(builder_.type(r.tensor).shape[d], range_)});
  }
  kernel.gathers[lookup.read.id()] = std::move(labels);
  if (!compute_.monoid) compute_.monoid = found_once(type_.scalar);
}

}  // namespace tdsl::codegen
