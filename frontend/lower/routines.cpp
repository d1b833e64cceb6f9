#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "ir/graph/expr_build.h"

namespace tdsl::frontend {

using ir::Routine;
using SolveKind = Routine::SolveKind;

namespace {

/// A routine that takes the last two dimensions for each element of the leading ones.
bool is_of_matrices(const std::string& name) {
  static const std::set<std::string> names = {"solve", "cholesky", "lu",  "qr",  "svd",
                                              "eigh",  "eig",      "inv", "det", "lstsq"};
  return names.contains(name);
}

}  // namespace

ValueId Algebra::routine_operand(const Tensor& t, Scalar type, const ast::Call& call) {
  values_.require_not_padded(t);
  Tensor value = t;
  value.body = converted(t.body, type);
  value.weak = Weak::kNo;
  for (const std::int32_t id : labels_of(value.body)) {
    if (std::ranges::find(value.labels, id) == value.labels.end()) {
      reports_.fail(
          DiagnosticId::kNotScalar, t.range,
          call.callee.name + " takes a whole tensor, but this depends on the index variable `" + graph_.label(id).name +
              "`" +
              (is_of_matrices(call.callee.name)
                   ? "; outside of index notation it takes matrices for all values of it: put its dimension first"
                   : ""));
    }
  }
  ValueId v = values_.materialise(value, "", t.range);
  // Routines work on dense blocks.
  if (ir::Type dense = graph_.program().type(v); dense.has_sparse()) {
    dense.format = {};
    v = values_.materialise(values_.tensor_of(v, t.range), "", t.range, &dense);
  }
  std::string& name = graph_.program().values[static_cast<std::size_t>(v.id)].name;
  if (name.empty()) name = reports_.source_text(t.range);
  return v;
}

std::vector<Tensor> Algebra::emit_routine(Routine routine, const std::vector<RoutineResult>& results,
                                          const SourceRange& range) {
  graph_.flush();
  std::vector<ValueId> values;
  std::vector<Tensor> tensors;
  for (const RoutineResult& r : results) {
    ir::Type type{r.scalar, {}, {}};
    for (const Dim& d : r.shape) type.shape.push_back(d.extent);
    const ValueId v = graph_.program().new_value(std::move(type), "", range);
    values_.note_temporary(v);
    values.push_back(v);
    tensors.push_back(values_.tensor_of(v, reports_.source_text(range), range));
    tensors.back().shape = r.shape;
  }
  const bool stops = !ir::is_line(routine.kind);
  const Expr guard = guards_.all();
  if (stops && guard && labels_of(guard).empty()) {
    emit_guarded_routine(std::move(routine), values, guard, range);
  } else {
    graph_.emit_results(std::move(routine), std::move(values), range);
  }
  return tensors;
}

// A branch not taken must not be evaluated: inv(A) of a singular A would stop the run.
void Algebra::emit_guarded_routine(Routine routine, const std::vector<ValueId>& results, const Expr& guard,
                                   const SourceRange& range) {
  const Restored<Guards> outside(guards_, guards_.without_conditions());
  ir::If branch;
  branch.condition = values_.materialise(scalar_tensor(guard), reports_.source_text(guard->range), guard->range);
  const auto fresh_result = [&](ValueId v) {
    const ir::ValueInfo info = graph_.program().info(v);
    return graph_.program().new_value(info.type, info.name, range);
  };
  {
    const Shapes::InRegion region(shapes_, branch.then_region);
    for (const ValueId v : results) branch.then_region.yields.push_back(fresh_result(v));
    graph_.emit_results(std::move(routine), branch.then_region.yields, range);
  }
  {
    const Shapes::InRegion region(shapes_, branch.else_region);
    for (const ValueId v : results) {
      const ir::Type type = graph_.program().type(v);
      std::vector<Dim> shape;
      for (const Extent& e : type.shape) shape.push_back({e, "", range});
      const Tensor zero = filled(converted(ir::constant_i64(0), type.scalar), Weak::kNo, std::move(shape));
      branch.else_region.yields.push_back(values_.materialise(zero, "", range, &type));
    }
  }
  graph_.emit_results(std::move(branch), results, range);
}

// --- Along lines

namespace {

Routine::Kind scan_named(const std::string& name) {
  if (name == "cumprod") return Routine::Kind::kCumprod;
  if (name == "cummax") return Routine::Kind::kCummax;
  return name == "cummin" ? Routine::Kind::kCummin : Routine::Kind::kCumsum;
}

}  // namespace

/// cumsum, cumprod, cummax, cummin.
Tensor call_cumsum(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Tensor t = positional(lowerer, call, 1, 1, range, {"axis"})[0];
  const ast::Expr* axis = named_argument(call, "axis");
  Routine routine;
  routine.kind = scan_named(call.callee.name);
  if (axis != nullptr)
    routine.axis = axis_number(lowerer, *axis, t.rank());
  else if (t.rank() != 1)
    t = lowerer.algebra.flattened(t, range);
  const bool keeps = routine.kind == Routine::Kind::kCummax || routine.kind == Routine::Kind::kCummin;
  const Scalar type = keeps ? t.scalar() : summed_type(t.scalar());
  routine.operands = {lowerer.algebra.routine_operand(t, type, call)};
  return lowerer.algebra.emit_routine(std::move(routine), {{type, t.shape}}, range)[0];
}

Tensor call_sort(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range, {"axis"})[0];
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         call.callee.name + " takes a tensor, but this is a scalar");
  const ast::Expr* axis = named_argument(call, "axis");
  Routine routine;
  routine.kind = call.callee.name == "sort" ? Routine::Kind::kSort : Routine::Kind::kArgsort;
  routine.axis = axis != nullptr ? axis_number(lowerer, *axis, t.rank()) : static_cast<std::int64_t>(t.rank()) - 1;
  routine.operands = {lowerer.algebra.routine_operand(t, t.scalar(), call)};
  const Scalar type = routine.kind == Routine::Kind::kSort ? t.scalar() : Scalar::kI64;
  return lowerer.algebra.emit_routine(std::move(routine), {{type, t.shape}}, range)[0];
}

std::vector<Tensor> call_topk(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 2, 2, range)[0];
  if (t.rank() == 0)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "topk takes a tensor, but this is a scalar");
  const SourceRange& place = call.arguments[1].range;
  const Expr count = integer_scalar(lowerer, *call.arguments[1].value, "topk's k");
  if (!labels_of(count).empty())
    lowerer.reports.fail(DiagnosticId::kBadDimension, place, "topk's k cannot depend on an index variable");
  const std::string text = lowerer.reports.source_text(place);
  const Dim wanted{lowerer.graph.extent_of(count, text), "topk's k", place};
  const Dim& line = t.shape.back();
  const auto room = (line.extent - wanted.extent).constant();
  const auto k = wanted.extent.constant();
  if ((room && *room < 0) || (k && *k < 0)) {
    lowerer.reports.fail(DiagnosticId::kBadArgument, place,
                         "topk takes from 0 to all elements of the last dimension, but k is " +
                             lowerer.graph.text(wanted.extent) + " and " + line.what + " is " +
                             lowerer.graph.text(line.extent));
  }
  if (!room || !k) {
    const Expr least = ir::binary(BinaryOp::kGe, count, ir::constant_i64(0), place);
    const Expr most = ir::binary(BinaryOp::kLe, count, expr_of(lowerer.graph.program(), line.extent), place);
    const ValueId good =
        lowerer.values.materialise(scalar_tensor(both(room ? Expr() : most, k ? Expr() : least)), "", place);
    lowerer.graph.emit_effect(ir::Assert{good, "topk takes from 0 to all elements of the last dimension: k = " + text},
                              place);
  }
  Routine routine;
  routine.kind = Routine::Kind::kTopk;
  routine.axis = static_cast<std::int64_t>(t.rank()) - 1;
  routine.operands = {lowerer.algebra.routine_operand(t, t.scalar(), call)};
  std::vector<Dim> shape = t.shape;
  shape.back() = wanted;
  return lowerer.algebra.emit_routine(std::move(routine), {{t.scalar(), shape}, {Scalar::kI64, shape}}, range);
}

// --- Of matrices

namespace {

/// Common to matrix routines: the operand's float type, the dimensions of its matrices, and the leading ones, which the
/// results have, too.
struct MatrixCall {
  Routine routine;
  Scalar scalar = Scalar::kF64;
  std::vector<Dim> batch;
  Dim rows;
  Dim columns;

  /// The dimensions of a result with this shape for each matrix.
  [[nodiscard]] std::vector<Dim> each(const std::vector<Dim>& shape) const {
    std::vector<Dim> all = batch;
    all.insert(all.end(), shape.begin(), shape.end());
    return all;
  }
};

std::size_t batch_rank(const Tensor& a) { return a.rank() < 2 ? 0 : a.rank() - 2; }

MatrixCall matrix_call(const GraphBuilder& graph, Reports& reports, Routine::Kind kind, const Tensor& a,
                       const ast::Call& call) {
  if (a.rank() < 2)
    reports.fail(DiagnosticId::kRankMismatch, a.range,
                 call.callee.name + " takes a matrix, but this is " + graph.text(a));
  MatrixCall m;
  m.scalar = ir::is_float(a.scalar()) ? a.scalar() : Scalar::kF64;
  m.batch.assign(a.shape.begin(), a.shape.end() - 2);
  m.rows = a.shape[a.rank() - 2];
  m.columns = a.shape.back();
  m.routine.kind = kind;
  return m;
}

void require_square(Shapes& shapes, const MatrixCall& m, const ast::Call& call, const SourceRange& range) {
  shapes.agree(m.rows, m.columns, range, "for " + call.callee.name + ", which takes a square matrix");
}

Dim shorter(GraphBuilder& graph, const MatrixCall& m) {
  const auto difference = (m.rows.extent - m.columns.extent).constant();
  if (difference) return *difference <= 0 ? m.rows : m.columns;
  const Expr least =
      ir::binary(BinaryOp::kMin, expr_of(graph.program(), m.rows.extent), expr_of(graph.program(), m.columns.extent));
  return {graph.extent_of(least, "min(" + graph.text(m.rows.extent) + ", " + graph.text(m.columns.extent) + ")"),
          "the smaller of rows and columns", m.rows.range};
}

}  // namespace

namespace {

struct Equations {
  Tensor a;
  Tensor b;
  SolveKind kind = SolveKind::kGeneral;
};

/// The solution's dimensions. `b` has the rank of `a`, or one less: a vector for each matrix.
std::vector<Dim> solution_shape(Lowerer& lowerer, const ast::Call& call, const Equations& e, const SourceRange& range) {
  const std::string& name = call.callee.name;
  const std::size_t batch = batch_rank(e.a);
  if (e.b.rank() != batch + 1 && e.b.rank() != batch + 2) {
    const std::string wanted =
        batch == 0 ? "is a vector or a matrix" : "has the rank of the matrices, or one less for vectors";
    lowerer.reports.fail(DiagnosticId::kRankMismatch, e.b.range,
                         "the right side of " + name + " " + wanted + ", but this is " + lowerer.graph.text(e.b));
  }
  if (name == "solve")
    lowerer.shapes.agree(e.a.shape[batch], e.a.shape[batch + 1], range, "for solve, which takes a square matrix");
  std::vector<Dim> shape = e.b.shape;
  for (std::size_t d = 0; d < batch; ++d) {
    shape[d] = lowerer.shapes.broadcast(e.a.shape[d], e.b.shape[d], range,
                                        "between the batches of the matrix and the right side of " + name);
  }
  lowerer.shapes.agree(e.a.shape[batch], e.b.shape[batch], range, "between the matrix and the right side of " + name);
  shape[batch] = e.a.shape[batch + 1];
  return shape;
}

/// The solution of real equations.
Tensor solved(Lowerer& lowerer, const ast::Call& call, const Equations& e, const SourceRange& range) {
  const bool least_squares = call.callee.name == "lstsq";
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports,
                             least_squares ? Routine::Kind::kLstsq : Routine::Kind::kSolve, e.a, call);
  const std::vector<Dim> shape = solution_shape(lowerer, call, e, range);
  const Common common = common_type(e.a.scalar(), e.a.weak, e.b.scalar(), e.b.weak);
  m.scalar = ir::is_real(common.type) ? common.type : Scalar::kF64;
  m.routine.solves = e.kind;
  m.routine.operands = {lowerer.algebra.routine_operand(e.a, m.scalar, call),
                        lowerer.algebra.routine_operand(e.b, m.scalar, call)};
  return lowerer.algebra.emit_routine(std::move(m.routine), {{m.scalar, shape}}, range)[0];
}

Tensor as_complex(const Tensor& t, Scalar type) {
  Tensor result = t;
  result.body = converted(t.body, type);
  result.weak = Weak::kNo;
  return result;
}

/// The diagonal element that belongs to `place`, at the batch subscripts of the tensor `at`.
Expr diagonal_element(const Tensor& a, const Tensor& at, const Expr& place) {
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < batch_rank(a); ++d) {
    const bool stretches = a.shape[d].extent.constant() == 1;
    subscripts.push_back(stretches ? ir::constant_i64(0) : ir::index_ref(at.labels[d]));
  }
  subscripts.insert(subscripts.end(), 2, place);
  return element(a, subscripts);
}

/// Columns divided by the diagonal, which becomes 1, and stays 0 where it is 0: so the real form of a triangular matrix
/// is triangular.
Tensor with_unit_diagonal(const Tensor& a, const SourceRange& range) {
  Tensor result = a;
  const Expr row = ir::index_ref(a.labels[a.rank() - 2]), column = ir::index_ref(a.labels.back());
  const Expr own = diagonal_element(a, a, column);
  const Expr zero = ir::zero_of(a.scalar());
  const Expr unit =
      ir::select(ir::binary(BinaryOp::kEq, own, zero), zero, converted(ir::constant_i64(1), a.scalar()), range);
  result.body =
      ir::select(ir::binary(BinaryOp::kEq, row, column), unit, ir::binary(BinaryOp::kDiv, a.body, own, range), range);
  return result;
}

Tensor complex_solved(Lowerer& lowerer, const ast::Call& call, Equations e, const SourceRange& range) {
  const std::vector<Dim> shape = solution_shape(lowerer, call, e, range);
  const std::size_t batch = batch_rank(e.a);
  const bool triangular = e.kind == SolveKind::kLower || e.kind == SolveKind::kUpper;
  if (triangular) e.a = lowerer.values.operand(e.a);
  const Tensor matrix = triangular ? with_unit_diagonal(e.a, range) : e.a;
  const Equations real = {real_form(lowerer, matrix, true, e.kind == SolveKind::kPositive, batch),
                          real_form(lowerer, e.b, false, false, batch), e.kind};
  Tensor x = complex_form(lowerer, solved(lowerer, call, real, range), shape, false, false, batch);
  if (triangular)
    x.body = ir::binary(BinaryOp::kDiv, x.body, diagonal_element(e.a, x, ir::index_ref(x.labels[batch])), range);
  return x;
}

SolveKind solve_kind(Lowerer& lowerer, const ast::Call& call) {
  const std::string word = option_word(lowerer, call, "kind", {"general", "lower", "upper", "positive"});
  for (const SolveKind kind : {SolveKind::kLower, SolveKind::kUpper, SolveKind::kPositive}) {
    if (name_of(kind) == word) return kind;
  }
  return SolveKind::kGeneral;
}

}  // namespace

/// solve and lstsq.
Tensor call_solve(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const bool solves = call.callee.name == "solve";
  const std::vector<Tensor> args =
      positional(lowerer, call, 2, 2, range, solves ? std::set<std::string>{"kind"} : std::set<std::string>{});
  Equations e = {args[0], args[1], solves ? solve_kind(lowerer, call) : SolveKind::kGeneral};
  const Common common = common_type(e.a.scalar(), e.a.weak, e.b.scalar(), e.b.weak);
  // A vector as the matrix is an error either way.
  if (!ir::is_complex(common.type) || e.a.rank() < 2) return solved(lowerer, call, e, range);
  e.a = as_complex(e.a, common.type);
  e.b = as_complex(e.b, common.type);
  return complex_solved(lowerer, call, e, range);
}

namespace {

/// cholesky, inv, det of a real matrix, inv and det also of a complex one.
Tensor of_square(Lowerer& lowerer, const ast::Call& call, const Tensor& a, const SourceRange& range) {
  static const std::map<std::string, Routine::Kind> kinds = {
      {"cholesky", Routine::Kind::kCholesky}, {"inv", Routine::Kind::kInv}, {"det", Routine::Kind::kDet}};
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, kinds.at(call.callee.name), a, call);
  require_square(lowerer.shapes, m, call, range);
  m.routine.operands = {lowerer.algebra.routine_operand(a, m.scalar, call)};
  const std::vector<Dim> shape = m.routine.kind == Routine::Kind::kDet ? m.batch : m.each({m.rows, m.columns});
  return lowerer.algebra.emit_routine(std::move(m.routine), {{m.scalar, shape}}, range)[0];
}

}  // namespace

Tensor call_square(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  if (!ir::is_complex(a.scalar()) || a.rank() < 2 || call.callee.name != "cholesky")
    return of_square(lowerer, call, a, range);
  const std::size_t batch = batch_rank(a);
  lowerer.shapes.agree(a.shape[batch], a.shape[batch + 1], range, "for cholesky, which takes a square matrix");
  const Tensor result = of_square(lowerer, call, real_form(lowerer, a, true, true, batch), range);
  return complex_form(lowerer, result, a.shape, true, true, batch);
}

std::vector<Tensor> call_lu(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, Routine::Kind::kLu, a, call);
  m.routine.operands = {lowerer.algebra.routine_operand(a, m.scalar, call)};
  const Dim k = shorter(lowerer.graph, m);
  return lowerer.algebra.emit_routine(
      std::move(m.routine),
      {{Scalar::kI64, m.each({m.rows})}, {m.scalar, m.each({m.rows, k})}, {m.scalar, m.each({k, m.columns})}}, range);
}

std::vector<Tensor> call_qr(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  const bool complex = ir::is_complex(a.scalar()) && a.rank() >= 2;
  const std::size_t batch = batch_rank(a);
  const Tensor form = complex ? real_form(lowerer, a, true, false, batch) : a;
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, Routine::Kind::kQr, form, call);
  m.routine.operands = {lowerer.algebra.routine_operand(form, m.scalar, call)};
  const Dim k = shorter(lowerer.graph, m);
  const std::vector<Tensor> factors = lowerer.algebra.emit_routine(
      std::move(m.routine), {{m.scalar, m.each({m.rows, k})}, {m.scalar, m.each({k, m.columns})}}, range);
  if (!complex) return factors;
  m.rows = a.shape[batch];
  m.columns = a.shape[batch + 1];
  const Dim narrow = shorter(lowerer.graph, m);
  return {complex_form(lowerer, factors[0], m.each({m.rows, narrow}), true, false, batch),
          complex_form(lowerer, factors[1], m.each({narrow, m.columns}), true, false, batch)};
}

namespace {

/// Singular values and eigenvalues, which routines give as complex numbers for a complex matrix.
Tensor real_numbers(Lowerer& lowerer, const Tensor& values, const SourceRange& range) {
  return ir::is_complex(values.scalar()) ? lowerer.algebra.apply_unary(ir::UnaryOp::kReal, values, range) : values;
}

}  // namespace

std::vector<Tensor> call_svd(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, Routine::Kind::kSvd, a, call);
  m.routine.operands = {lowerer.algebra.routine_operand(a, m.scalar, call)};
  const Dim k = shorter(lowerer.graph, m);
  std::vector<Tensor> factors = lowerer.algebra.emit_routine(
      std::move(m.routine),
      {{m.scalar, m.each({m.rows, k})}, {m.scalar, m.each({k})}, {m.scalar, m.each({k, m.columns})}}, range);
  factors[1] = real_numbers(lowerer, factors[1], range);
  return factors;
}

std::vector<Tensor> call_eigh(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, Routine::Kind::kEigh, a, call);
  require_square(lowerer.shapes, m, call, range);
  m.routine.operands = {lowerer.algebra.routine_operand(a, m.scalar, call)};
  std::vector<Tensor> spectrum = lowerer.algebra.emit_routine(
      std::move(m.routine), {{m.scalar, m.each({m.rows})}, {m.scalar, m.each({m.rows, m.columns})}}, range);
  spectrum[0] = real_numbers(lowerer, spectrum[0], range);
  return spectrum;
}

/// The result is complex for reals, too.
std::vector<Tensor> call_eig(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor a = positional(lowerer, call, 1, 1, range)[0];
  MatrixCall m = matrix_call(lowerer.graph, lowerer.reports, Routine::Kind::kEig, a, call);
  require_square(lowerer.shapes, m, call, range);
  m.scalar = ir::is_narrow(m.scalar) ? Scalar::kC64 : Scalar::kC128;
  m.routine.operands = {lowerer.algebra.routine_operand(as_complex(a, m.scalar), m.scalar, call)};
  return lowerer.algebra.emit_routine(std::move(m.routine),
                                      {{m.scalar, m.each({m.rows})}, {m.scalar, m.each({m.rows, m.columns})}}, range);
}

}  // namespace tdsl::frontend
