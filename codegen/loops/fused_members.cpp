#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/loops/blocking.h"
#include "codegen/loops/fused_nest_builder.h"
#include "codegen/loops/matrix_product.h"
#include "codegen/operations/vector_forms.h"
#include "ir/graph/group.h"

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// Widest vectors that make the loops of a member faster, except for products and register-blocked reductions.
rt::SimdLevel widest_of(const FusedKernel::Member& m) {
  const std::size_t loops = m.compute.out.size() + m.compute.reduce.size() - m.shared.size();
  return loops > 1 || library_calls(m.compute.bodies[0]) > 0 ? rt::SimdLevel::kAvx512 : rt::SimdLevel::kAvx2;
}

}  // namespace

void FusedNestBuilder::statements(const Member& m) {
  compute_ = &m.compute;
  labels_ = indices_of(m);
  if (m.compute.guard) return grouped(m);
  if (product(m)) return;
  const bool locates = m.compute.monoid && ir::locates(*m.compute.monoid);
  if (!locates && blocked(m)) return;
  widest_ = std::max(widest_, widest_of(m));
  if (m.compute.monoid && m.closes()) return closing(m);
  const std::vector<int> labels = inner_labels(m, 0, static_cast<int>(m.compute.out.size()));
  if (m.compute.reduce.empty())
    return loops(labels, true, [&] { change(element(m), std::nullopt, named(of_nest(m.compute.bodies[0]))); });
  loops(labels, false, [&] {
    const ValueId total = local("total", m.type);
    add(nest::Var{total, locates ? ir::constant_i64(-1) : identity(m)});
    accumulate(total, numbered(m.compute.out.size(), m.compute.reduce.size()), [] {});
    add(nest::Store{element(m), local_read(total)});
  });
}

std::vector<int> FusedNestBuilder::inner_labels(const Member& m, int first, int end) {
  std::vector<int> labels;
  for (int l = first; l < end; ++l) {
    if (!m.is_outer(l)) labels.push_back(l);
  }
  return labels;
}

nest::Place FusedNestBuilder::element(const Member& m) {
  Place place{values_.at(m.value), {}};
  const bool of_block = is_local(place.variable);
  for (std::size_t l = of_block ? outer_ : 0; l < m.compute.out.size(); ++l) {
    const Expr index = ir::index_ref(labels_[l]);
    const Extent& begin = m.compute.out[l].begin;
    const bool shifted = of_block && !(begin == Extent(0));
    place.subscripts.push_back(shifted ? ir::binary(ir::BinaryOp::kSub, index, ir::expr_of_polynomial(of_nest(begin)))
                                       : index);
  }
  return place;
}

void FusedNestBuilder::row(ValueId total, int label) {
  nest::Named parts = in_parts(of_nest(compute_->bodies[0]));
  add(nest::RowReduction{total, compute_->monoid->kind, labels_[static_cast<std::size_t>(label)], nest::TaskRange{},
                         std::move(parts.value), false, std::move(parts.lets)});
}

void FusedNestBuilder::closing(const Member& m) {
  std::vector<int> labels{m.shared.back()};
  for (int l = static_cast<int>(m.compute.out.size()); l < m.label_count(); ++l) {
    if (!m.counts_rows(l) && !m.is_outer(l)) labels.push_back(l);
  }
  if (m.compute.out.empty()) return closing_scalar(m, labels);
  for (int l = 0; l < static_cast<int>(m.compute.out.size()); ++l) labels.push_back(l);
  loops(labels, true, [&] { change(element(m), m.compute.monoid, named(of_nest(m.compute.bodies[0]))); });
}

void FusedNestBuilder::closing_scalar(const Member& m, const std::vector<int>& labels) {
  if (labels.size() == 1) return accumulate(values_.at(m.value), labels, [] {});
  const ValueId total = local("total", m.type);
  add(nest::Start{total, element(m), {}});
  accumulate(total, labels, [] {});
  add(nest::Store{element(m), local_read(total)});
}

void FusedNestBuilder::grouped(const Member& m) {
  const ir::Group group = *ir::group_of(m.compute);
  const auto label = static_cast<std::size_t>(group.label);
  const auto out = static_cast<int>(m.compute.out.size());
  std::vector<int> labels;
  for (const auto& [first, end] : {std::pair(out, m.label_count()), std::pair(0, out)}) {
    for (const int l : inner_labels(m, first, end)) {
      if (l != group.label && !m.counts_rows(l)) labels.push_back(l);
    }
  }
  const bool vectors = !labels.empty() && labels.back() < out;
  loops(std::vector{m.shared.back()}, false, [&] {
    Body body = collected([&] {
      loops(labels, vectors, [&] { change(element(m), m.compute.monoid, named(of_nest(m.compute.bodies[0]))); });
    });
    add(nest::If{nest::Within{labels_[label], of_nest(group.number)}, std::move(body)});
  });
}

bool FusedNestBuilder::blocked(const Member& m) {
  const ir::Compute& c = m.compute;
  if (m.closes() || c.reduce.empty() || c.out.size() <= m.shared.size()) return false;
  Blocking labels;
  labels.row = m.shared.back();
  labels.column = static_cast<int>(c.out.size()) - 1;
  for (int l = 0; l < labels.column; ++l) {
    if (l != labels.row) labels.outer.push_back(l);
  }
  labels.reduce = numbered(c.out.size(), c.reduce.size());
  const std::optional<Blocking> blocks = blocking(c, std::move(labels), [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::Read>(&n.op);
    return r != nullptr && !program_.is_host(r->tensor);
  });
  if (!blocks) return false;
  blocked_ = true;
  add(nest::FillRows{whole(m), block_, identity(m)});
  std::vector<int> around;
  for (const int l : blocks->outer) {
    if (!m.is_outer(l)) around.push_back(l);
  }
  loops(around, false, [&] { add(blocked_reduction(c, *blocks, element(m))); });
  return true;
}

nest::Place FusedNestBuilder::at_outer(ValueId v, std::size_t count) {
  Place place{v, {}};
  for (std::size_t f = 0; f < count && !is_local(v); ++f) place.subscripts.push_back(ir::index_ref(shared_label(f)));
  return place;
}

nest::Place FusedNestBuilder::operand(const ir::ExprNode& read, std::size_t shared) {
  const auto member = values_.find(std::get<ir::Read>(read.op).tensor);
  const ValueId v =
      member != values_.end() ? member->second : operands_[static_cast<std::size_t>(fused_.operand.at(&read))];
  return at_outer(v, std::min(shared, outer_));
}

bool FusedNestBuilder::product(const Member& m) {
  using Kind = nest::RowProducts::Kind;
  if (const std::optional<MatrixProduct> p = matrix_product(m)) {
    const auto last = m.compute.out.size() - 1;
    const std::vector<int> along =
        p->of_rows ? std::vector{labels_[0], labels_[1]} : std::vector{labels_[last], labels_[last + 1]};
    add(nest::RowProducts{!p->of_rows       ? Kind::kRows
                          : is_symmetric(m) ? Kind::kUpper
                                            : Kind::kSums,
                          at_outer(values_.at(m.value), p->of_rows ? 0 : outer_),
                          operand(*p->x, p->of_rows ? 0 : outer_), operand(*p->y, p->of_rows ? 0 : p->shared), block_,
                          along, p->transposed});
    return true;
  }
  const auto& c = m.compute;
  const auto* times = std::get_if<ir::Binary>(&c.bodies[0]->op);
  if (!c.monoid || c.monoid->kind != Monoid::Kind::kSum || !ir::is_real(m.type) || times == nullptr ||
      times->op != ir::BinaryOp::kMul || outer_ != 0)
    return false;
  if (c.out.size() != 1 || c.reduce.size() != 1 || !(c.out[0].begin == Extent(0))) return false;
  const std::int32_t other = 1 - m.shared[0];
  for (const auto& [x, v] : {std::pair(&times->left, &times->right), std::pair(&times->right, &times->left)}) {
    if (!is_read(**x, {m.shared[0], other}, m.type)) continue;
    const bool along = !m.closes() && is_read(**v, {other}, m.type);
    if (!along && !(m.closes() && is_read(**v, {m.shared[0]}, m.type))) continue;
    add(nest::RowProducts{along ? Kind::kDot : Kind::kScaled,
                          whole(m),
                          operand(**x, 0),
                          operand(**v, 0),
                          block_,
                          {labels_[static_cast<std::size_t>(other)]}});
    return true;
  }
  return false;
}

}  // namespace tdsl::codegen
