#include "codegen/walk/host_evaluator.h"

#include <algorithm>

#include "ir/eval/expr.h"
#include "ir/graph/computes.h"
#include "runtime/check.h"

namespace tdsl::codegen {

HostEvaluator::HostEvaluator(const OperationProgram& program) {
  types_.name = program.name;
  types_.files = program.files;
  types_.values = program.values;
}

void HostEvaluator::set(ValueId v, const ir::Literal& value) {
  known_[v] = ir::eval::scalar_array(types_.type(v).scalar, value);
}

std::optional<ir::Literal> HostEvaluator::get(ValueId v) const {
  const auto found = known_.find(v);
  if (found == known_.end()) return std::nullopt;
  return ir::eval::literal_of(found->second.type, ir::eval::element(found->second, 0));
}

std::optional<ir::Literal> HostEvaluator::evaluate(const Expr& e, SourceRange place) const {
  bool complete = true;
  ir::for_each_read(e, [&](const ir::Read& r) { complete = complete && known_.contains(r.tensor); });
  if (!complete) return std::nullopt;
  try {
    ir::eval::CompiledExpr compiled(
        types_, e, [this](ValueId v) -> const ir::Array& { return known_.at(v); }, place);
    return ir::eval::literal_of(e->type, compiled.value(nullptr));
  } catch (const ir::eval::Stop& stop) {
    const SourceRange& r = stop.error.range;
    const std::string file = r.file < types_.files.size() ? types_.files[r.file] : types_.name;
    throw rt::RunError({file, static_cast<int>(r.line)}, stop.error.message);
  }
}

bool HostEvaluator::knows(const Extent& e) const {
  return std::ranges::all_of(e.values(), [this](ValueId v) { return known_.contains(v); });
}

std::optional<std::int64_t> HostEvaluator::evaluate(const Extent& e) const {
  if (!knows(e)) return std::nullopt;
  return e.evaluate([this](ValueId v) { return known_.at(v).integers[0]; });
}

std::optional<rt::Exact> HostEvaluator::evaluate_exactly(const Extent& e) const {
  if (!knows(e)) return std::nullopt;
  return e.evaluate_exactly([this](ValueId v) { return known_.at(v).integers[0]; });
}

}  // namespace tdsl::codegen
