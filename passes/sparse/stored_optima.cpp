#include "passes/sparse/stored_optima.h"

#include <array>
#include <utility>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The matrix of `argmax[j](A[i, j])`, or an invalid id.
ValueId matrix_of_optimum(const Program& program, const Compute& c) {
  if (!c.monoid || !locates(*c.monoid) || c.out.size() != 1 || c.reduce.size() != 1 || c.bodies.size() != 1 ||
      c.guard || c.fill || c.base || c.combine || c.in_any_order || !c.left.empty())
    return {};
  const auto* r = std::get_if<Read>(&c.bodies[0]->op);
  if (r == nullptr || r->subscripts.size() != 2 || c.bodies[0]->type == Scalar::kBool) return {};
  const Type& type = program.type(r->tensor);
  const std::array<std::int32_t, 2> at = {bare_label(r->subscripts[0]), bare_label(r->subscripts[1])};
  if (!type.has_sparse() || at[0] < 0 || at[1] < 0 || at[0] == at[1]) return {};
  for (std::size_t d = 0; d < 2; ++d) {
    const Label& l = label_of(c, at[d]);
    if (!(l.begin == Extent(0)) || !(l.end == type.shape[d])) return {};
  }
  return r->tensor;
}

class OptimumWriter : public RegionRewriter {
 public:
  OptimumWriter(const Program& program, PassContext& context, const StoredOptima& optima)
      : RegionRewriter(program, context), optima_(optima) {}

 private:
  /// The index variables: of the result, and of the position.
  static constexpr std::int32_t kOut = 0, kAlong = 1;

  void rewrite_node(Node n, std::vector<Node>& into) override {
    const bool found = n.results.size() == 1 && optima_.contains(n.results[0]);
    if (!found) return keep(std::move(n), into);
    const Compute c = std::get<Compute>(n.op);
    const Expr element = c.bodies[0];
    const Expr present = is_present(element);
    const bool smallest = c.monoid->kind == Monoid::Kind::kArgMin;
    const auto emit = [&](Monoid::Kind kind, const Expr& body, const Expr& guard) {
      Compute of;
      of.out = c.out;
      of.reduce = c.reduce;
      of.monoid = Monoid{kind, {}, {}, {}};
      of.bodies = {body};
      of.guard = guard;
      return read(body->type, emitted(n, std::move(of), {body->type, {c.out[0].end}, {}}, into), {index_ref(kOut)});
    };
    const Expr best = emit(smallest ? Monoid::Kind::kMin : Monoid::Kind::kMax, element, {});
    Expr is_best = binary(BinaryOp::kEq, element, best);
    if (is_float(element->type))
      is_best = binary(BinaryOp::kOr, is_best,
                       binary(BinaryOp::kAnd, unary(UnaryOp::kIsNan, element), unary(UnaryOp::kIsNan, best)));
    const Expr place = emit(Monoid::Kind::kMin, index_ref(kAlong), conjunction_of(present, is_best));
    const Expr next_absent = binary(BinaryOp::kEq, next(n, c, into), zero_of(element->type));
    const Expr end =
        emit(Monoid::Kind::kMin, index_sum(index_ref(kAlong), constant_i64(1)), conjunction_of(present, next_absent));
    const Expr begins = emit(Monoid::Kind::kAny, present, binary(BinaryOp::kEq, constant_i64(0), index_ref(kAlong)));
    const Expr none = binary(BinaryOp::kEq, place, identity_of(Monoid{Monoid::Kind::kMin, {}, {}, {}}, Scalar::kI64));
    Compute all;
    all.out = c.out;
    all.bodies = {select(binary(BinaryOp::kEq, best, zero_of(element->type)), select(begins, end, constant_i64(0)),
                         select(none, constant_i64(-1), place))};
    into.push_back({n.range, n.results, std::move(all)});
  }

  ValueId emitted(const Node& n, Compute c, Type type, std::vector<Node>& into) {
    const ValueId v = program_.new_value(std::move(type), "", n.range);
    into.push_back({n.range, {v}, std::move(c)});
    return v;
  }

  /// The element after the current one, and 0 after the last, of a matrix with the elements moved.
  Expr next(const Node& n, const Compute& c, std::vector<Node>& into) {
    const auto& r = std::get<Read>(c.bodies[0]->op);
    const Type type = program_.type(r.tensor);
    Compute moved;
    moved.out = plain_labels(type.shape);
    std::vector<Expr> from = plain_subscripts(2);
    Expr inside;
    for (std::size_t d = 0; d < 2; ++d) {
      if (!is_label(r.subscripts[d], kAlong)) continue;
      from[d] = index_sum(from[d], constant_i64(1));
      inside = binary(BinaryOp::kLt, from[d], expr_of(type.shape[d]));
    }
    moved.bodies = {select(inside, read(type.scalar, r.tensor, std::move(from)), zero_of(type.scalar))};
    return read(type.scalar, emitted(n, std::move(moved), type, into), r.subscripts);
  }

  const StoredOptima& optima_;
};

void find_optima(const Program& program, const Region& region, StoredOptima& found) {
  for (const Node& n : region.nodes) {
    if (const auto* c = std::get_if<Compute>(&n.op)) {
      const ValueId of = matrix_of_optimum(program, *c);
      if (of.valid() && n.results.size() == 1) found.emplace(n.results[0], of);
    }
    if (!holds_operations(n)) continue;
    for (const Region* inner : regions_in(n)) find_optima(program, *inner, found);
  }
}

}  // namespace

StoredOptima stored_optima(const Program& program) {
  StoredOptima found;
  find_optima(program, program.body, found);
  return found;
}

Program with_stored_optima(const Program& program, PassContext& context, const StoredOptima& optima) {
  return OptimumWriter(program, context, optima).run();
}

}  // namespace tdsl::passes
