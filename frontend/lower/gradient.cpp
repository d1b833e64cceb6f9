#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

using ir::ValueId;

// `grad(loss, W1, W2)`: a Gradient node; the pass `differentiate` makes ordinary nodes of it.

ValueId Lowerer::differentiated(const ast::Expr& e, std::int64_t tick) {
  const std::string* name = bare_name(e);
  if (name == nullptr) {
    reports_.fail(
        DiagnosticId::kBadArgument, e.range,
        "grad differentiates by variables, but this is an expression; give it a name before the loss is computed");
  }
  const Tensor t = lower_name(*name, e.range, false);
  if (!ir::is_float(t.scalar())) {
    reports_.fail(DiagnosticId::kTypeMismatch, e.range,
                  "grad differentiates by floats, but `" + *name + "` is " + graph_.text(t));
  }
  const SymbolRef symbol = names_.find(*name);
  if (symbol && !symbol->history.empty()) return value_at(*symbol, tick);
  // A parameter without type stands for its argument.
  const auto whole = whole_value(t);
  if (!whole) {
    reports_.fail(
        DiagnosticId::kBadArgument, e.range,
        "grad differentiates by variables, but `" + *name + "` stands for an expression; give the parameter a type");
  }
  return *whole;
}

std::vector<Tensor> Lowerer::call_gradient(const ast::Call& call, const SourceRange& range) {
  for (const ast::Argument& a : call.arguments) {
    if (a.name)
      reports_.fail(DiagnosticId::kBadArgument, a.name->range, "grad has no argument `" + a.name->name + "=`");
  }
  if (call.arguments.size() < 2)
    reports_.fail(DiagnosticId::kBadArgument, range,
                  "grad takes a loss and at least one variable, as in grad(loss, W)");
  const ast::Expr& loss_expr = *call.arguments[0].value;
  const Tensor loss = lower(loss_expr);
  if (loss.rank() != 0)
    reports_.fail(DiagnosticId::kNotScalar, loss_expr.range,
                  "grad differentiates a scalar, but this is " + graph_.text(loss));
  if (!ir::is_float(loss.scalar()) || loss.weak != Weak::kNo) {
    reports_.fail(DiagnosticId::kTypeMismatch, loss_expr.range,
                  "grad differentiates a float that depends on variables, but this is " + graph_.text(loss));
  }
  ir::Gradient gradient;
  gradient.loss = values_.materialise(loss, reports_.source_text(loss_expr.range), loss_expr.range);
  const std::int64_t tick = versions_.tick_of(gradient.loss);
  std::vector<ValueId> results;
  std::vector<StorageRef> storages;
  for (std::size_t k = 1; k < call.arguments.size(); ++k) {
    const ast::Expr& e = *call.arguments[k].value;
    gradient.wrt.push_back(differentiated(e, tick));
    const SymbolRef symbol = names_.find(*bare_name(e));
    storages.push_back(symbol ? symbol->storage : nullptr);
    ir::Type type = graph_.program().type(gradient.wrt.back());
    results.push_back(graph_.program().new_value(std::move(type), "", range));
    values_.note_temporary(results.back());
  }
  graph_.flush();
  graph_.emit_results(std::move(gradient), results, range);
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < results.size(); ++k)
    tensors.push_back(storages[k] ? values_.stored_tensor(results[k], storages[k], reports_.source_text(range), range)
                                  : values_.tensor_of(results[k], reports_.source_text(range), range));
  return tensors;
}

Tensor Lowerer::call_grad(const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> results = call_gradient(call, range);
  if (results.size() == 1) return results[0];
  reports_.fail(DiagnosticId::kMisplacedTuple, range,
                "grad with several variables gives several values: write let (a, b) = grad(…);");
}

}  // namespace tdsl::frontend
