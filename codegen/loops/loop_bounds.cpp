#include "codegen/loops/loop_bounds.h"

#include <algorithm>

#include "codegen/operations/host_values.h"
#include "ir/graph/affine.h"

namespace tdsl::codegen {

LoopBounds::LoopBounds(const ir::Node& loop, const std::map<ValueId, Extent>& sizes, Opaque opaque)
    : sizes_(sizes), opaque_(opaque) {
  if (const auto* f = std::get_if<ir::For>(&loop.op)) collect(f->body);
  if (const auto* w = std::get_if<ir::While>(&loop.op)) {
    collect(w->condition);
    collect(w->body);
  }
}

void LoopBounds::collect(const ir::Region& region) {
  ir::for_each_node(region, [&](const ir::Node& n) {
    const auto* c = std::get_if<ir::Compute>(&n.op);
    if (c == nullptr || !is_scalar_arithmetic(*c) || c->guard || c->base) return;
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      if (c->bodies[k]->type == ir::Scalar::kI64) defined_.emplace(n.results[k], c->bodies[k]);
    }
  });
}

void LoopBounds::leave(std::size_t count) {
  loops_.erase(loops_.end() - static_cast<std::ptrdiff_t>(count), loops_.end());
  known_.clear();
}

std::optional<Extent> LoopBounds::polynomial(ValueId v) const {
  // Values are built from shared values: each is examined once.
  const auto known = known_.find(v);
  return known != known_.end() ? known->second : known_.emplace(v, found_polynomial(v)).first->second;
}

std::optional<Extent> LoopBounds::found_polynomial(ValueId v) const {
  if (const auto found = sizes_.find(v); found != sizes_.end()) return found->second;
  if (std::ranges::find(loops_, v, &Range::index) != loops_.end()) return Extent::of(v);
  const auto found = defined_.find(v);
  auto known = found == defined_.end() ? std::nullopt : polynomial(found->second);
  if (!known && opaque_ == Opaque::kNamed && v.id >= 0) known = Extent::of(v);
  return known;
}

std::optional<Extent> LoopBounds::polynomial(const Expr& e) const {
  const auto form = ir::polynomial_of(e);
  return form ? polynomial(*form) : std::nullopt;
}

void LoopBounds::enter(const ir::For& loop) {
  const auto begin = polynomial(loop.begin);
  const auto end = polynomial(loop.end);
  Range range{loop.body.arguments[0], begin, end};
  if (loop.step > 0) {
    if (end) range.most = *end - Extent(1);
  } else {
    range.most = begin;
    range.least = end ? std::optional(*end + Extent(1)) : std::nullopt;
  }
  loops_.push_back(std::move(range));
  known_.clear();
}

std::optional<Extent> LoopBounds::polynomial(const Extent& e) const {
  for (const ValueId v : e.values()) {
    if (!polynomial(v)) return std::nullopt;
  }
  return ir::substitute_if_small(e, [this](ValueId v) { return polynomial(v); });
}

void LoopBounds::enter(const std::vector<ir::Label>& labels, std::size_t first) {
  for (std::size_t l = 0; l < labels.size(); ++l) {
    const auto end = polynomial(labels[l].end);
    loops_.push_back({ir::label_value(static_cast<std::int32_t>(first + l)), polynomial(labels[l].begin),
                      end ? std::optional(*end - Extent(1)) : std::nullopt});
  }
  known_.clear();
}

/// Evaluates at each index's minimum, innermost first: its range may depend on the others.
bool LoopBounds::nonnegative(Extent e) const {
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    const auto form = ir::linear_in(e, loop->index);
    if (!form) return false;
    if (form->coefficient == 0) continue;
    const std::optional<Extent>& bound = form->coefficient > 0 ? loop->least : loop->most;
    if (!bound) return false;
    e = form->rest + Extent(form->coefficient) * *bound;
  }
  const auto constant = e.constant();
  return constant && *constant >= 0;
}

/// At this point every enclosing range is nonempty.
bool LoopBounds::positive(const Extent& size) const {
  const auto at_least_one = [](const Extent& e) {
    const auto number = e.constant();
    return number && *number >= 0;
  };
  if (at_least_one(size - Extent(1))) return true;
  return std::ranges::any_of(loops_, [&](const Range& loop) {
    return loop.least && loop.most && at_least_one(size - Extent(1) - (*loop.most - *loop.least));
  });
}

bool LoopBounds::wraps_around(const Expr& subscript, const Extent& size) const {
  if (const auto* r = std::get_if<ir::Read>(&subscript->op)) {
    const auto found = r->subscripts.empty() ? defined_.find(r->tensor) : defined_.end();
    return found != defined_.end() && wraps_around(found->second, size);
  }
  const auto* b = std::get_if<ir::Binary>(&subscript->op);
  const bool mirrors = b != nullptr && ir::is_boundary(b->op);
  if (b == nullptr || (!mirrors && b->op != ir::BinaryOp::kMod && b->op != ir::BinaryOp::kRem)) return false;
  const auto divisor = polynomial(b->right);
  if (!divisor || !(*divisor == size) || !positive(size)) return false;
  if (mirrors || b->op == ir::BinaryOp::kMod) return true;
  const auto value = polynomial(b->left);
  return value && nonnegative(*value);
}

bool LoopBounds::inside(const Expr& subscript, const Extent& extent) const {
  const Extent size = extent.substitute([this](ValueId v) -> std::optional<Extent> {
    const auto found = sizes_.find(v);
    if (found == sizes_.end() && opaque_ == Opaque::kNamed) return polynomial(v);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  });
  if (wraps_around(subscript, size)) return true;
  const auto value = polynomial(subscript);
  if (!value) return false;
  return nonnegative(*value) && nonnegative(size - Extent(1) - *value);
}

Extent LoopBounds::middle(Extent e) const {
  e = e.substitute([this](ValueId v) { return polynomial(v); });
  for (auto around = loops_.rbegin(); around != loops_.rend(); ++around) {
    e = e.substitute([&](ValueId v) -> std::optional<Extent> {
      if (v != around->index) return std::nullopt;
      if (!around->least || !around->most) return Extent(0);
      return Extent::quotient(*around->least + *around->most, 2);
    });
  }
  return e;
}

std::optional<Extent> LoopBounds::points(const ir::Label& label) const {
  const auto begin = polynomial(label.begin);
  const auto end = polynomial(label.end);
  if (!begin || !end) return std::nullopt;
  return middle(*end - *begin);
}

std::optional<Extent> LoopBounds::iterations(const ir::For& loop) const {
  const auto begin = polynomial(loop.begin);
  const auto end = polynomial(loop.end);
  if (!begin || !end) return std::nullopt;
  const Extent distance = loop.step > 0 ? *end - *begin : *begin - *end;
  return Extent::quotient(middle(distance), loop.step > 0 ? loop.step : -loop.step);
}

}  // namespace tdsl::codegen
