#include "frontend/lower/state/graph.h"

#include <algorithm>
#include <functional>

#include "frontend/sema/types.h"
#include "ir/analysis/support.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

ValueId GraphBuilder::emit(ir::Op op, ir::Type type, std::string name, ir::SourceRange range) {
  const ValueId v = program_.new_value(std::move(type), std::move(name), range);
  regions_.back()->nodes.push_back({range, {v}, std::move(op)});
  return v;
}

const ir::Node* GraphBuilder::definition(ValueId v) const {
  const std::vector<ir::Node>& nodes = regions_.back()->nodes;
  const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [&](const ir::Node& n) {
    return std::ranges::find(n.results, v) != n.results.end();
  });
  return found == nodes.rend() ? nullptr : &*found;
}

void GraphBuilder::hold_constant(ValueId v) {
  for (ir::Node& n : regions_.back()->nodes) {
    if (auto* compute = std::get_if<ir::Compute>(&n.op); compute != nullptr && n.results[0] == v)
      compute->constant = true;
  }
}

ir::Found* GraphBuilder::found(ValueId v) {
  for (ir::Region* region : regions_) {
    for (ir::Node& n : region->nodes) {
      if (auto* found = std::get_if<ir::Found>(&n.op); found != nullptr && n.results[0] == v) return found;
    }
  }
  return nullptr;
}

void GraphBuilder::emit_effect(ir::Op op, ir::SourceRange range) {
  regions_.back()->nodes.push_back({range, {}, std::move(op)});
}

void GraphBuilder::emit_results(ir::Op op, std::vector<ValueId> results, ir::SourceRange range) {
  regions_.back()->nodes.push_back({range, std::move(results), std::move(op)});
}

ValueId GraphBuilder::emit(const ComputeSpec& unsettled) {
  const ComputeSpec spec = settled(unsettled);
  ir::Compute compute = compute_of(spec);
  ir::Type type = stored(spec.type, spec, compute);
  const ValueId v = emit(std::move(compute), std::move(type), spec.name, spec.range);
  remember_extent(spec, v);
  return v;
}

/// `type` with the storage of the result.
ir::Type GraphBuilder::stored(ir::Type type, const ComputeSpec& spec, const ir::Compute& compute) const {
  if (has_sparse_ && !spec.storage_given) type.format = ir::inferred_format(program_, compute, ir::Products::kImplied);
  return type;
}

void GraphBuilder::remember_extent(const ComputeSpec& spec, ValueId v) {
  if (!spec.out.empty() || !spec.reduce.empty() || !spec.left.empty() || spec.type.scalar != Scalar::kI64) return;
  if (spec.guard) return;
  if (const auto extent = frontend::extent_of(spec.body, value_extent())) value_extents_.emplace(v, *extent);
}

std::int32_t GraphBuilder::new_label(std::string name, ir::SourceRange range) {
  LabelInfo info;
  info.name = std::move(name);
  info.range = range;
  labels_.push_back(std::move(info));
  return static_cast<std::int32_t>(labels_.size() - 1);
}

std::int32_t GraphBuilder::new_label(const Extent& extent) {
  const std::int32_t id = new_label();
  label(id).resolved = true;
  label(id).end = extent;
  return id;
}

Extent GraphBuilder::extent_of_value(ValueId v) const {
  const auto found = value_extents_.find(v);
  return found == value_extents_.end() ? Extent::of(v) : found->second;
}

ValueExtent GraphBuilder::value_extent() const {
  return [this](ValueId v) { return extent_of_value(v); };
}

Extent GraphBuilder::extent_of(const Expr& e, const std::string& name) {
  TDSL_CHECK(labels_of(e).empty(), "an extent does not depend on index variables");
  if (const auto extent = frontend::extent_of(e, value_extent())) return *extent;
  ComputeSpec spec;
  spec.body = e;
  spec.type = {Scalar::kI64, {}, {}};
  spec.name = name;
  spec.range = e->range;
  return Extent::of(emit(spec));
}

std::string GraphBuilder::text(const Extent& e) const {
  return e.to_string([this](ValueId v) {
    const std::string& name = program_.info(v).name;
    return name.empty() ? "?" : name;
  });
}

std::string GraphBuilder::text(const Tensor& t) const {
  std::vector<std::string> extents;
  for (const Dim& d : t.shape) extents.push_back(text(d.extent));
  return frontend::type_text(t.scalar(), extents);
}

std::string GraphBuilder::text(const ir::Type& t) const {
  std::vector<std::string> extents;
  for (std::size_t d = 0; d < t.rank(); ++d)
    extents.push_back((t.format.is_sparse(d) ? "sparse " : "") + text(t.shape[d]));
  return frontend::type_text(t.scalar, extents);
}

namespace {

/// Completes the names of labels and makes them unique.
std::vector<std::string> label_names(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  std::string next = "i";
  const auto taken = [&](const std::string& name) {
    return std::ranges::find(given, name) != given.end() || std::ranges::find(names, name) != names.end();
  };
  for (const std::string& name : given) {
    std::string chosen = name;
    if (name.empty()) {
      while (taken(next))
        next = next == "z" ? "i1" : next.size() == 1 ? std::string(1, static_cast<char>(next[0] + 1)) : next + "1";
      chosen = next;
    } else {
      while (std::ranges::find(names, chosen) != names.end()) chosen += "1";
    }
    names.push_back(chosen);
  }
  return names;
}

/// Orders `a * b` by the earliest out label, so that every spelling of a product becomes the same Compute.
Expr ordered_factors(const Expr& e, const std::vector<std::int32_t>& out) {
  const auto* product = std::get_if<ir::Binary>(&e->op);
  if (product == nullptr || product->op != ir::BinaryOp::kMul) return e;
  const auto earliest = [&](const Expr& factor) {
    const std::vector<std::int32_t> labels = labels_of(factor);
    const auto found = std::ranges::find_first_of(out, labels);
    return found - out.begin();
  };
  if (earliest(product->right) >= earliest(product->left)) return e;
  return ir::binary(ir::BinaryOp::kMul, product->right, product->left, e->range);
}

}  // namespace

ir::Compute GraphBuilder::compute_of(const ComputeSpec& spec, LabelMap others) const {
  ir::Compute c;
  LabelMap numbers = std::move(others);
  std::vector<std::string> names;
  for (const auto* list : {&spec.out, &spec.reduce}) {
    for (const std::int32_t id : *list) names.push_back(label(id).name);
  }
  names = label_names(names);
  std::int32_t next = 0;
  for (const auto* list : {&spec.out, &spec.reduce}) {
    for (const std::int32_t id : *list) {
      TDSL_CHECK(label(id).resolved, "a label's range must be known before its node is emitted");
      auto& labels = list == &spec.out ? c.out : c.reduce;
      labels.push_back({names[static_cast<std::size_t>(next)], label(id).begin, label(id).end});
      numbers.emplace(id, ir::index_ref(next, label(id).range));
      ++next;
    }
  }
  const bool sums = spec.monoid && spec.monoid->kind == ir::Monoid::Kind::kSum;
  c.bodies.push_back(finished(sums ? ordered_factors(spec.body, spec.out) : spec.body, numbers));
  c.guard = finished(spec.guard, numbers);
  c.monoid = spec.monoid;
  for (const Expr& subscript : spec.left) c.left.push_back(finished(subscript, numbers));
  c.base = spec.base;
  c.combine = spec.combine;
  c.fill = spec.fill;
  return c;
}

Expr GraphBuilder::finished(const Expr& e, const LabelMap& numbers) const {
  if (!e) return e;
  // A deferred value's dimensions start at 0, regardless of the range of its index variable.
  const Expr shifted = ir::rewrite(e, [&](const Expr& part) {
    const auto* read = std::get_if<ir::Read>(&part->op);
    const auto found = read == nullptr ? free_labels_.end() : free_labels_.find(read->tensor);
    if (found == free_labels_.end()) return part;
    std::vector<Expr> subscripts = read->subscripts;
    for (std::size_t d = 0; d < found->second.size(); ++d) {
      subscripts[d] = sub(subscripts[d], expr_of(program_, label(found->second[d]).begin));
    }
    return ir::read(part->type, read->tensor, std::move(subscripts), part->range);
  });
  return substitute(shifted, numbers);
}

ValueId GraphBuilder::wait(ComputeSpec spec, std::size_t free) {
  const ValueId v = program_.new_value(spec.type, spec.name, spec.range);
  free_labels_.emplace(
      v, std::vector<std::int32_t>(spec.out.begin(), spec.out.begin() + static_cast<std::ptrdiff_t>(free)));
  waiting_.push_back({std::move(spec), v, nullptr});
  pending_.insert(v);
  return v;
}

ValueId GraphBuilder::wait(ir::Random random, std::vector<std::int32_t> labels, ir::SourceRange range) {
  Waiting w;
  w.spec.type = {Scalar::kF64, std::vector<Extent>(labels.size()), {}};
  w.spec.range = range;
  w.spec.out = labels;
  w.value = program_.new_value(w.spec.type, "", range);
  w.random = std::move(random);
  free_labels_.emplace(w.value, std::move(labels));
  waiting_.push_back(w);
  pending_.insert(w.value);
  return w.value;
}

std::optional<ComputeSpec> GraphBuilder::take_waiting(const Expr& e, const std::vector<std::int32_t>& out) {
  const auto* read = std::get_if<ir::Read>(&e->op);
  if (read == nullptr || waiting_.empty() || waiting_.back().value != read->tensor || waiting_.back().loop ||
      waiting_.back().random)
    return std::nullopt;
  const std::vector<std::int32_t>& own = waiting_.back().spec.out;
  if (own.size() != out.size() || read->subscripts.size() != own.size()) return std::nullopt;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const auto* index = std::get_if<ir::IndexRef>(&read->subscripts[d]->op);
    if (index == nullptr || index->label != own[d] || std::ranges::find(out, own[d]) == out.end()) return std::nullopt;
  }
  ComputeSpec spec = std::move(waiting_.back().spec);
  waiting_.pop_back();
  free_labels_.erase(read->tensor);
  pending_.erase(read->tensor);
  spec.out = out;
  for (const std::int32_t id : spec.reduce)
    TDSL_CHECK(resolve(id), "a reduction's range depends on its statement only");
  return spec;
}

namespace {

/// Calls `f` on the expressions evaluated when the node is emitted.
void for_each_part(const ComputeSpec& spec, const PointLoop* loop, const std::function<void(const Expr&)>& f) {
  const auto part = [&](const Expr& e) {
    if (e) f(e);
  };
  part(spec.body);
  part(spec.guard);
  if (loop == nullptr) return;
  part(loop->guard);
  for (const auto& [value, parameter] : loop->parameters) part(parameter.body);
}

}  // namespace

void GraphBuilder::flush() {
  flushing_ = true;
  std::vector<Waiting> later;
  const std::vector<Waiting> now = std::exchange(waiting_, {});
  for (const Waiting& w : now) {
    bool ready = true;
    for (const auto* list : {&w.spec.out, &w.spec.reduce}) {
      for (const std::int32_t id : *list) ready = resolve(id) && ready;
    }
    for_each_part(w.spec, w.loop.get(), [&](const Expr& part) {
      ir::for_each_node(part, [&](const ir::ExprNode& node) {
        const auto* read = std::get_if<ir::Read>(&node.op);
        const auto is_read = [&](const Waiting& other) { return read != nullptr && read->tensor == other.value; };
        ready = ready && std::ranges::none_of(later, is_read);
      });
    });
    if (!ready) {
      later.push_back(w);
      continue;
    }
    ir::Type type = w.spec.type;
    for (std::size_t d = 0; d < w.spec.out.size(); ++d) type.shape[d] = length(w.spec.out[d]);
    ir::Type& own = program_.values[static_cast<std::size_t>(w.value.id)].type;
    own = std::move(type);
    if (w.loop) {
      emit_point_loop(w);
    } else if (w.random) {
      emit_results(*w.random, {w.value}, w.spec.range);
    } else {
      const ComputeSpec spec = settled(w.spec);
      ir::Compute compute = compute_of(spec);
      own = stored(own, spec, compute);
      emit_results(std::move(compute), {w.value}, w.spec.range);
    }
    pending_.erase(w.value);
  }
  waiting_ = std::move(later);
  flushing_ = false;
}

bool GraphBuilder::reads_pending(const Expr& e) {
  const auto pending = [&] {
    return ir::any_read(e, [&](const ir::Read& read) { return pending_.contains(read.tensor); });
  };
  if (pending() && !flushing_) flush();
  return pending();
}

bool GraphBuilder::resolve(std::int32_t id) {
  if (label(id).resolved) return true;
  if (!label(id).lower) return false;
  const Expr lower = label(id).lower;
  const Expr upper = label(id).upper;
  for (const Expr* bound : {&lower, &upper}) {
    for (const std::int32_t other : labels_of(*bound)) {
      if (!resolve(other)) return false;
    }
    if (reads_pending(*bound)) return false;
  }
  const Extent begin = hull(lower, false, id);
  const Extent end = hull(upper, true, id);
  label(id).begin = begin;
  label(id).end = end;
  label(id).resolved = true;
  return true;
}

Extent GraphBuilder::hull(const Expr& bound, bool upper, std::int32_t id) {
  const auto affine = ir::affine_in_labels(bound, value_extent());
  if (!affine) return computed_hull(bound, upper, id);
  Extent result = affine->offset;
  for (const auto& [other, coefficient] : affine->coefficients) {
    const bool at_end = (coefficient > 0) == upper;
    result = result + Extent(coefficient) * (at_end ? label(other).end - Extent(1) : label(other).begin);
  }
  return result;
}

Extent GraphBuilder::computed_hull(const Expr& bound, bool upper, std::int32_t id) {
  ComputeSpec spec;
  spec.reduce = labels_of(bound);
  spec.body = bound;
  if (!spec.reduce.empty())
    spec.monoid = ir::Monoid{upper ? ir::Monoid::Kind::kMax : ir::Monoid::Kind::kMin, {}, {}, {}};
  spec.type = {Scalar::kI64, {}, {}};
  spec.name = label(id).name + (upper ? "_end" : "_begin");
  spec.range = bound->range;
  const ValueId v = emit(spec);
  if (spec.reduce.empty()) return Extent::of(v);
  // Without points the reductions yield identities, which would give a range of 2^64 elements.
  ComputeSpec bounded = spec;
  bounded.reduce.clear();
  bounded.monoid.reset();
  const Expr value = ir::read(Scalar::kI64, v, {});
  const Expr empty = ir::binary(ir::BinaryOp::kEq, value, ir::identity_of(*spec.monoid, Scalar::kI64));
  bounded.body = ir::select(empty, ir::constant_i64(0), value);
  return Extent::of(emit(bounded));
}

}  // namespace tdsl::frontend
