#include "codegen/families/host_evaluator.h"

#include <algorithm>

#include "ir/eval/expr.h"
#include "ir/graph/computes.h"
#include "runtime/check.h"

namespace tdsl::codegen {

HostEvaluator::HostEvaluator(const FamilyProgram& program) {
  types_.name = program.name;
  types_.files = program.files;
  types_.values = program.values;
}

void HostEvaluator::set(ValueId v, const ir::Literal& value) {
  ir::Array array;
  array.type = types_.type(v).scalar;
  ir::match(
      value, [&](bool b) { array.integers = {b ? 1 : 0}; }, [&](std::int64_t i) { array.integers = {i}; },
      [&](double d) { array.floats = {d}; });
  known_[v] = std::move(array);
}

std::optional<ir::Literal> HostEvaluator::get(ValueId v) const {
  const auto found = known_.find(v);
  if (found == known_.end()) return std::nullopt;
  const ir::Array& a = found->second;
  if (ir::is_float(a.type)) return ir::Literal(a.floats[0]);
  if (a.type == ir::Scalar::kBool) return ir::Literal(a.integers[0] != 0);
  return ir::Literal(a.integers[0]);
}

std::optional<ir::Literal> HostEvaluator::evaluate(const Expr& e, SourceRange place) const {
  bool complete = true;
  ir::for_each_read(e, [&](const ir::Read& r) { complete = complete && known_.contains(r.tensor); });
  if (!complete) return std::nullopt;
  try {
    ir::eval::CompiledExpr compiled(
        types_, e, [this](ValueId v) -> const ir::Array& { return known_.at(v); }, place);
    if (compiled.is_real()) return ir::Literal(compiled.real(nullptr).value);
    const std::int64_t whole = compiled.whole(nullptr).value;
    return e->type == ir::Scalar::kBool ? ir::Literal(whole != 0) : ir::Literal(whole);
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
