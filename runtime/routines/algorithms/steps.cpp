#include "runtime/routines/algorithms/steps.h"

#include <algorithm>

#include "runtime/check.h"

namespace tdsl::rt::routines {

std::string Steps::name(std::size_t k, std::string_view otherwise) const {
  const std::string& given = call_.results[k].name;
  return given.empty() ? std::string(otherwise) : given;
}

Index Steps::operand_bytes() const {
  Index sum = 0;
  for (const TensorHandle& t : call_.operands) sum += t.state().desc.bytes();
  return sum;
}

OpBuilder Steps::op(OpClass op_class, std::string_view name, int place) const {
  TDSL_CHECK(place >= 0 && place < places_of(call_.routine), "a recording place is one of the call's");
  OpBuilder op(op_class, name, call_.site.first + place, call_.site.line);
  if (run_ahead_ > 0) op.run_ahead(run_ahead_);
  return op;
}

TensorHandle Steps::compute(OpBuilder& op, ElementType type, KernelName kernel, Sizes numbers) {
  return caller_.record(op, type, {kernel, element_, std::move(numbers), batch_});
}

TensorHandle Steps::part(int place, std::string_view name, Index rows, Index columns, const TensorHandle& from,
                         Corner corner) {
  OpBuilder copy = op(OpClass::kMap, name, place);
  copy.out("i", rows).out("j", columns).read(from.id(), {at(0, corner.row), at(1, corner.column)}).flops(0).divisible();
  return compute(copy, element_, KernelName::kMove, {0, 0, corner.row, corner.column});
}

TensorHandle Steps::with_part(int place, const TensorHandle& into, Corner corner, const TensorHandle& part, Index rows,
                              Index columns) {
  OpBuilder copy = op(OpClass::kMap, into.state().desc.name, place);
  copy.label("i", {0, rows}).label("j", {0, columns});
  copy.write({into.extent(0), into.extent(1)}, {{0, 1, corner.row}, {1, 1, corner.column}}).base(into.id());
  copy.read(part.id(), {at(0), at(1)}).flops(0).divisible();
  return compute(copy, element_, KernelName::kMove, {corner.row, corner.column, 0, 0});
}

TensorHandle Steps::negative(int place, const TensorHandle& matrix) {
  OpBuilder negate = op(OpClass::kMap, "negative", place);
  negate.out("i", matrix.extent(0)).out("j", matrix.extent(1)).read(matrix.id(), {at(0), at(1)}).flops(1).divisible();
  return compute(negate, element_, KernelName::kNegate);
}

TensorHandle Steps::plus_product(int place, std::string_view name, const TensorHandle& into, Corner corner,
                                 const TensorHandle& left, const TensorHandle& right, bool transposed) {
  OpBuilder product = op(OpClass::kContraction, name, place);
  product.label("i", {0, left.extent(0)}).label("j", {0, right.extent(transposed ? 0 : 1)}).reduce("l", left.extent(1));
  product.write({into.extent(0), into.extent(1)}, {{0, 1, corner.row}, {1, 1, corner.column}}).base(into.id());
  product.read(left.id(), {at(0), at(2)});
  transposed ? product.read(right.id(), {at(1), at(2)}) : product.read(right.id(), {at(2), at(1)});
  product.combine(plan::Combine::kSum).flops(2);
  return contraction(product);
}

TensorHandle Steps::picked_rows(int place, std::string_view name, const TensorHandle& rows, Index first, Index count,
                                const TensorHandle& from, Index column, Index columns) {
  OpBuilder pick = op(OpClass::kReduce, name, place);
  pick.out("i", count).out("j", columns).gather("row", from.extent(0));
  pick.read(rows.id(), {at(0, first)}).read(from.id(), {at(2), at(1, column)}).flops(0);
  // Every element has one term.
  pick.combine(is_complex(element_) ? plan::Combine::kSum : plan::Combine::kMax);
  return compute(pick, element_, KernelName::kPickRows, {first, column});
}

Index Steps::block_width(Index columns) { return std::min<Index>(256, std::max<Index>(2, columns / 8)); }

Steps::Block Steps::block(Index number, Index columns) {
  const Index lo = number * block_width(columns);
  const Index width = std::min(block_width(columns), columns - lo);
  return {lo, width, lo + width};
}

void Steps::loop(Index count, const std::function<void(Index)>& body) {
  caller_.control().for_loop(call_.site.known, 0, count, 1, body);
}

void Steps::either(record::Known known, int branch, bool condition, const std::function<void()>& form,
                   const std::function<void()>& other) {
  caller_.control().if_else(known, known == record::Known::kStart ? 0 : call_.site.branch + branch, condition, form,
                            other);
}

}  // namespace tdsl::rt::routines
