#include <fmt/format.h>

#include <algorithm>

#include "codegen/compute_lowering.h"
#include "codegen/describe.h"
#include "ir/combined.h"

namespace tdsl::codegen {

using ir::Compute;
using ir::Monoid;

// Note [Scatters]
// A left side whose subscripts cannot be solved for the labels (`H[bin[i]]`, `R[i + j]`) is lowered to a reduction: the
// dimensions such a subscript stands in may be written anywhere (plan::kAnyLabel), and labels that stand in no other
// subscript are reduced. Every task runs over its points, computes where each goes, and keeps those of its own tile. The
// planner may cut the points into parts, whose results meet in order, or the result, or both. `=` has no operator for
// elements to meet with: elements are counted first and more than one is an error; then any operator that gives back
// a single element will do.

bool ComputeLowering::scatters() {
  if (compute_.left.empty()) return false;
  std::vector<bool> placed(compute_.out.size(), false);
  bool solvable = true;
  for (const Expr& e : compute_.left) {
    const auto form = plain_subscript(e);
    solvable = solvable && form;
    if (form && !form->terms.empty() && static_cast<std::size_t>(form->terms[0].label) < placed.size()) {
      placed[static_cast<std::size_t>(form->terms[0].label)] = true;
    }
  }
  return !solvable || std::ranges::find(placed, false) != placed.end();
}

void ComputeLowering::scatter() {
  if (compute_.monoid) split_reduction(true);
  if (!compute_.combine) return write_once();
  const Monoid m = *compute_.combine;
  const bool fresh = !compute_.base && (!compute_.fill || ir::equal(compute_.fill, ir::identity_of(m, type_.scalar)));
  if (fresh || combine_of(m) == plan::Combine::kNone) return scatter_operation();
  // What is there already joins afterwards, so that the points may be cut into parts.
  Compute sums = compute_;
  sums.base.reset();
  sums.fill = {};
  const Expr value = scattered(std::move(sums), type_.scalar, "_added");
  const std::optional<ValueId> base = compute_.base;
  const Expr start = fill();
  over_elements(base ? ir::combined(m, ir::read(type_.scalar, *base, element()), value) : ir::combined(m, start, value));
}

void ComputeLowering::write_once() {
  Compute count = compute_;
  count.base.reset();
  count.fill = {};
  count.bodies = {ir::constant_i64(1)};
  count.combine = Monoid{Monoid::Kind::kSum, {}, {}, {}};
  const Expr hits = scattered(std::move(count), ir::Scalar::kI64, "_hits");
  Compute once;
  once.reduce = element_labels();
  once.bodies = {ir::binary(ir::BinaryOp::kLe, hits, ir::constant_i64(1))};
  once.monoid = Monoid{Monoid::Kind::kAll, {}, {}, {}};
  const Expr fine = separately(std::move(once), ir::Scalar::kBool, "_once");
  builder_.add(range_, AssertStep{std::get<ir::Read>(fine->op).tensor,
                                  fmt::format("an element of '{}' is written twice by '='", name_of(builder_.program(), target_)),
                                  builder_.new_site()});
  Compute any = compute_;
  any.base.reset();
  any.fill = {};
  any.combine = Monoid{type_.scalar == ir::Scalar::kBool ? Monoid::Kind::kAny : Monoid::Kind::kMax, {}, {}, {}};
  const Expr value = scattered(std::move(any), type_.scalar, "_written");
  const Expr old = compute_.base ? ir::read(type_.scalar, *compute_.base, element()) : fill();
  over_elements(ir::select(ir::binary(ir::BinaryOp::kGt, hits, ir::constant_i64(0)), value, old));
}

std::vector<ir::Label> ComputeLowering::element_labels() {
  std::vector<ir::Label> labels;
  for (const Extent& e : extents()) labels.push_back({fmt::format("i{}", labels.size()), Extent(0), e});
  return labels;
}

std::vector<Expr> ComputeLowering::element() const {
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < type_.rank(); ++d) subscripts.push_back(ir::index_ref(static_cast<std::int32_t>(d)));
  return subscripts;
}

void ComputeLowering::over_elements(const Expr& body) {
  Compute map;
  map.out = element_labels();
  map.bodies = {body};
  compute_ = std::move(map);
  operation();
}

Expr ComputeLowering::scattered(Compute compute, ir::Scalar scalar, const char* suffix) {
  const std::string& name = builder_.program().info(target_).name;
  const ValueId v = builder_.new_value({scalar, extents(), {}}, name.empty() ? "" : name + suffix, range_, false);
  ComputeLowering part(builder_, v, std::move(compute), range_);
  part.said_ = said_;
  part.scatter_operation();
  return ir::read(scalar, v, element());
}

void ComputeLowering::scatter_operation() {
  std::vector<bool> kept(compute_.out.size(), false);
  for (const Expr& e : compute_.left) {
    const auto form = plain_subscript(e);
    if (form && !form->terms.empty()) kept[static_cast<std::size_t>(form->terms[0].label)] = true;
  }
  move_to_reduction(kept);
  warn_scatter();
  operation();
}

void ComputeLowering::warn_scatter() {
  double bytes = static_cast<double>(ir::size_of(type_.scalar));
  for (const Extent& e : extents()) {
    const auto n = e.constant();
    bytes = n && bytes >= 0 ? bytes * static_cast<double>(*n) : -1;
  }
  if (bytes >= 0 && bytes < 1 << 20) return;
  builder_.warn("gathered", range_,
                fmt::format("'{}' is written at subscripts that are known only when it runs: every rank that computes holds all "
                            "elements it may write, or reads all points",
                            name_of(builder_.program(), said_)));
}

}  // namespace tdsl::codegen
