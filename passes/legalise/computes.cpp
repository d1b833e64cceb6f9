#include "passes/legalise/computes.h"

#include <algorithm>
#include <utility>

#include "ir/graph/computes.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Larger than the number of values of any program.
constexpr std::int32_t kFirstPart = 1 << 30;

}  // namespace

Expr Legalised::fill() { return compute().fill ? compute().fill : zero_of(type().scalar); }

std::vector<Label> Legalised::labels() { return all_labels(compute()); }

std::optional<Affine> Legalised::affine(const Expr& subscript) {
  return affine_of(subscript, [this](const Expr& e) { return hoisted(e); });
}

std::optional<ValueId> Legalised::hoisted(const Expr& e) {
  bool scalars = true;
  for_each_node(e, [&](const ExprNode& n) {
    const auto* r = std::get_if<Read>(&n.op);
    scalars = scalars && !std::holds_alternative<IndexRef>(n.op) && (r == nullptr || r->subscripts.empty());
  });
  if (!scalars) return std::nullopt;
  if (const auto* r = std::get_if<Read>(&e->op)) return r->tensor;
  if (may_fail(e) && !is_computed_for_ranges(e)) return std::nullopt;
  auto known = std::ranges::find_if(parts_, [&](const Expr& part) { return equal(part, e); });
  if (known == parts_.end()) known = parts_.insert(parts_.end(), e);
  return ValueId{kFirstPart + static_cast<std::int32_t>(known - parts_.begin())};
}

bool Legalised::is_computed_for_ranges(const Expr& e) {
  const auto size = subscript_polynomial(e);
  if (!size) return false;
  const auto holds = [&](const Extent& range) {
    for (const auto& [monomial, coefficient] : range.terms()) {
      for (const Extent::AtomRef& atom : monomial) {
        const bool divides = atom->kind != Extent::Atom::Kind::kValue;
        const bool quotient = atom->kind == Extent::Atom::Kind::kQuotient;
        if (divides && *size == (quotient ? Extent::quotient(atom->numerator, atom->denominator)
                                          : Extent::remainder(atom->numerator, atom->denominator)))
          return true;
      }
    }
    return false;
  };
  const std::vector<Label> all = labels();
  return std::ranges::any_of(all, [&](const Label& l) { return holds(l.begin) || holds(l.end); });
}

Expr Legalised::expression(const Extent& e) {
  return rewrite(expr_of_polynomial(e), [this](const Expr& x) {
    const auto* r = std::get_if<Read>(&x->op);
    return r != nullptr && r->tensor.id >= kFirstPart ? parts_[static_cast<std::size_t>(r->tensor.id - kFirstPart)] : x;
  });
}

Expr Legalised::size(const Extent& e) {
  return rewrite(expr_of_polynomial(e), [this](const Expr& x) {
    const auto* b = std::get_if<Binary>(&x->op);
    const bool divides = b != nullptr && (b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem);
    if (!divides || std::holds_alternative<Constant>(b->right->op)) return x;
    Compute quotient;
    quotient.bodies = {x};
    return read(Scalar::kI64, in_front(std::move(quotient), {Scalar::kI64, {}, {}}, "_size"), {});
  });
}

Expr Legalised::separately(Compute compute, Scalar scalar, const char* suffix) {
  Type shape{scalar, {}, {}};
  std::vector<Expr> subscripts;
  for (std::size_t l = 0; l < compute.out.size(); ++l) {
    const Label& label = compute.out[l];
    shape.shape.push_back(label.end - label.begin);
    const Expr at = index_ref(static_cast<std::int32_t>(l));
    subscripts.push_back(label.begin == Extent(0) ? at : binary(BinaryOp::kSub, at, size(label.begin)));
  }
  const ValueId v = in_front(std::move(compute), std::move(shape), suffix);
  return read(scalar, v, std::move(subscripts), node_.range);
}

ValueId Legalised::in_front(Compute compute, Type type, const char* suffix) {
  const std::string name = program_.info(node_.results[0]).name;
  const ValueId v = program_.new_value(std::move(type), name.empty() ? "" : name + suffix, node_.range);
  front_.push_back({node_.range, {v}, std::move(compute)});
  return v;
}

void Legalised::in_front(Op effect) { front_.push_back({node_.range, {}, std::move(effect)}); }

namespace {

class Legaliser : public RegionRewriter {
 public:
  Legaliser(const Program& program, PassContext& context, const std::function<void(Legalised&)>& f)
      : RegionRewriter(program, context), f_(f) {}

 private:
  void rewrite_node(Node n, std::vector<Node>& into) override {
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr) return keep(std::move(n), into);
    for (Node& one : one_result_each(n, *c)) compute(std::move(one), false, into);
  }

  static std::vector<Node> one_result_each(const Node& n, const Compute& c) {
    if (n.results.size() == 1) return {n};
    std::vector<Node> nodes;
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      Compute one = c;
      one.bodies = {c.bodies[k]};
      nodes.push_back({n.range, {n.results[k]}, std::move(one)});
    }
    return nodes;
  }

  void compute(Node n, bool part, std::vector<Node>& into) {
    Legalised one(program_, n, part);
    f_(one);
    for (Node& before : one.front()) {
      if (std::holds_alternative<Compute>(before.op))
        compute(std::move(before), true, into);
      else
        into.push_back(std::move(before));
    }
    into.push_back(std::move(n));
  }

  const std::function<void(Legalised&)>& f_;
};

}  // namespace

Program legalised(const Program& program, PassContext& context, const std::function<void(Legalised&)>& f) {
  return Legaliser(program, context, f).run();
}

}  // namespace tdsl::passes
