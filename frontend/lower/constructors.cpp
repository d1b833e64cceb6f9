#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"

namespace tdsl::frontend {

std::vector<Dim> extent_arguments(Lowerer& lowerer, const ast::Call& call, std::size_t first, const SourceRange& range,
                                  std::size_t last) {
  last = std::min(last, call.arguments.size());
  std::vector<Dim> shape;
  for (std::size_t k = first; k < last; ++k) {
    const ast::Argument& a = call.arguments[k];
    if (a.name)
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.name->range,
                           call.callee.name + " takes sizes, no named arguments");
    const Expr size = integer_scalar(lowerer, *a.value, "a size");
    if (!labels_of(size).empty()) {
      lowerer.reports.fail(DiagnosticId::kBadDimension, a.range, "a size cannot depend on an index variable");
    }
    const std::string text = lowerer.reports.source_text(a.range);
    const std::string whole = lowerer.reports.source_text(range);
    shape.push_back({lowerer.graph.extent_of(size, text),
                     dimension_text(k - first, last - first, whole.empty() ? call.callee.name : whole), a.range});
    lowerer.shapes.require_size(shape.back().extent,
                                text.empty() || shape.back().extent.constant() ? "this size" : "the size " + text,
                                a.range);
  }
  if (shape.size() > 8) lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  return shape;
}

Tensor call_zeros(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const double value = call.callee.name == "ones" ? 1.0 : 0.0;
  return lowerer.algebra.filled(ir::constant(Scalar::kF64, value, range), Weak::kAny,
                                extent_arguments(lowerer, call, 0, range));
}

Tensor call_full(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (call.arguments.empty())
    lowerer.reports.fail(DiagnosticId::kBadArgument, range, "full takes a value and sizes: full(v, n, m)");
  const Tensor value = lower(lowerer, *call.arguments[0].value);
  if (value.rank() != 0)
    lowerer.reports.fail(DiagnosticId::kNotScalar, value.range,
                         "full's value is a scalar, but this is " + lowerer.graph.text(value));
  return lowerer.algebra.filled(value.body, value.weak, extent_arguments(lowerer, call, 1, range));
}

Tensor call_eye(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range);
  if (shape.size() == 1) shape.push_back(shape[0]);
  if (shape.size() != 2) lowerer.reports.fail(DiagnosticId::kBadArgument, range, "eye takes one or two sizes");
  Tensor t = lowerer.algebra.filled(ir::constant(Scalar::kF64, 0.0, range), Weak::kAny, std::move(shape));
  const Expr diagonal = ir::binary(BinaryOp::kEq, ir::index_ref(t.labels[0]), ir::index_ref(t.labels[1]), range);
  t.body = ir::select(diagonal, ir::constant(Scalar::kF64, 1.0, range), t.body, range);
  return t;
}

Tensor call_iota(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Tensor t = lowerer.algebra.filled(ir::constant_i64(0), Weak::kNo, extent_arguments(lowerer, call, 0, range));
  if (t.rank() != 1)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range, "iota takes one size: iota(n) is 0, 1, …, n - 1");
  t.body = ir::index_ref(t.labels[0], range);
  return t;
}

namespace {

std::uint64_t random_site(const Frames& frames, const ast::Call& call) {
  const Frame& frame = frames.back();
  const auto number = frame.numbers.find(&call);
  const std::string path = frame.chain + std::to_string(number == frame.numbers.end() ? -1 : number->second);
  // FNV-1a, then SplitMix64's finaliser so that nearby sites differ in all bits.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

}  // namespace

Tensor call_random(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Dim> shape = extent_arguments(lowerer, call, 0, range);
  ir::Type type{Scalar::kF64, {}, {}};
  for (const Dim& d : shape) type.shape.push_back(d.extent);
  lowerer.values.require_legal(type, lowerer.reports.source_text(range), range);
  ir::Random random;
  random.kind = call.callee.name == "randn" ? ir::Random::Kind::kNormal : ir::Random::Kind::kUniform;
  random.site = random_site(lowerer.frames, call);
  random.iterations = lowerer.loops.iteration_numbers(range);
  const std::vector<std::int32_t> labels = shape.empty() ? lowerer.names.point_labels() : std::vector<std::int32_t>();
  if (!labels.empty()) {
    // One number per element of the statement, reduction or function.
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
