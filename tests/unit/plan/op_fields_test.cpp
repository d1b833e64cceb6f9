#include "runtime/plan/op_fields.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/plan/signature.h"

using namespace tdsl::plan;

namespace {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

/// The number of members of an aggregate.
template <class T, class... Values>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Values{}..., Anything{}}; }) {
    return members_of<T, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

struct MemberCount : FieldVisitor<MemberCount> {
  template <class... X>
  void note(const char*, const X&...) {
    ++count;
  }
  template <class... X>
  void property(const char*, const X&...) {
    ++count;
  }
  void flag(const char*, bool) { ++count; }
  void estimate(const char*, double) { ++count; }
  void tensor(const char*, TensorId) { ++count; }
  void outputs(const std::vector<TensorDesc>&) { ++count; }
  template <class Each, class T>
  void list(const char*, const Each&, const std::vector<T>&) {
    ++count;
  }
  std::size_t count = 0;
};

Op product() {
  OpBuilder builder(OpClass::kContraction, "C", 7, 3);
  builder.out("i", 5).out("j", Interval{1, 4}).uncut().reduce("k", 6).base(2);
  builder.read(0, {at(0), at(2)}).read(1, {near(2, -1, 2), quotient({{1, 3}}, 1, 2)});
  builder.combine(Combine::kSum).flops(2).tile({2, 3}).divisible();
  return builder.op();
}

const KnownOperands kUnknown{[](TensorId) { return nullptr; }, [](TensorId) -> const Op* { return nullptr; }};

}  // namespace

TEST_CASE("plan op: every member is visited") {
  MemberCount visited;
  const Op op;
  visit_fields(visited, op);
  CHECK(visited.count == members_of<Op>());
}

TEST_CASE("plan op: the same numbers give the same operation, other numbers another") {
  const Op op = product();
  const auto same = [](auto x) { return x; };
  const Op copy = with_numbers<Index>(op, same, same);
  CHECK(signature_of(copy, kUnknown) == signature_of(op, kUnknown));
  CHECK(copy.name == "C");
  CHECK(copy.line == 3);
  CHECK(copy.role_of(1) == LabelRole::kWhole);
  const Op doubled = with_numbers<Index>(
      op, [](Index x) { return 2 * x; }, [](TensorId t) { return t + 10; });
  CHECK(doubled.shape == std::vector<Index>{10, 6});
  CHECK(doubled.reads[1].tensor == 11);
  CHECK(doubled.base == 12);
  CHECK(signature_of(doubled, kUnknown) != signature_of(op, kUnknown));
}

TEST_CASE("plan op: numbers and operands") {
  std::vector<TensorId> operands;
  std::size_t numbers = 0;
  for_each_number(
      product(), [&](Index) { ++numbers; }, [&](TensorId t) { operands.push_back(t); });
  CHECK(operands == std::vector<TensorId>{0, 1, 2});
  CHECK(numbers == 6 + 2 + 2 + 4 * 4 + 2);
}

TEST_CASE("plan op: a property is part of the signature, names and locations are not") {
  const Op op = product();
  Op other = op;
  other.name = "D", other.line = 9, other.site = 8, other.labels[0].name = "l";
  CHECK(signature_of(other, kUnknown) == signature_of(op, kUnknown));
  other.overwrites = true;
  CHECK(signature_of(other, kUnknown) != signature_of(op, kUnknown));
}

TEST_CASE("plan op: a label with coefficient 0 is none") {
  OpBuilder op(OpClass::kMap, "y", 1, 1);
  op.out("i", 4).out("j", 3).read(0, {at(0, 2, 0), at({{0, 0}, {1, 5}})});
  CHECK(op.op().reads.front().dims == std::vector<DimAccess>{fixed(2, 3), at(1, 0, 5)});
}
