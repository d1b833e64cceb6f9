#include "runtime/record/segment_form.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "runtime/plan/op_builder.h"

using namespace tdsl;
using namespace tdsl::record;
using plan::Index;
using plan::TensorId;

namespace {

/// made[i] = a[i + shift] and b[i], for i in 0..n.
plan::Op sum(TensorId a, TensorId b, TensorId made, Index n, Index shift = 0) {
  plan::OpBuilder op(plan::OpClass::kMap, "sum", 2, 1);
  op.out("i", n).read(a, {plan::at(0, shift)}).read(b, {plan::at(0)}).flops(1);
  op.op().outputs.push_back({made, {}, {n}, "sum"});
  return std::move(op.op());
}

/// made = a + b, and then next = made + made; the names of `dropped` end.
plan::Segment two_sums(TensorId a, TensorId b, TensorId made, std::vector<TensorId> dropped, Index n = 5,
                       Index shift = 0) {
  plan::Segment segment;
  segment.ops.push_back(sum(a, b, made, n, shift));
  segment.ops.push_back(sum(made, made, made + 1, n));
  segment.ops[0].record = 10 * made;
  segment.dropped = std::move(dropped);
  return segment;
}

}  // namespace

TEST_CASE("segment form: other tensors in the same places match, and slots find them") {
  const SegmentForm form(two_sums(1, 2, 7, {1, 7}));
  std::vector<TensorId> tensors;
  REQUIRE(form.matches(two_sums(4, 3, 9, {4, 9}), tensors));
  CHECK(tensors == std::vector<TensorId>{4, 3, 9, 10});
  CHECK(form.outside() == std::vector<int>{0, 1});
  CHECK(form.slot_of(7) == 2);
  CHECK(form.slot_of(5) == -1);
  CHECK(form.tensor(3) == 8);
}

TEST_CASE("segment form: every difference but names and numbers counts") {
  const SegmentForm form(two_sums(1, 2, 7, {1}));
  std::vector<TensorId> tensors;
  CHECK(form.matches(two_sums(1, 2, 7, {1}), tensors));
  CHECK_FALSE(form.matches(two_sums(1, 2, 7, {2}), tensors));        // another name ends
  CHECK_FALSE(form.matches(two_sums(1, 2, 7, {1, 2}), tensors));     // one more
  CHECK_FALSE(form.matches(two_sums(3, 3, 7, {3}), tensors));        // one tensor in two places
  CHECK_FALSE(form.matches(two_sums(1, 2, 7, {1}, 6), tensors));     // other extents
  CHECK_FALSE(form.matches(two_sums(1, 2, 7, {1}, 5, 1), tensors));  // other elements
  plan::Segment other = two_sums(1, 2, 7, {1});
  other.ops[1].site = 3;
  CHECK_FALSE(form.matches(other, tensors));
  other = two_sums(1, 2, 7, {1});
  other.ops[1].reads[0].tensor = 2;
  CHECK_FALSE(form.matches(other, tensors));
  other = two_sums(1, 2, 7, {1});
  other.ops[1].base = 1;
  CHECK_FALSE(form.matches(other, tensors));
  other = two_sums(1, 2, 7, {1});
  other.ops[1].outputs[0].element = {4, "f32"};
  CHECK_FALSE(form.matches(other, tensors));
  other.ops.pop_back();
  CHECK_FALSE(form.matches(other, tensors));
}
