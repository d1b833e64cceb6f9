#include <algorithm>

#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"

namespace tdsl::frontend {

namespace {

std::vector<SymbolRef> carried(const Names& names, const ast::Block& block) {
  std::vector<SymbolRef> symbols;
  for (const std::string& name : assigned_names(block)) {
    const SymbolRef symbol = names.find(name);
    if (symbol && symbol->kind == Symbol::Kind::kVar) symbols.push_back(symbol);
  }
  return symbols;
}

std::vector<ValueId> values_of(const std::vector<SymbolRef>& symbols) {
  std::vector<ValueId> values;
  for (const SymbolRef& s : symbols) values.push_back(s->value);
  return values;
}

std::vector<ValueId> fresh_values(GraphBuilder& graph, const std::vector<SymbolRef>& symbols) {
  std::vector<ValueId> values;
  for (const SymbolRef& s : symbols) {
    values.push_back(graph.program().new_value(graph.program().type(s->value), s->name, s->range));
  }
  return values;
}

ValueId bound_value(Lowerer& lowerer, const ast::Expr& e, const std::string& what) {
  return lowerer.values.materialise(scalar_tensor(integer_scalar(lowerer, e, what)),
                                    lowerer.reports.source_text(e.range), e.range);
}

LoopRange range_of(Lowerer& lowerer, const ast::IndexRange& r) {
  LoopRange loop;
  loop.begin = bound_value(lowerer, *r.lower, "a loop's begin");
  loop.end = bound_value(lowerer, *r.upper, "a loop's end");
  lowerer.shapes.require_countable(lowerer.graph.extent_of_value(loop.begin), lowerer.graph.extent_of_value(loop.end),
                                   r.name.name, r.lower->range.to(r.upper->range));
  if (r.step && !has_short_step(lowerer, *r.step)) {
    loop.computed_step = bound_value(lowerer, *r.step, "a step");
  } else {
    loop.step = step_of(lowerer, r.step);
  }
  return loop;
}

}  // namespace

ValueId iterations_of(Shapes& shapes, Values& values, const LoopRange& loop, const SourceRange& range) {
  const Expr begin = ir::read(Scalar::kI64, loop.begin, {});
  const Expr end = ir::read(Scalar::kI64, loop.end, {});
  const Expr step = ir::read(Scalar::kI64, loop.computed_step, {});
  const Expr none = ir::binary(ir::BinaryOp::kEq, step, ir::constant_i64(0));
  const ValueId moves =
      values.materialise(scalar_tensor(ir::select(none, ir::constant_i64(0), ir::constant_i64(1))), "", range);
  shapes.check({ir::Check::Relation::kAtMost, 1, Extent::of(moves), "a step cannot be 0", {}}, range);
  // A check under a false condition is skipped, so avoid dividing by 0.
  const Expr by = ir::select(none, ir::constant_i64(1), step);
  const Expr up = ir::binary(ir::BinaryOp::kLt, ir::constant_i64(0), step);
  const Expr some =
      ir::select(up, ir::binary(ir::BinaryOp::kLt, begin, end), ir::binary(ir::BinaryOp::kLt, end, begin));
  // The step is never added to a bound: it may be any i64.
  const Expr last = ir::select(up, sub(end, ir::constant_i64(1)), add(end, ir::constant_i64(1)));
  const Expr further = ir::binary(ir::BinaryOp::kDiv, sub(last, begin), by, range);
  const Expr count = ir::select(some, add(further, ir::constant_i64(1)), ir::constant_i64(0));
  return values.materialise(scalar_tensor(count), "", range);
}

void lower_for(Lowerer& lowerer, const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level,
               const SourceRange& range) {
  if (level == f.ranges.size()) {
    lower_block(lowerer, f.body);
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
    bounds.push_back(range_of(lowerer, r));
  }
  const ast::IndexRange& r = f.ranges[level];
  ir::For loop;
  const LoopRange over = bounds[level];
  const bool computed = over.computed_step.valid();
  loop.begin = computed ? lowerer.values.materialise(scalar_tensor(ir::constant_i64(0)), "", r.name.range) : over.begin;
  loop.end = computed ? iterations_of(lowerer.shapes, lowerer.values, over, r.step->range) : over.end;
  loop.step = over.step;
  const std::vector<SymbolRef> symbols = carried(lowerer.names, f.body);
  loop.inits = values_of(symbols);
  const ValueId index = lowerer.graph.program().new_value(
      {Scalar::kI64, {}, {}}, computed ? r.name.name + "_count" : r.name.name, r.name.range);
  const std::vector<ValueId> arguments = fresh_values(lowerer.graph, symbols);
  loop.body.arguments = {index};
  loop.body.arguments.insert(loop.body.arguments.end(), arguments.begin(), arguments.end());
  lowerer.versions.set(symbols, arguments);
  {
    const Shapes::InRegion region(lowerer.shapes, loop.body);
    const Names::InScope scope(lowerer.names, Scope::Kind::kBlock);
    ValueId value = index;
    if (computed) {
      const Expr steps = mul(ir::read(Scalar::kI64, over.computed_step, {}), ir::read(Scalar::kI64, index, {}));
      value = lowerer.values.materialise(scalar_tensor(add(ir::read(Scalar::kI64, over.begin, {}), steps)), r.name.name,
                                         r.name.range);
    }
    declare_value(lowerer, r.name, Symbol::Kind::kLoop, value);
    const auto begin = lowerer.graph.extent_of_value(loop.begin).constant();
    const bool counts = begin == 0 && loop.step == 1;
    const auto inside = lowerer.loops.enter({{index, counts ? ValueId{} : loop.begin, loop.step}});
    lower_for(lowerer, f, bounds, level + 1, range);
  }
  loop.body.yields = values_of(symbols);
  const std::vector<ValueId> results = fresh_values(lowerer.graph, symbols);
  lowerer.graph.emit_results(std::move(loop), results, range);
  lowerer.versions.set(symbols, results);
}

void lower_while(Lowerer& lowerer, const ast::While& w, const SourceRange& range) {
  ir::While loop;
  const std::vector<SymbolRef> symbols = carried(lowerer.names, w.body);
  loop.inits = values_of(symbols);
  loop.condition.arguments = fresh_values(lowerer.graph, symbols);
  lowerer.versions.set(symbols, loop.condition.arguments);
  {
    const Shapes::InRegion region(lowerer.shapes, loop.condition);
    // Random numbers drawn in the condition have no iteration number.
    const auto inside = lowerer.loops.enter({EnclosingLoop{}});
    loop.condition.yields = {condition_value(lowerer, *w.condition, "while")};
  }
  const ValueId iteration = lowerer.graph.program().new_value({Scalar::kI64, {}, {}}, "iteration", range);
  const std::vector<ValueId> arguments = fresh_values(lowerer.graph, symbols);
  loop.body.arguments = {iteration};
  loop.body.arguments.insert(loop.body.arguments.end(), arguments.begin(), arguments.end());
  lowerer.versions.set(symbols, arguments);
  {
    const Shapes::InRegion region(lowerer.shapes, loop.body);
    const auto inside = lowerer.loops.enter({{iteration, {}, 1}});
    lower_block(lowerer, w.body);
  }
  loop.body.yields = values_of(symbols);
  const std::vector<ValueId> results = fresh_values(lowerer.graph, symbols);
  lowerer.graph.emit_results(std::move(loop), results, range);
  lowerer.versions.set(symbols, results);
}

void lower_if(Lowerer& lowerer, const ast::If& i, std::size_t arm, const SourceRange& range) {
  if (arm == i.arms.size()) {
    if (i.else_body) lower_block(lowerer, *i.else_body);
    return;
  }
  if (const auto known = decided(lowerer, *i.arms[arm].condition)) {
    if (*known) {
      lower_block(lowerer, i.arms[arm].body);
    } else {
      lower_if(lowerer, i, arm + 1, range);
    }
    return;
  }
  ir::If branch;
  branch.condition = condition_value(lowerer, *i.arms[arm].condition, "if");
  std::vector<SymbolRef> symbols;
  const auto collect = [&](const ast::Block& block) {
    for (const SymbolRef& s : carried(lowerer.names, block)) {
      if (std::ranges::find(symbols, s) == symbols.end()) symbols.push_back(s);
    }
  };
  for (std::size_t k = arm; k < i.arms.size(); ++k) collect(i.arms[k].body);
  if (i.else_body) collect(*i.else_body);
  const std::vector<ValueId> before = values_of(symbols);
  lowerer.guards.enter_branch();
  {
    const Shapes::InRegion region(lowerer.shapes, branch.then_region);
    lower_block(lowerer, i.arms[arm].body);
  }
  branch.then_region.yields = values_of(symbols);
  lowerer.versions.set(symbols, before);
  {
    const Shapes::InRegion region(lowerer.shapes, branch.else_region);
    lower_if(lowerer, i, arm + 1, range);
  }
  lowerer.guards.leave_branch();
  branch.else_region.yields = values_of(symbols);
  lowerer.versions.set(symbols, before);
  const std::vector<ValueId> results = fresh_values(lowerer.graph, symbols);
  lowerer.graph.emit_results(std::move(branch), results, range);
  lowerer.versions.set(symbols, results);
}

}  // namespace tdsl::frontend
