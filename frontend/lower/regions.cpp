#include <algorithm>

#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

using ir::Expr;
using ir::Extent;
using ir::Scalar;
using ir::ValueId;

std::vector<SymbolRef> Lowerer::carried(const ast::Block& block) const {
  std::vector<SymbolRef> symbols;
  for (const std::string& name : assigned_names(block)) {
    const SymbolRef symbol = names_.find(name);
    if (symbol && symbol->kind == Symbol::Kind::kVar) symbols.push_back(symbol);
  }
  return symbols;
}

std::vector<ValueId> Lowerer::values_of(const std::vector<SymbolRef>& symbols) const {
  std::vector<ValueId> values;
  for (const SymbolRef& s : symbols) values.push_back(s->value);
  return values;
}

std::vector<ValueId> Lowerer::fresh_values(const std::vector<SymbolRef>& symbols) {
  std::vector<ValueId> values;
  for (const SymbolRef& s : symbols) {
    values.push_back(graph_.program().new_value(graph_.program().type(s->value), s->name, s->range));
  }
  return values;
}

ValueId Lowerer::bound_value(const ast::Expr& e, const std::string& what) {
  return values_.materialise(scalar_tensor(integer_scalar(e, what)), reports_.source_text(e.range), e.range);
}

Lowerer::LoopRange Lowerer::range_of(const ast::IndexRange& r) {
  LoopRange loop;
  loop.begin = bound_value(*r.lower, "a loop's begin");
  loop.end = bound_value(*r.upper, "a loop's end");
  shapes_.require_countable(graph_.extent_of_value(loop.begin), graph_.extent_of_value(loop.end), r.name.name,
                            r.lower->range.to(r.upper->range));
  if (r.step && !has_short_step(*r.step)) {
    loop.computed_step = bound_value(*r.step, "a step");
  } else {
    loop.step = step_of(r.step);
  }
  return loop;
}

ValueId Lowerer::iterations_of(const LoopRange& loop, const SourceRange& range) {
  const Expr begin = ir::read(Scalar::kI64, loop.begin, {});
  const Expr end = ir::read(Scalar::kI64, loop.end, {});
  const Expr step = ir::read(Scalar::kI64, loop.computed_step, {});
  const Expr none = ir::binary(ir::BinaryOp::kEq, step, ir::constant_i64(0));
  const ValueId moves =
      values_.materialise(scalar_tensor(ir::select(none, ir::constant_i64(0), ir::constant_i64(1))), "", range);
  shapes_.check({ir::Check::Relation::kAtMost, 1, Extent::of(moves), "a step cannot be 0", {}}, range);
  // Behind a condition that does not hold the check is not made.
  const Expr by = ir::select(none, ir::constant_i64(1), step);
  const Expr up = ir::binary(ir::BinaryOp::kLt, ir::constant_i64(0), step);
  const Expr some =
      ir::select(up, ir::binary(ir::BinaryOp::kLt, begin, end), ir::binary(ir::BinaryOp::kLt, end, begin));
  // The step is never added to a bound: it may be as long as 64 bits allow.
  const Expr last = ir::select(up, sub(end, ir::constant_i64(1)), add(end, ir::constant_i64(1)));
  const Expr further = ir::binary(ir::BinaryOp::kDiv, sub(last, begin), by, range);
  const Expr count = ir::select(some, add(further, ir::constant_i64(1)), ir::constant_i64(0));
  return values_.materialise(scalar_tensor(count), "", range);
}

void Lowerer::lower_for(const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level,
                        const SourceRange& range) {
  if (level == f.ranges.size()) {
    lower_block(f.body);
    return;
  }
  // Bounds are evaluated once: before the outermost loop unless they mention one of its variables.
  const auto mentions_outer = [&](const ast::Expr& e) {
    bool found = false;
    for_each_expr(e, [&](const ast::Expr& part) {
      const std::string* name = bare_name(part);
      for (std::size_t k = 0; name != nullptr && k < f.ranges.size(); ++k)
        found = found || f.ranges[k].name.name == *name;
    });
    return found;
  };
  while (bounds.size() < f.ranges.size()) {
    const ast::IndexRange& r = f.ranges[bounds.size()];
    const bool early = !mentions_outer(*r.lower) && !mentions_outer(*r.upper) && !(r.step && mentions_outer(*r.step));
    if (bounds.size() > level && !early) break;
    bounds.push_back(range_of(r));
  }
  const ast::IndexRange& r = f.ranges[level];
  ir::For loop;
  const LoopRange over = bounds[level];
  const bool computed = over.computed_step.valid();
  loop.begin = computed ? values_.materialise(scalar_tensor(ir::constant_i64(0)), "", r.name.range) : over.begin;
  loop.end = computed ? iterations_of(over, r.step->range) : over.end;
  loop.step = over.step;
  const std::vector<SymbolRef> symbols = carried(f.body);
  loop.inits = values_of(symbols);
  const ValueId index =
      graph_.program().new_value({Scalar::kI64, {}, {}}, computed ? r.name.name + "_count" : r.name.name, r.name.range);
  const std::vector<ValueId> arguments = fresh_values(symbols);
  loop.body.arguments = {index};
  loop.body.arguments.insert(loop.body.arguments.end(), arguments.begin(), arguments.end());
  versions_.set(symbols, arguments);
  {
    const Shapes::InRegion region(shapes_, loop.body);
    const Names::InScope scope(names_, Scope::Kind::kBlock);
    ValueId value = index;
    if (computed) {
      const Expr steps = mul(ir::read(Scalar::kI64, over.computed_step, {}), ir::read(Scalar::kI64, index, {}));
      value = values_.materialise(scalar_tensor(add(ir::read(Scalar::kI64, over.begin, {}), steps)), r.name.name,
                                  r.name.range);
    }
    declare_value(r.name, Symbol::Kind::kLoop, value);
    const auto begin = graph_.extent_of_value(loop.begin).constant();
    const bool counts = begin == 0 && loop.step == 1;
    const auto inside = loops_.enter({{index, counts ? ValueId{} : loop.begin, loop.step}});
    lower_for(f, bounds, level + 1, range);
  }
  loop.body.yields = values_of(symbols);
  const std::vector<ValueId> results = fresh_values(symbols);
  graph_.emit_results(std::move(loop), results, range);
  versions_.set(symbols, results);
}

void Lowerer::lower_while(const ast::While& w, const SourceRange& range) {
  ir::While loop;
  const std::vector<SymbolRef> symbols = carried(w.body);
  loop.inits = values_of(symbols);
  loop.condition.arguments = fresh_values(symbols);
  versions_.set(symbols, loop.condition.arguments);
  {
    const Shapes::InRegion region(shapes_, loop.condition);
    // Drawing in the condition has no iteration number of its own.
    const auto inside = loops_.enter({EnclosingLoop{}});
    loop.condition.yields = {condition_value(*w.condition, "while")};
  }
  const ValueId iteration = graph_.program().new_value({Scalar::kI64, {}, {}}, "iteration", range);
  const std::vector<ValueId> arguments = fresh_values(symbols);
  loop.body.arguments = {iteration};
  loop.body.arguments.insert(loop.body.arguments.end(), arguments.begin(), arguments.end());
  versions_.set(symbols, arguments);
  {
    const Shapes::InRegion region(shapes_, loop.body);
    const auto inside = loops_.enter({{iteration, {}, 1}});
    lower_block(w.body);
  }
  loop.body.yields = values_of(symbols);
  const std::vector<ValueId> results = fresh_values(symbols);
  graph_.emit_results(std::move(loop), results, range);
  versions_.set(symbols, results);
}

void Lowerer::lower_if(const ast::If& i, std::size_t arm, const SourceRange& range) {
  if (arm == i.arms.size()) {
    if (i.else_body) lower_block(*i.else_body);
    return;
  }
  ir::If branch;
  branch.condition = condition_value(*i.arms[arm].condition, "if");
  std::vector<SymbolRef> symbols;
  const auto collect = [&](const ast::Block& block) {
    for (const SymbolRef& s : carried(block)) {
      if (std::ranges::find(symbols, s) == symbols.end()) symbols.push_back(s);
    }
  };
  for (std::size_t k = arm; k < i.arms.size(); ++k) collect(i.arms[k].body);
  if (i.else_body) collect(*i.else_body);
  const std::vector<ValueId> before = values_of(symbols);
  guards_.enter_branch();
  {
    const Shapes::InRegion region(shapes_, branch.then_region);
    lower_block(i.arms[arm].body);
  }
  branch.then_region.yields = values_of(symbols);
  versions_.set(symbols, before);
  {
    const Shapes::InRegion region(shapes_, branch.else_region);
    lower_if(i, arm + 1, range);
  }
  guards_.leave_branch();
  branch.else_region.yields = values_of(symbols);
  versions_.set(symbols, before);
  const std::vector<ValueId> results = fresh_values(symbols);
  graph_.emit_results(std::move(branch), results, range);
  versions_.set(symbols, results);
}

}  // namespace tdsl::frontend
