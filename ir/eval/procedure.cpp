#include "ir/eval/procedure.h"

#include <algorithm>
#include <utility>

#include "ir/eval/foreign.h"
#include "ir/graph/check.h"
#include "runtime/exact.h"

namespace tdsl::ir::eval {

CompiledProcedure::CompiledProcedure(ProcedureRef procedure, const SourceRange& place)
    : procedure_(std::move(procedure)),
      place_(place),
      body_(compiled(procedure_->body)),
      result_(compiled(procedure_->result, place)) {}

CompiledExpr CompiledProcedure::compiled(const Expr& e, const SourceRange& place) const {
  const ValueSource none = [](ValueId) -> const Array& {
    TDSL_CHECK(false, "a procedure reads no tensors");
    std::abort();
  };
  return {nothing_, e, none, place.known() ? place : place_};
}

CompiledProcedure::Steps CompiledProcedure::compiled(const Procedure::Statements& statements) const {
  Steps steps;
  for (const Procedure::Statement& s : statements) {
    match(
        s.op,
        [&](const Procedure::Assign& a) {
          steps.push_back({Assign{static_cast<std::size_t>(a.variable), compiled(a.value, s.range)}});
        },
        [&](const Procedure::Count& c) {
          steps.push_back({Count{static_cast<std::size_t>(c.variable), compiled(c.begin, s.range),
                                 compiled(c.end, s.range), c.step, compiled(c.body)}});
        },
        [&](const Procedure::Repeat& r) {
          steps.push_back({Repeat{compiled(r.before), compiled(r.condition, s.range), compiled(r.body)}});
        },
        [&](const Procedure::Branch& b) {
          steps.push_back({Branch{compiled(b.condition, s.range), compiled(b.then_part), compiled(b.else_part)}});
        },
        [&](const Procedure::Require& r) {
          steps.push_back({Require{compiled(r.condition, s.range), r.message, s.range}});
        });
  }
  return steps;
}

Slot CompiledProcedure::call(std::vector<Slot> arguments) {
  if (procedure_->foreign) return call_foreign(*procedure_->foreign, arguments, place_);
  // Procedures are not recursive, but their variables are in use during a call.
  slots_ = std::move(arguments);
  slots_.resize(procedure_->variables.size());
  open_ = 0;
  run(body_);
  Slot result = value(result_);
  result.real.bound = std::max(result.real.bound, open_);
  result.whole.bound = std::max(result.whole.bound, open_);
  return result;
}

Slot CompiledProcedure::value(CompiledExpr& e) {
  e.set_arguments(slots_.data());
  return e.value(nullptr);
}

std::int64_t CompiledProcedure::control(CompiledExpr& e) {
  e.set_arguments(slots_.data());
  const Whole w = e.whole(nullptr);
  open_ = std::max(open_, w.bound);
  return w.value;
}

void CompiledProcedure::run(Steps& steps) {
  for (Step& step : steps) {
    match(
        step.op, [&](Assign& a) { slots_[a.variable] = value(a.value); },
        [&](Count& c) {
          std::int64_t i = control(c.begin);
          const std::int64_t end = control(c.end);
          while (c.step > 0 ? i < end : i > end) {
            slots_[c.variable].whole = {i, 0};
            run(c.body);
            i = rt::advanced(i, c.step);
          }
        },
        [&](Repeat& r) {
          for (;;) {
            run(r.before);
            if (control(r.condition) == 0) break;
            run(r.body);
          }
        },
        [&](Branch& b) { run(control(b.condition) != 0 ? b.then_part : b.else_part); },
        [&](Require& r) {
          if (control(r.condition) == 0) stop(r.range.known() ? r.range : place_, r.message);
        });
  }
}

}  // namespace tdsl::ir::eval
