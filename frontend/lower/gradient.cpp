#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

// `grad(loss, W1, W2)`: a Gradient node, which the pass `differentiate` expands.

namespace {

ValueId differentiated(Lowerer& lowerer, const ast::Expr& e, std::int64_t tick) {
  const std::string* name = bare_name(e);
  if (name == nullptr) {
    lowerer.reports.fail(
        DiagnosticId::kBadArgument, e.range,
        "grad differentiates by variables, but this is an expression; give it a name before the loss is computed");
  }
  const Tensor t = lower_name(lowerer, *name, e.range, false);
  if (!ir::is_float(t.scalar())) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, e.range,
                         "grad differentiates by floats, but `" + *name + "` is " + lowerer.graph.text(t));
  }
  if (ir::is_half(t.scalar()))
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, e.range,
                         "grad differentiates by floats that are computed, but `" + *name + "` is " +
                             lowerer.graph.text(t) + "; keep it as f32");
  const SymbolRef symbol = lowerer.names.find(*name);
  if (symbol && !symbol->history.empty()) return value_at(*symbol, tick);
  // An untyped parameter denotes its argument.
  const auto whole = whole_value(t);
  if (!whole) {
    lowerer.reports.fail(
        DiagnosticId::kBadArgument, e.range,
        "grad differentiates by variables, but `" + *name + "` stands for an expression; give the parameter a type");
  }
  return *whole;
}

}  // namespace

std::vector<Tensor> call_gradient(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  for (const ast::Argument& a : call.arguments) {
    if (a.name)
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.name->range, "grad has no argument `" + a.name->name + "=`");
  }
  if (call.arguments.size() < 2)
    lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                         "grad takes a loss and at least one variable, as in grad(loss, W)");
  const ast::Expr& loss_expr = *call.arguments[0].value;
  const Tensor loss = lower(lowerer, loss_expr);
  if (loss.rank() != 0)
    lowerer.reports.fail(DiagnosticId::kNotScalar, loss_expr.range,
                         "grad differentiates a scalar, but this is " + lowerer.graph.text(loss));
  if (!ir::is_real(loss.scalar()) || loss.weak != Weak::kNo) {
    lowerer.reports.fail(
        DiagnosticId::kTypeMismatch, loss_expr.range,
        "grad differentiates a float that depends on variables, but this is " + lowerer.graph.text(loss));
  }
  ir::Gradient gradient;
  gradient.loss = lowerer.values.materialise(loss, lowerer.reports.source_text(loss_expr.range), loss_expr.range);
  const std::int64_t tick = lowerer.versions.tick_of(gradient.loss);
  std::vector<ValueId> results;
  std::vector<StorageRef> storages;
  for (std::size_t k = 1; k < call.arguments.size(); ++k) {
    const ast::Expr& e = *call.arguments[k].value;
    gradient.wrt.push_back(differentiated(lowerer, e, tick));
    const SymbolRef symbol = lowerer.names.find(*bare_name(e));
    storages.push_back(symbol ? symbol->storage : nullptr);
    ir::Type type = lowerer.graph.program().type(gradient.wrt.back());
    results.push_back(lowerer.graph.program().new_value(std::move(type), "", range));
    lowerer.values.note_temporary(results.back());
  }
  lowerer.graph.flush();
  lowerer.graph.emit_results(std::move(gradient), results, range);
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < results.size(); ++k)
    tensors.push_back(
        storages[k] ? lowerer.values.stored_tensor(results[k], storages[k], lowerer.reports.source_text(range), range)
                    : lowerer.values.tensor_of(results[k], lowerer.reports.source_text(range), range));
  return tensors;
}

Tensor call_grad(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> results = call_gradient(lowerer, call, range);
  if (results.size() == 1) return results[0];
  lowerer.reports.fail(DiagnosticId::kMisplacedTuple, range,
                       "grad with several variables gives several values: write let (a, b) = grad(…);");
}

}  // namespace tdsl::frontend
