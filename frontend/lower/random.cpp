#include <algorithm>
#include <functional>
#include <utility>

#include "frontend/lower/builtins.h"
#include "frontend/lower/functions/points.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/prelude.h"
#include "ir/graph/affine.h"

// random, randn, randint, permutation, sprandom. With `key=` a number is a function of the key and its place, so these
// calls are expressions; without it they are nodes, or take a key that is drawn by one.

namespace tdsl::frontend {

namespace {

std::uint64_t random_site(const Frames& frames, const ast::Call& call) {
  const Frame& frame = frames.back();
  const auto number = frame.numbers.find(&call);
  const std::string kind = draws_integers(call.callee.name) ? "integers" : "";
  const std::string path = frame.chain + kind + std::to_string(number == frame.numbers.end() ? -1 : number->second);
  // FNV-1a, then SplitMix64's finaliser so that nearby sites differ in all bits.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

/// The sizes of a draw: the arguments from `first` on, or those of the tensor `like=`.
std::vector<Dim> drawn_shape(Lowerer& lowerer, const ast::Call& call, std::size_t first, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(lowerer, call, first, range, SIZE_MAX, {"key", "like"});
  const ast::Expr* like = named_argument(call, "like");
  if (like == nullptr) return shape;
  if (!shape.empty())
    lowerer.reports.fail(DiagnosticId::kBadArgument, like->range, call.callee.name + " takes sizes or like=, not both");
  shape = lower(lowerer, *like).shape;
  for (Dim& d : shape) d.extent = lowerer.shapes.length_of(d.extent);
  return shape;
}

/// Numbers of the stream of the call site. With `per_point`, one for each element of the statement, reduction or
/// function around a call without sizes.
Tensor drawn_at_site(Lowerer& lowerer, ir::Random::Kind kind, const ast::Call& call, const std::vector<Dim>& shape,
                     bool per_point, const SourceRange& range) {
  ir::Type type{Scalar::kF64, {}, {}};
  for (const Dim& d : shape) type.shape.push_back(d.extent);
  lowerer.values.require_legal(type, lowerer.reports.source_text(range), range);
  ir::Random random;
  random.kind = kind;
  random.site = random_site(lowerer.frames, call);
  random.iterations = lowerer.loops.iteration_numbers(range);
  const std::vector<std::int32_t> labels = per_point ? lowerer.names.point_labels() : std::vector<std::int32_t>();
  if (!labels.empty()) {
    std::vector<Expr> subscripts;
    for (const std::int32_t id : labels) subscripts.push_back(ir::index_ref(id));
    const ValueId v = lowerer.graph.wait(std::move(random), labels, range);
    lowerer.values.note_temporary(v);
    Tensor element = scalar_tensor(ir::read(Scalar::kF64, v, std::move(subscripts), range));
    element.range = range;
    return element;
  }
  const ValueId v = lowerer.graph.emit(std::move(random), type, "", range);
  Tensor t = lowerer.values.temporary(v, range);
  t.shape = shape;
  return t;
}

/// A scalar that many elements use is computed once, if it depends on no element.
Expr computed_once(Lowerer& lowerer, const Expr& scalar, const SourceRange& range) {
  const Tensor t = scalar_tensor(scalar);
  if (literal_of(scalar) != nullptr || whole_value(t) || !labels_of(scalar).empty() || depends_on_operands(t) ||
      ir::may_fail(scalar))
    return scalar;
  return ir::read(Scalar::kI64, lowerer.values.materialise(t, "", range), {}, range);
}

/// The value of `key=`; without it, a key from the stream of the call site.
Expr key_of(Lowerer& lowerer, const ast::Call& call, bool has_sizes, const SourceRange& range) {
  Expr key;
  if (const ast::Expr* given = named_argument(call, "key")) {
    key = integer_scalar(lowerer, *given, "a key");
  } else {
    const Tensor drawn = drawn_at_site(lowerer, ir::Random::Kind::kUniform, call, {}, !has_sizes, range);
    key = ir::cast(Scalar::kI64,
                   ir::binary(BinaryOp::kMul, drawn.body, ir::constant(Scalar::kF64, 0x1p53, range), range), range);
  }
  return has_sizes ? computed_once(lowerer, key, range) : key;
}

/// The tensor of elements `make(row-major index)`.
Tensor by_index(Lowerer& lowerer, std::vector<Dim> shape, const SourceRange& range,
                const std::function<Expr(const Expr&)>& make) {
  Tensor t = lowerer.algebra.filled(ir::constant_i64(0), Weak::kNo, std::move(shape));
  t.body = make(lowerer.algebra.row_major(t));
  t.range = range;
  return t;
}

}  // namespace

Tensor call_random(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Dim> shape = drawn_shape(lowerer, call, 0, range);
  const bool normal = call.callee.name == "randn";
  if (named_argument(call, "key") == nullptr)
    return drawn_at_site(lowerer, normal ? ir::Random::Kind::kNormal : ir::Random::Kind::kUniform, call, shape,
                         shape.empty(), range);
  const Expr key = key_of(lowerer, call, !shape.empty(), range);
  const BinaryOp op = normal ? BinaryOp::kKeyedNormal : BinaryOp::kKeyedUniform;
  return by_index(lowerer, shape, range, [&](const Expr& index) { return ir::binary(op, key, index, range); });
}

namespace {

/// Reports bounds of `randint` without an integer between them, now or in the run.
void require_integers(Lowerer& lowerer, const Expr& low, const Expr& high, const SourceRange& range) {
  const Expr good = ir::binary(BinaryOp::kLt, low, high, range);
  const ir::Literal* known = literal_of(good);
  const std::string message =
      "randint draws from a to b - 1, so a < b, unlike in " + lowerer.reports.source_text(range);
  if (known != nullptr && !std::get<bool>(*known)) lowerer.reports.fail(DiagnosticId::kBadArgument, range, message);
  if (known != nullptr) return;
  const Expr guard = lowerer.guards.of_whole_tensors().all();
  const Expr needed = guard ? ir::binary(BinaryOp::kOr, ir::unary(UnaryOp::kNot, guard, range), good, range) : good;
  lowerer.graph.emit_effect(ir::Assert{lowerer.values.materialise(scalar_tensor(needed), "", range), message, true},
                            range);
}

}  // namespace

/// `randint(a, b, n, m)`: uniform integers from a to b - 1.
Tensor call_randint(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Expr> bounds;
  std::size_t first = 0;
  for (; first < call.arguments.size() && bounds.size() < 2; ++first) {
    const ast::Argument& a = call.arguments[first];
    if (!a.name) bounds.push_back(integer_scalar(lowerer, *a.value, "a bound of randint"));
  }
  if (bounds.size() < 2)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "randint takes two bounds and sizes: randint(a, b, n) are n integers from a to b - 1");
  for (const Expr& e : bounds) {
    if (!labels_of(e).empty())
      lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                           "the bounds of randint cannot depend on an index variable; `a + i64(random() * f64(b - "
                           "a))` draws an integer for each element");
  }
  const std::vector<Dim> shape = drawn_shape(lowerer, call, first, range);
  require_integers(lowerer, bounds[0], bounds[1], range);
  const Expr key = key_of(lowerer, call, !shape.empty(), range);
  const Expr count = sub(bounds[1], bounds[0]);
  return by_index(lowerer, shape, range, [&](const Expr& index) {
    const Expr bits = ir::binary(BinaryOp::kKeyedBits, key, index, range);
    return add(ir::binary(BinaryOp::kKeyedBelow, bits, count, range), bounds[0]);
  });
}

/// `permutation(n)`: the integers from 0 to n - 1 in random order, each computed from its place by the prelude.
Tensor call_permutation(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range, SIZE_MAX, {"key"});
  if (shape.size() != 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "permutation takes one size: permutation(n) has the integers from 0 to n - 1");
  // Keys next to each other have networks of their own.
  constexpr std::int64_t kNetwork = 0x7065726D75746564;
  const Expr key =
      ir::binary(BinaryOp::kKeyedBits, key_of(lowerer, call, true, range), ir::constant_i64(kNetwork, range), range);
  const Tensor network = scalar_tensor(computed_once(lowerer, key, range));
  const Tensor count = scalar_tensor(expr_of(lowerer.graph.program(), shape[0].extent));
  const std::int32_t label = lowerer.graph.new_label(shape[0].extent);
  Tensor t = lowerer.algebra.filled(ir::constant_i64(0), Weak::kNo, std::move(shape));
  t.labels = {label};
  t.range = range;
  std::vector<Tensor> args = {scalar_tensor(ir::index_ref(label)), count, network};
  for (Tensor& a : args) a.range = range;
  return call_prelude_for_each(lowerer, "permutation", args, std::move(t), range);
}

namespace {

Expr density_argument(Lowerer& lowerer, const ast::Expr& e, const SourceRange& range) {
  const Tensor t = lower(lowerer, e);
  const Expr density = lowerer.values.scalar_of_type(t, Scalar::kF64, "the density");
  if (!labels_of(density).empty())
    lowerer.reports.fail(DiagnosticId::kBadArgument, e.range, "a density cannot depend on an index variable");
  const auto bound = [&](BinaryOp op, double limit) {
    return ir::binary(op, density, ir::constant(Scalar::kF64, limit), e.range);
  };
  const Expr good = both(bound(BinaryOp::kGe, 0.0), bound(BinaryOp::kLe, 1.0));
  const ir::Literal* known = literal_of(good);
  if (known != nullptr && !std::get<bool>(*known))
    lowerer.reports.fail(DiagnosticId::kBadArgument, e.range,
                         "a density is between 0 and 1, and " + lowerer.reports.source_text(e.range) + " is not");
  if (known == nullptr)
    lowerer.graph.emit_effect(
        ir::Assert{lowerer.values.materialise(scalar_tensor(good), "", range),
                   "a density is between 0 and 1: sprandom's is " + lowerer.reports.source_text(e.range), true},
        range);
  return density;
}

}  // namespace

/// Each element is stored independently with probability `density`; stored values are uniform on [0, 1).
Tensor call_sprandom(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const bool named = std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.name.has_value(); });
  if (named || call.arguments.size() != 3)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "sprandom takes two sizes and a density: sprandom(n, m, 0.01)");
  const std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range, 2);
  ir::Type type{Scalar::kF64, {shape[0].extent, shape[1].extent}, {}};
  lowerer.values.require_legal(type, lowerer.reports.source_text(range), range);
  const Expr density = density_argument(lowerer, *call.arguments[2].value, range);
  lowerer.graph.note_sparse();
  ir::Random random;
  random.kind = ir::Random::Kind::kSparse;
  random.site = random_site(lowerer.frames, call);
  random.iterations = lowerer.loops.iteration_numbers(range);
  random.iterations.push_back(lowerer.values.materialise(scalar_tensor(density), "", range));
  type.format.levels = {ir::Format::Level::kDense, ir::Format::Level::kSparse};
  const ValueId v = lowerer.graph.emit(std::move(random), type, "", range);
  Tensor t = lowerer.values.temporary(v, range);
  t.shape = shape;
  return t;
}

}  // namespace tdsl::frontend
