#include <algorithm>

#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::Scalar;
using ir::ValueId;

std::vector<Dim> Lowerer::extent_arguments(const ast::Call& call, std::size_t first, const SourceRange& range,
                                           std::size_t last) {
  last = std::min(last, call.arguments.size());
  std::vector<Dim> shape;
  for (std::size_t k = first; k < last; ++k) {
    const ast::Argument& a = call.arguments[k];
    if (a.name)
      reports_.fail(DiagnosticId::kBadArgument, a.name->range, call.callee.name + " takes sizes, no named arguments");
    const Expr size = integer_scalar(*a.value, "a size");
    if (!labels_of(size).empty()) {
      reports_.fail(DiagnosticId::kBadDimension, a.range, "a size cannot depend on an index variable");
    }
    const std::string text = reports_.source_text(a.range);
    const std::string whole = reports_.source_text(range);
    shape.push_back({graph_.extent_of(size, text),
                     dimension_text(k - first, last - first, whole.empty() ? call.callee.name : whole), a.range});
    shapes_.require_size(shape.back().extent,
                         text.empty() || shape.back().extent.constant() ? "this size" : "the size " + text, a.range);
  }
  if (shape.size() > 8) reports_.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  return shape;
}

Tensor Lowerer::filled(const Expr& value, Weak weak, std::vector<Dim> shape) {
  Tensor t = scalar_tensor(value, weak);
  t.shape = std::move(shape);
  for (std::size_t d = 0; d < t.shape.size(); ++d) t.labels.push_back(graph_.new_label());
  return t;
}

Tensor Lowerer::call_zeros(const ast::Call& call, const SourceRange& range) {
  const double value = call.callee.name == "ones" ? 1.0 : 0.0;
  return filled(ir::constant(Scalar::kF64, value, range), Weak::kAny, extent_arguments(call, 0, range));
}

Tensor Lowerer::call_full(const ast::Call& call, const SourceRange& range) {
  if (call.arguments.empty())
    reports_.fail(DiagnosticId::kBadArgument, range, "full takes a value and sizes: full(v, n, m)");
  const Tensor value = lower(*call.arguments[0].value);
  if (value.rank() != 0)
    reports_.fail(DiagnosticId::kNotScalar, value.range, "full's value is a scalar, but this is " + graph_.text(value));
  return filled(value.body, value.weak, extent_arguments(call, 1, range));
}

Tensor Lowerer::call_eye(const ast::Call& call, const SourceRange& range) {
  std::vector<Dim> shape = extent_arguments(call, 0, range);
  if (shape.size() == 1) shape.push_back(shape[0]);
  if (shape.size() != 2) reports_.fail(DiagnosticId::kBadArgument, range, "eye takes one or two sizes");
  Tensor t = filled(ir::constant(Scalar::kF64, 0.0, range), Weak::kAny, std::move(shape));
  const Expr diagonal = ir::binary(BinaryOp::kEq, ir::index_ref(t.labels[0]), ir::index_ref(t.labels[1]), range);
  t.body = ir::select(diagonal, ir::constant(Scalar::kF64, 1.0, range), t.body, range);
  return t;
}

Tensor Lowerer::call_iota(const ast::Call& call, const SourceRange& range) {
  Tensor t = filled(ir::constant_i64(0), Weak::kNo, extent_arguments(call, 0, range));
  if (t.rank() != 1) reports_.fail(DiagnosticId::kBadArgument, range, "iota takes one size: iota(n) is 0, 1, …, n - 1");
  t.body = ir::index_ref(t.labels[0], range);
  return t;
}

Tensor Lowerer::call_random(const ast::Call& call, const SourceRange& range) {
  const std::vector<Dim> shape = extent_arguments(call, 0, range);
  ir::Type type{Scalar::kF64, {}, {}};
  for (const Dim& d : shape) type.shape.push_back(d.extent);
  values_.require_legal(type, reports_.source_text(range), range);
  ir::Random random;
  random.kind = call.callee.name == "randn" ? ir::Random::Kind::kNormal : ir::Random::Kind::kUniform;
  random.site = random_site(call);
  random.iterations = loops_.iteration_numbers(range);
  const std::vector<std::int32_t> labels = shape.empty() ? names_.point_labels() : std::vector<std::int32_t>();
  if (!labels.empty()) {
    // One for each element that the statement, the reduction or the function computes.
    std::vector<Expr> subscripts;
    for (const std::int32_t id : labels) subscripts.push_back(ir::index_ref(id));
    const ValueId v = graph_.wait(std::move(random), labels, range);
    values_.note_temporary(v);
    Tensor element = scalar_tensor(ir::read(Scalar::kF64, v, std::move(subscripts), range));
    element.range = range;
    return element;
  }
  const ValueId v = graph_.emit(std::move(random), type, "", range);
  Tensor t = values_.temporary(v, range);
  t.shape = shape;
  return t;
}

/// Each element is there with probability `density`, whatever the others are, and then uniform on [0, 1).
Tensor Lowerer::call_sprandom(const ast::Call& call, const SourceRange& range) {
  const bool named = std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.name.has_value(); });
  if (named || call.arguments.size() != 3)
    reports_.fail(DiagnosticId::kBadArgument, range, "sprandom takes two sizes and a density: sprandom(n, m, 0.01)");
  const std::vector<Dim> shape = extent_arguments(call, 0, range, 2);
  ir::Type type{Scalar::kF64, {shape[0].extent, shape[1].extent}, {}};
  values_.require_legal(type, reports_.source_text(range), range);
  const Expr density = density_argument(*call.arguments[2].value, range);
  graph_.note_sparse();
  ir::Random random;
  random.kind = ir::Random::Kind::kSparse;
  random.site = random_site(call);
  random.iterations = loops_.iteration_numbers(range);
  random.iterations.push_back(values_.materialise(scalar_tensor(density), "", range));
  type.sparse = {false, true};
  const ValueId v = graph_.emit(std::move(random), type, "", range);
  Tensor t = values_.temporary(v, range);
  t.shape = shape;
  return t;
}

Expr Lowerer::density_argument(const ast::Expr& e, const SourceRange& range) {
  const Tensor t = lower(e);
  const Expr density = values_.scalar_of_type(t, Scalar::kF64, "the density");
  if (!labels_of(density).empty())
    reports_.fail(DiagnosticId::kBadArgument, e.range, "a density cannot depend on an index variable");
  const auto bound = [&](BinaryOp op, double limit) {
    return ir::binary(op, density, ir::constant(Scalar::kF64, limit), e.range);
  };
  const Expr good = both(bound(BinaryOp::kGe, 0.0), bound(BinaryOp::kLe, 1.0));
  const ir::Literal* known = literal_of(good);
  if (known != nullptr && !std::get<bool>(*known))
    reports_.fail(DiagnosticId::kBadArgument, e.range,
                  "a density is between 0 and 1, and " + reports_.source_text(e.range) + " is not");
  if (known == nullptr)
    graph_.emit_effect(ir::Assert{values_.materialise(scalar_tensor(good), "", range),
                                  "a density is between 0 and 1: sprandom's is " + reports_.source_text(e.range), true},
                       range);
  return density;
}

std::uint64_t Lowerer::random_site(const ast::Call& call) const {
  const Frame& frame = frames_.back();
  const auto number = frame.numbers.find(&call);
  const std::string path = frame.chain + std::to_string(number == frame.numbers.end() ? -1 : number->second);
  // FNV-1a, then SplitMix64's finaliser so that near sites differ in all bits.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

}  // namespace tdsl::frontend
