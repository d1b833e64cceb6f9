#include "runtime/routines/algorithms/elimination.h"

#include <utility>

namespace tdsl::rt::routines {

Elimination::Eliminated Elimination::eliminate(TensorHandle s, Index columns, bool stops) {
  const Index m = s.extent(0);
  one_panel_ahead(m, block_width(columns));
  OpBuilder rows = op(OpClass::kSource, "rows", 1);
  rows.out("i", m).flops(0);
  Eliminated now{std::move(s), compute(rows, ElementType::kI64, KernelName::kCount)};
  loop(block_count(columns), [&](Index k) { step(now, block(k, columns), stops); });
  return now;
}

void Elimination::step(Eliminated& now, const Block& b, bool stops) {
  const Index m = now.s.extent(0);
  const Index rest = now.s.extent(1) - b.hi;
  const TensorHandle panel = factored_panel(part(2, "columns", m, b.width, now.s, {0, b.lo}), now.p, b, stops);
  now.p = rows_now(panel, m, b.width);
  const TensorHandle corner = part(5, "corner", b.width, b.width, panel, {m, 0});
  const TensorHandle factors = negative_factors(panel, m, b);
  now.s = with_part(7, now.s, {0, b.lo}, panel, m, b.width);
  const TensorHandle picked = picked_rows(8, "picked", now.p, b.lo, b.width, now.s, b.hi, rest);
  const TensorHandle right = solved(9, "right", KernelName::kForwardColumns, corner, picked);
  now.s = plus_product(10, "factor", now.s, {0, b.hi}, factors, right, false);
}

TensorHandle Elimination::factored_panel(const TensorHandle& columns, const TensorHandle& p, const Block& b,
                                         bool stops) {
  OpBuilder panel = op(OpClass::kMap, "panel", 3);
  panel.out("i", columns.extent(0) + b.width).uncut().out("j", b.width + 2).uncut();
  panel.read(columns.id(), {whole(), whole()}).read(p.id(), {whole()}).flops(static_cast<double>(b.width));
  return compute(panel, element(), KernelName::kLuPanel, {b.lo, stops ? 1 : 0});
}

TensorHandle Elimination::rows_now(const TensorHandle& panel, Index m, Index width) {
  OpBuilder rows = op(OpClass::kMap, "rows", 4);
  rows.out("i", m).read(panel.id(), {at(0), fixed(width, width + 1)}).flops(0).divisible();
  return compute(rows, ElementType::kI64, KernelName::kRowNumbers, {width});
}

/// Eliminates the rows below the pivots. In the pivot rows, which have multipliers only left of the diagonal, the same
/// product is the forward substitution that yields U.
TensorHandle Elimination::negative_factors(const TensorHandle& panel, Index m, const Block& b) {
  OpBuilder factors = op(OpClass::kMap, "negative", 6);
  factors.out("i", m).out("j", b.width);
  factors.read(panel.id(), {at(0), fixed(b.width + 1, b.width + 2)})
      .read(panel.id(), {at(0), at(1)})
      .flops(3)
      .divisible();
  return compute(factors, element(), KernelName::kNegativeFactors, {b.width, b.lo});
}

TensorHandle Elimination::solved(int place, std::string_view name, KernelName kernel, const TensorHandle& corner,
                                 const TensorHandle& right) {
  const Index width = corner.extent(0);
  OpBuilder solve = op(OpClass::kMap, name, place);
  solve.out("i", width).uncut().out("j", right.extent(1));
  solve.read(corner.id(), {whole(), whole()}).read(right.id(), {whole(), at(1)}).flops(static_cast<double>(width));
  return compute(solve, element(), kernel);
}

}  // namespace tdsl::rt::routines
