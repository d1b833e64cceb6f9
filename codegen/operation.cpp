#include "codegen/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/accesses.h"
#include "codegen/affine.h"
#include "codegen/describe.h"
#include "codegen/host_values.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

using ir::Compute;
using ir::Monoid;

plan::Combine combine_of(const Monoid& m) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return plan::Combine::kSum;
    case Monoid::Kind::kProd: return plan::Combine::kProd;
    case Monoid::Kind::kMin: return plan::Combine::kMin;
    case Monoid::Kind::kMax: return plan::Combine::kMax;
    case Monoid::Kind::kAny: return plan::Combine::kAny;
    case Monoid::Kind::kAll: return plan::Combine::kAll;
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax:
    case Monoid::Kind::kUser: return plan::Combine::kNone;
  }
  return plan::Combine::kNone;
}

bool locates(const Monoid& m) { return m.kind == Monoid::Kind::kArgMin || m.kind == Monoid::Kind::kArgMax; }

/// Arithmetic of one evaluation; subscripts do not count.
double flops_of(const Expr& e) {
  if (!e || std::holds_alternative<ir::Read>(e->op)) return 0;
  double flops = std::holds_alternative<ir::Binary>(e->op) || std::holds_alternative<ir::Unary>(e->op) ? 1 : 0;
  for (const Expr& child : ir::children(*e)) flops += flops_of(child);
  return flops;
}

bool mentions_reduce(const Expr& e, std::size_t out_labels) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::IndexRef>(&n.op);
    found = found || (r != nullptr && static_cast<std::size_t>(r->label) >= out_labels);
  });
  return found;
}

Expr zero_of(ir::Scalar s) {
  if (s == ir::Scalar::kBool) return ir::constant(s, false);
  if (ir::is_float(s)) return ir::constant(s, 0.0);
  return ir::constant(s, std::int64_t{0});
}

/// `combine` applied to two expressions.
Expr combined(const Monoid& m, const Expr& old, const Expr& value) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return ir::binary(ir::BinaryOp::kAdd, old, value);
    case Monoid::Kind::kProd: return ir::binary(ir::BinaryOp::kMul, old, value);
    case Monoid::Kind::kMin: return ir::binary(ir::BinaryOp::kMin, old, value);
    case Monoid::Kind::kMax: return ir::binary(ir::BinaryOp::kMax, old, value);
    case Monoid::Kind::kAny: return ir::binary(ir::BinaryOp::kOr, old, value);
    case Monoid::Kind::kAll: return ir::binary(ir::BinaryOp::kAnd, old, value);
    case Monoid::Kind::kUser:
      return ir::rewrite(m.combine, [&](const Expr& e) {
        const auto* a = std::get_if<ir::Argument>(&e->op);
        if (a == nullptr) return e;
        return a->position == 0 ? old : value;
      });
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: break;
  }
  TDSL_CHECK(false, "argmin and argmax do not combine elements");
  return old;
}

/// One result of one Compute on its way to an operation. `compute_` has one body and resolved values.
class ComputeLowering {
 public:
  ComputeLowering(FamilyBuilder& builder, ValueId target, Compute compute, SourceRange range)
      : builder_(builder), target_(target), compute_(std::move(compute)), range_(range), type_(builder.type(target)) {}

  void run() {
    if (builder_.is_host(target_)) return host_arithmetic();
    plain_left();
    unplaced_labels();
    if (compute_.monoid) split_reduction();
    if (compute_.monoid && locates(*compute_.monoid)) locate();
    operation();
  }

 private:
  void host_arithmetic() {
    Expr value = compute_.bodies.front();
    const Expr old = compute_.base ? ir::read(type_.scalar, *compute_.base, {}) : fill();
    if (compute_.combine) value = combined(*compute_.combine, old, value);
    if (compute_.guard) value = ir::select(compute_.guard, value, old);
    builder_.add(range_, HostStep{target_, value});
  }

  [[nodiscard]] Expr fill() const { return compute_.fill ? compute_.fill : zero_of(type_.scalar); }

  /// A left side that names all out labels in order and covers the result is no left side.
  void plain_left() {
    if (compute_.left.size() != compute_.out.size()) return;
    for (std::size_t d = 0; d < compute_.left.size(); ++d) {
      const auto* r = std::get_if<ir::IndexRef>(&compute_.left[d]->op);
      if (r == nullptr || static_cast<std::size_t>(r->label) != d) return;
      if (!(compute_.out[d].begin == Extent(0)) || !(compute_.out[d].end == extents()[d])) return;
    }
    compute_.left.clear();
    // Every element is written: nothing of the old value is left.
    if (!compute_.guard && !compute_.combine) compute_.base.reset();
  }

  [[nodiscard]] std::vector<Extent> extents() {
    std::vector<Extent> result;
    for (const Extent& e : type_.shape) result.push_back(builder_.rewritten(e, range_));
    return result;
  }

  /// Several points meet in one element where an out label does not occur on the left: that is a reduction.
  void unplaced_labels() {
    if (compute_.left.empty()) return;
    std::vector<bool> placed(compute_.out.size(), false);
    for (const Expr& e : compute_.left) {
      ir::for_each_node(e, [&](const ir::ExprNode& n) {
        if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) placed[static_cast<std::size_t>(r->label)] = true;
      });
    }
    if (std::ranges::find(placed, false) == placed.end()) return;
    if (!compute_.combine || !compute_.reduce.empty()) {
      throw NotSupported(range_, "writing one element from several points is not supported yet without a combining operator");
    }
    Compute moved = compute_;
    moved.out.clear();
    std::vector<std::int32_t> number(compute_.out.size());
    for (const bool kept : {true, false}) {
      for (std::size_t l = 0; l < placed.size(); ++l) {
        if (placed[l] != kept) continue;
        number[l] = static_cast<std::int32_t>(moved.out.size() + moved.reduce.size());
        (kept ? moved.out : moved.reduce).push_back(compute_.out[l]);
      }
    }
    const auto renumber = [&](const Expr& e) {
      if (!e) return e;
      return ir::rewrite(e, [&](const Expr& n) {
        const auto* r = std::get_if<ir::IndexRef>(&n->op);
        return r == nullptr ? n : ir::index_ref(number[static_cast<std::size_t>(r->label)], n->range);
      });
    };
    for (Expr& e : moved.bodies) e = renumber(e);
    for (Expr& e : moved.left) e = renumber(e);
    moved.guard = renumber(moved.guard);
    moved.monoid = moved.combine;
    compute_ = std::move(moved);
  }

  /// A value computed by an operation of its own: `compute` over `out` labels; read back at the labels.
  Expr separately(Compute compute, ir::Scalar scalar, const char* suffix) {
    ir::Type type{scalar, {}, {}};
    std::vector<Expr> subscripts;
    for (std::size_t l = 0; l < compute.out.size(); ++l) {
      const ir::Label& label = compute.out[l];
      type.shape.push_back(label.end - label.begin);
      Expr s = ir::index_ref(static_cast<std::int32_t>(l));
      if (!(label.begin == Extent(0))) s = ir::binary(ir::BinaryOp::kSub, s, expr_of(label.begin));
      subscripts.push_back(s);
    }
    const std::string& name = builder_.program().info(target_).name;
    const ValueId v = builder_.new_value(type, name.empty() ? "" : name + suffix, range_, false);
    ComputeLowering(builder_, v, std::move(compute), range_).run();
    return ir::read(scalar, v, std::move(subscripts), range_);
  }

  /// An i64 expression for a label's begin.
  [[nodiscard]] Expr expr_of(const Extent& e) {
    if (const auto c = e.constant()) return ir::constant_i64(*c);
    if (const auto v = e.as_value()) return ir::read(ir::Scalar::kI64, *v, {});
    Expr sum;
    for (const auto& [monomial, coefficient] : e.terms()) {
      Expr product = ir::constant_i64(coefficient);
      for (const Extent::AtomRef& atom : monomial) {
        if (atom->kind != Extent::Atom::Kind::kValue) {
          throw NotSupported(range_, "an index range that begins at a quotient is not supported yet in this combination");
        }
        product = ir::binary(ir::BinaryOp::kMul, product, ir::read(ir::Scalar::kI64, atom->value, {}));
      }
      sum = sum ? ir::binary(ir::BinaryOp::kAdd, sum, product) : product;
    }
    return sum;
  }

  /// Reductions accumulate into elements that begin as the identity or as the base. Whatever else the Compute does with
  /// the reduced value is done by a second operation, so that partial results of a reduction can always be combined.
  void split_reduction() {
    const bool same = compute_.combine && ir::equal(*compute_.combine, *compute_.monoid) && !locates(*compute_.monoid);
    const bool writes = !compute_.left.empty() || compute_.base || compute_.combine;
    const ir::Scalar scalar = type_.scalar;
    const Expr identity = ir::identity_of(*compute_.monoid, scalar);
    if (same && (compute_.base || ir::equal(fill(), identity))) return;
    const bool filled = compute_.guard && compute_.fill && !ir::equal(compute_.fill, identity);
    if (!writes && !filled) return;
    const Expr guard = compute_.guard;
    const bool hidden = guard && mentions_reduce(guard, compute_.out.size());
    Compute value = reduction_only();
    Compute rest = compute_;
    rest.reduce.clear();
    rest.monoid.reset();
    if (hidden) {
      Compute hit = value;
      hit.bodies = {ir::constant(ir::Scalar::kBool, true)};
      hit.monoid = Monoid{Monoid::Kind::kAny, {}, {}, {}};
      rest.guard = separately(std::move(hit), ir::Scalar::kBool, "_hit");
    }
    rest.bodies = {separately(std::move(value), scalar, "_value")};
    compute_ = std::move(rest);
  }

  /// argmin and argmax: first the optimum, then the smallest label that has it. Both can be cut into any parts.
  void locate() {
    const bool smallest = compute_.monoid->kind == Monoid::Kind::kArgMin;
    Compute optimum = compute_;
    Expr body = compute_.bodies.front();
    if (body->type == ir::Scalar::kBool) body = ir::cast(ir::Scalar::kI64, body);
    optimum.bodies = {body};
    optimum.fill = {};
    optimum.monoid = Monoid{smallest ? Monoid::Kind::kMin : Monoid::Kind::kMax, {}, {}, {}};
    const Expr best = separately(std::move(optimum), body->type, "_optimum");
    Expr found = ir::binary(ir::BinaryOp::kEq, body, best);
    if (ir::is_float(body->type)) {
      const Expr both = ir::binary(ir::BinaryOp::kAnd, ir::unary(ir::UnaryOp::kIsNan, body), ir::unary(ir::UnaryOp::kIsNan, best));
      found = ir::binary(ir::BinaryOp::kOr, found, both);
    }
    Compute place = compute_;
    place.bodies = {ir::index_ref(static_cast<std::int32_t>(compute_.out.size()))};
    place.guard = place.guard ? ir::binary(ir::BinaryOp::kAnd, place.guard, found) : found;
    place.fill = {};
    place.monoid = Monoid{Monoid::Kind::kMin, {}, {}, {}};
    const Expr label = separately(std::move(place), ir::Scalar::kI64, "_place");
    const Expr none = ir::identity_of(Monoid{Monoid::Kind::kMin, {}, {}, {}}, ir::Scalar::kI64);
    compute_.reduce.clear();
    compute_.monoid.reset();
    compute_.guard = {};
    compute_.bodies = {ir::select(ir::binary(ir::BinaryOp::kEq, label, none), ir::constant_i64(-1), label)};
  }

  [[nodiscard]] Compute reduction_only() const {
    Compute value;
    value.out = compute_.out;
    value.reduce = compute_.reduce;
    value.bodies = compute_.bodies;
    value.guard = compute_.guard;
    value.monoid = compute_.monoid;
    return value;
  }

  void operation() {
    auto op = std::make_shared<OpTemplate>();
    auto kernel = std::make_shared<KernelTemplate>();
    op->site = builder_.new_site();
    op->name = name();
    labels(*op);
    if (!compute_.left.empty()) left(*op);
    op->base = compute_.base;
    if (compute_.monoid) op->combine = combine_of(*compute_.monoid);
    const bool contraction = is_contraction();
    op->flops_per_point = contraction ? 2 : flops_of(compute_.bodies.front()) + (compute_.monoid || compute_.combine ? 1 : 0);
    kernel->type = type_.scalar;
    kernel->compute = compute_;
    find_accesses(builder_, *op, *kernel, range_, contraction);
    op->op_class = contraction          ? plan::OpClass::kContraction
                   : compute_.monoid    ? plan::OpClass::kReduce
                   : op->reads.empty() && !op->base ? plan::OpClass::kSource
                                        : plan::OpClass::kMap;
    builder_.add(range_, OperationStep{target_, op, kernel});
  }

  [[nodiscard]] std::string name() const {
    const std::string& known = builder_.program().info(target_).name;
    if (!known.empty()) return known;
    const std::string text = describe(builder_.program(), compute_);
    return text.size() <= 48 ? text : "temporary";
  }

  void labels(OpTemplate& op) const {
    const auto kind = compute_.left.empty() ? LabelTemplate::Kind::kOut : LabelTemplate::Kind::kPlain;
    for (const ir::Label& l : compute_.out) op.labels.push_back({kind, l.name, l.begin, l.end});
    for (const ir::Label& l : compute_.reduce) op.labels.push_back({LabelTemplate::Kind::kReduce, l.name, l.begin, l.end});
  }

  void left(OpTemplate& op) {
    op.writes = true;
    op.shape = extents();
    std::vector<std::string> names;
    for (const LabelTemplate& l : op.labels) names.push_back(l.name);
    for (std::size_t d = 0; d < compute_.left.size(); ++d) {
      const Expr& e = compute_.left[d];
      const std::string text = describe(builder_.program(), e, names);
      const auto form = affine_of(e, [this](const Expr& x) { return builder_.hoist(x); });
      const auto coefficient = form && form->terms.size() == 1 ? form->terms[0].coefficient.constant() : std::nullopt;
      if (!form || form->terms.size() > 1 || (form->terms.size() == 1 && !coefficient)) {
        throw NotSupported(e->range.known() ? e->range : range_,
                           fmt::format("the left subscript '{}' is not supported yet: only one index variable times a "
                                       "constant plus an offset",
                                       text));
      }
      op.out.push_back({form->terms.empty() ? -1 : form->terms[0].label, coefficient.value_or(1), form->constant});
      if (compute_.guard) {
        guarded_left(*form, op, op.shape[d], text);
      } else {
        check_affine(builder_, *form, op, op.shape[d], text, range_);
      }
    }
  }

  /// Points outside the result would not be visited by any task: whether the guard keeps them all away is computed first.
  void guarded_left(const AffineForm& form, const OpTemplate& op, const Extent& extent, const std::string& text) {
    if (provably_inside(form, op.labels, extent)) return;
    Expr subscript = expr_of(form.constant);
    for (const Term& t : form.terms) {
      const Expr part = ir::binary(ir::BinaryOp::kMul, ir::constant_i64(*t.coefficient.constant()), ir::index_ref(t.label));
      subscript = ir::binary(ir::BinaryOp::kAdd, subscript, part);
    }
    const Expr low = ir::binary(ir::BinaryOp::kGe, subscript, ir::constant_i64(0));
    const Expr high = ir::binary(ir::BinaryOp::kLt, subscript, expr_of(extent));
    Compute check;
    check.reduce = compute_.out;
    check.reduce.insert(check.reduce.end(), compute_.reduce.begin(), compute_.reduce.end());
    check.bodies = {ir::binary(ir::BinaryOp::kAnd, low, high)};
    check.guard = compute_.guard;
    check.monoid = Monoid{Monoid::Kind::kAll, {}, {}, {}};
    const Expr inside = separately(std::move(check), ir::Scalar::kBool, "_inside");
    const ValueId v = std::get<ir::Read>(inside->op).tensor;
    builder_.add(range_, AssertStep{v, fmt::format("the subscript '{}' lies outside its dimension", text), builder_.new_site()});
  }

  /// A sum of products of two tensors, each label at most once per tensor: what matrix multiplication can do.
  [[nodiscard]] bool is_contraction() {
    if (!compute_.monoid || compute_.monoid->kind != Monoid::Kind::kSum || compute_.guard || !compute_.left.empty()) return false;
    if (!ir::is_float(type_.scalar) || compute_.out.empty()) return false;
    const auto* product = std::get_if<ir::Binary>(&compute_.bodies.front()->op);
    if (product == nullptr || product->op != ir::BinaryOp::kMul) return false;
    const auto left_labels = single_labels(product->left);
    const auto right_labels = single_labels(product->right);
    if (!left_labels || !right_labels) return false;
    const std::size_t labels = compute_.out.size() + compute_.reduce.size();
    bool product_of_extents = false;
    for (std::size_t l = 0; l < labels; ++l) {
      const auto label = static_cast<int>(l);
      const bool left = left_labels->contains(label);
      const bool right = right_labels->contains(label);
      if (l >= compute_.out.size() ? !(left && right) : !(left || right)) return false;
      product_of_extents = product_of_extents || left != right;
    }
    // With every output label in both factors it is a batch of inner products, which a loop does better.
    return product_of_extents;
  }

  /// The labels of a read whose subscripts are distinct labels plus constants; nothing for anything else.
  [[nodiscard]] std::optional<std::set<int>> single_labels(const Expr& e) {
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r == nullptr || r->subscripts.empty() || builder_.is_host(r->tensor)) return std::nullopt;
    std::set<int> labels;
    for (const Expr& s : r->subscripts) {
      const auto form = affine_of(s, [this](const Expr& x) { return builder_.hoist(x); });
      if (!form || form->terms.size() != 1 || !(form->terms[0].coefficient == Extent(1))) return std::nullopt;
      if (!labels.insert(form->terms[0].label).second) return std::nullopt;
    }
    return labels;
  }

  FamilyBuilder& builder_;
  ValueId target_;
  Compute compute_;
  SourceRange range_;
  ir::Type type_;
};

}  // namespace

void lower_compute(FamilyBuilder& builder, const ir::Node& node, const Compute& compute) {
  for (std::size_t k = 0; k < node.results.size(); ++k) {
    Compute one = compute;
    one.bodies = {builder.rewritten(compute.bodies[k])};
    one.guard = builder.rewritten(compute.guard);
    for (Expr& e : one.left) e = builder.rewritten_subscript(e);
    for (auto* list : {&one.out, &one.reduce}) {
      for (ir::Label& l : *list) {
        l.begin = builder.rewritten(l.begin, node.range);
        l.end = builder.rewritten(l.end, node.range);
      }
    }
    const ValueId target = builder.resolve(node.results[k]);
    if (one.base) one.base = builder.is_host(target) ? builder.resolve(*one.base) : builder.as_tensor(*one.base, node.range);
    ComputeLowering(builder, target, std::move(one), node.range).run();
  }
}

}  // namespace tdsl::codegen
