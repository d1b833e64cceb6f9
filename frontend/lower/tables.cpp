#include <utility>

#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/lower/prelude.h"
#include "frontend/sema/types.h"

// searchsorted, interp, histogram, bincount: calls of the prelude.

namespace tdsl::frontend {

namespace {

void require_vector(Lowerer& lowerer, const Tensor& t, const std::string& what) {
  if (t.rank() != 1)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, t.range,
                         what + " is a vector, but this is " + lowerer.graph.text(t));
}

Tensor with_type(const Tensor& t, Scalar type) {
  Tensor result = t;
  result.body = converted(t.body, type);
  result.weak = Weak::kNo;
  return result;
}

/// Applies a function of the prelude to each element of `x`; the argument number `place` is the element.
Tensor for_each_element(Lowerer& lowerer, const std::string& name, std::vector<Tensor> args, std::size_t place,
                        const SourceRange& range) {
  if (args[place].rank() == 0) return call_prelude(lowerer, name, args, range, lowerer.names.point_labels());
  Tensor result = args[place];
  std::vector<Expr> own;
  for (std::size_t d = 0; d < result.rank(); ++d) {
    result.labels[d] = lowerer.graph.new_label(result.shape[d].extent);
    own.push_back(ir::index_ref(result.labels[d]));
  }
  args[place] = scalar_tensor(element(args[place], own));
  args[place].range = range;
  return call_prelude_for_each(lowerer, name, args, std::move(result), range);
}

/// A whole tensor in one dimension.
Tensor in_one_dimension(Lowerer& lowerer, const Tensor& t, const SourceRange& range) {
  return t.rank() == 1 ? t : lowerer.algebra.flattened(t, range);
}

}  // namespace

Tensor call_searchsorted(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"side"});
  const std::string side = option_word(lowerer, call, "side", {"left", "right"});
  require_vector(lowerer, args[0], "the first argument of searchsorted");
  Scalar type = lowerer.values.common_type(args[0], args[1], range).type;
  if (!ir::is_float(type) && type != Scalar::kU64) type = Scalar::kI64;
  return for_each_element(lowerer, "searchsorted_" + side, {with_type(args[0], type), with_type(args[1], type)}, 1,
                          range);
}

Tensor call_interp(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 3, 3, range);
  require_vector(lowerer, args[1], "the second argument of interp");
  require_vector(lowerer, args[2], "the third argument of interp");
  lowerer.shapes.agree(args[1].shape[0], args[2].shape[0], range, "between the places and the values of interp");
  Common common = common_type(args[1].scalar(), args[1].weak, args[2].scalar(), args[2].weak);
  common = common_type(common.type, common.weak, args[0].scalar(), args[0].weak);
  const Scalar type = ir::is_float(common.type) ? common.type : Scalar::kF64;
  return for_each_element(lowerer, "interp",
                          {with_type(args[0], type), with_type(args[1], type), with_type(args[2], type)}, 0, range);
}

Tensor call_histogram(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  std::vector<Tensor> args = positional(lowerer, call, 4, 4, range, {"weights"});
  for (std::size_t k = 1; k < 4; ++k) {
    if (args[k].rank() != 0)
      lowerer.reports.fail(DiagnosticId::kNotScalar, args[k].range,
                           "histogram takes scalars after the tensor: histogram(x, lo, hi, bins)");
  }
  if (!ir::is_integer(args[3].scalar()))
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, args[3].range, "the number of bins is an integer");
  args[0] = in_one_dimension(lowerer, args[0], range);
  for (std::size_t k = 0; k < 3; ++k) args[k] = with_type(args[k], Scalar::kF64);
  args[3] = with_type(args[3], Scalar::kI64);
  const Tensor bin = call_prelude(lowerer, "bins_of", args, range);
  const ast::Expr* weights = named_argument(call, "weights");
  if (weights == nullptr) return call_prelude(lowerer, "histogram", {bin, args[3]}, range);
  const Tensor w = in_one_dimension(lowerer, lower(lowerer, *weights), range);
  lowerer.shapes.agree(args[0].shape[0], w.shape[0], range, "between the elements and the weights of histogram");
  return call_prelude(lowerer, "histogram_weighted", {bin, args[3], with_type(w, summed_type(w.scalar()))}, range);
}

Tensor call_bincount(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 1, 2, range, {"weights"});
  require_vector(lowerer, args[0], "the first argument of bincount");
  if (!ir::is_integer(args[0].scalar()))
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, args[0].range,
                         "bincount counts integers, but this is " + lowerer.graph.text(args[0]) + "; write i64(…)");
  const Tensor x = with_type(args[0], Scalar::kI64);
  Tensor k;
  if (args.size() == 2) {
    if (args[1].rank() != 0 || !ir::is_integer(args[1].scalar()))
      lowerer.reports.fail(DiagnosticId::kTypeMismatch, args[1].range,
                           "the number of counters is an integer; weights are named: bincount(x, k, weights=w)");
    k = with_type(args[1], Scalar::kI64);
  } else {
    const Tensor most = reduce_axes(lowerer, {Reducer::kMax, {}, Scalar::kI64}, x, {true}, false, range);
    const Expr none =
        ir::binary(BinaryOp::kEq, expr_of(lowerer.graph.program(), x.shape[0].extent), ir::constant_i64(0), range);
    k = scalar_tensor(ir::select(none, ir::constant_i64(0), add(most.body, ir::constant_i64(1)), range));
  }
  k.range = range;
  const ast::Expr* weights = named_argument(call, "weights");
  if (weights == nullptr) return call_prelude(lowerer, "bincount", {x, k}, range);
  const Tensor w = lower(lowerer, *weights);
  const Scalar type = summed_type(w.scalar());
  return call_prelude(lowerer, "bincount_weighted", {x, k, with_type(w, type)}, range);
}

}  // namespace tdsl::frontend
