#include "codegen/loops/procedure_nest.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/nest/build.h"

namespace tdsl::codegen {

namespace {

using ir::Expr;
using ir::Procedure;
using ir::ValueId;
using ProcedureStatements = Procedure::Statements;

/// The variables that statements use, and the number of assignments to each.
struct Mentions {
  std::set<std::int32_t> all;
  std::map<std::int32_t, int> assignments;

  void add(const Expr& e) {
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      if (const auto* a = std::get_if<ir::Argument>(&node.op)) all.insert(a->position);
    });
  }
  void add(const ProcedureStatements& list) {
    for (const Procedure::Statement& s : list) add(s);
  }
  void add(const Procedure::Statement& s) {
    ir::match(
        s.op,
        [&](const Procedure::Assign& a) {
          all.insert(a.variable);
          ++assignments[a.variable];
          add(a.value);
        },
        [&](const Procedure::Count& c) {
          all.insert(c.variable);
          add(c.begin);
          add(c.end);
          add(c.body);
        },
        [&](const Procedure::Repeat& r) {
          add(r.before);
          add(r.condition);
          add(r.body);
        },
        [&](const Procedure::Branch& b) {
          add(b.condition);
          add(b.then_part);
          add(b.else_part);
        },
        [&](const Procedure::Require& r) { add(r.condition); });
  }
};

template <class Part>
bool mentions_variable(const Part& part, std::int32_t v) {
  Mentions m;
  m.add(part);
  return m.all.contains(v);
}

/// True if all uses are inside one block of the statement, which can declare the variable.
bool is_inner(const Procedure::Statement& s, std::int32_t v) {
  return ir::match(
      s.op, [](const Procedure::Assign&) { return false; },
      [&](const Procedure::Count& c) { return !mentions_variable(c.begin, v) && !mentions_variable(c.end, v); },
      [&](const Procedure::Repeat& r) {
        return !mentions_variable(r.condition, v) && mentions_variable(r.before, v) != mentions_variable(r.body, v);
      },
      [&](const Procedure::Branch& b) {
        return !mentions_variable(b.condition, v) &&
               mentions_variable(b.then_part, v) != mentions_variable(b.else_part, v);
      },
      [](const Procedure::Require&) { return false; });
}

class ProcedureNestBuilder {
  using Body = nest::Body;

 public:
  explicit ProcedureNestBuilder(const Procedure& procedure) : procedure_(procedure), place_(procedure.range) {}

  nest::Nest run(const std::string& name) {
    nest_.name = name;
    nest_.form = nest::Form::kFunction;
    nest_.place = procedure_.range;
    for (const Procedure::Variable& v : procedure_.variables) {
      const bool parameter = nest_.variables.size() < procedure_.parameters;
      if (parameter) declared_.insert(static_cast<std::int32_t>(nest_.variables.size()));
      nest_.variables.push_back({parameter ? nest::Variable::Role::kParameter : nest::Variable::Role::kLocal,
                                 v.name.empty() ? "t" : v.name,
                                 {v.type, {}, {}}});
    }
    mentions_.add(procedure_.body);
    mentions_.add(procedure_.result);
    // The result is an additional use of the statements' variables.
    nest_.body = block(procedure_.body, procedure_.result);
    nest_.body.push_back(made(nest::Return{of_nest(procedure_.result)}));
    return std::move(nest_);
  }

 private:
  [[nodiscard]] nest::Statement made(decltype(nest::Statement::op) op) const { return {std::move(op), place_}; }
  static ValueId variable(std::int32_t v) { return ValueId{v}; }
  static Expr of_nest(const Expr& e) {
    return ir::rewrite(e, [](const Expr& part) {
      const auto* a = std::get_if<ir::Argument>(&part->op);
      return a == nullptr ? part : ir::read(part->type, variable(a->position), {}, part->range);
    });
  }

  /// Declares variables shared by its statements; others are declared at their first assignment, or further inside.
  Body block(const ProcedureStatements& statements, const Expr& behind = {}) {
    std::map<std::int32_t, std::vector<std::size_t>> places;
    for (std::size_t k = 0; k < statements.size() + (behind ? 1 : 0); ++k) {
      Mentions m;
      k < statements.size() ? m.add(statements[k]) : m.add(behind);
      for (const std::int32_t v : m.all) places[v].push_back(k);
    }
    std::map<std::size_t, std::vector<std::int32_t>> before;
    for (const auto& [v, at] : places) {
      if (declared_.contains(v) || at[0] == statements.size()) continue;
      const Procedure::Statement& first = statements[at[0]];
      const auto* assign = std::get_if<Procedure::Assign>(&first.op);
      const bool declares = (assign != nullptr && assign->variable == v) || (at.size() == 1 && is_inner(first, v));
      if (!declares) before[at[0]].push_back(v);
    }
    Body result;
    for (std::size_t k = 0; k < statements.size(); ++k) {
      for (const std::int32_t v : before[k]) {
        result.push_back(made(nest::Var{variable(v), {}}));
        declared_.insert(v);
      }
      statement(statements[k], result);
    }
    return result;
  }

  void statement(const Procedure::Statement& s, Body& into) {
    if (s.range.known()) place_ = s.range;
    ir::match(
        s.op, [&](const Procedure::Assign& a) { assign(a, into); }, [&](const Procedure::Count& c) { count(c, into); },
        [&](const Procedure::Repeat& r) {
          const ir::SourceRange here = place_;
          into.push_back({nest::While{block(r.before), of_nest(r.condition), block(r.body)}, here});
        },
        [&](const Procedure::Branch& b) {
          const ir::SourceRange here = place_;
          Body body = block(b.then_part);
          Body otherwise = block(b.else_part);
          into.push_back({nest::branch(of_nest(b.condition), std::move(body), std::move(otherwise)), here});
        },
        [&](const Procedure::Require& r) {
          into.push_back(made(nest::Require{of_nest(r.condition), r.message}));
        });
  }

  void assign(const Procedure::Assign& a, Body& into) {
    const bool first = declared_.insert(a.variable).second;
    Expr value = of_nest(a.value);
    if (!first) return into.push_back(made(nest::Store{{variable(a.variable), {}}, std::move(value)}));
    if (mentions_.assignments[a.variable] == 1)
      return into.push_back(made(nest::Let{variable(a.variable), std::move(value)}));
    into.push_back(made(nest::Var{variable(a.variable), std::move(value)}));
  }

  void count(const Procedure::Count& c, Body& into) {
    // A variable that is used after the loop, or also assigned, cannot be its counter.
    const bool first = declared_.insert(c.variable).second;
    const bool own = first && !mentions_.assignments.contains(c.variable);
    if (first && !own) into.push_back(made(nest::Var{variable(c.variable), {}}));
    const std::string& name = nest_.variables[static_cast<std::size_t>(c.variable)].name;
    nest::Count loop{own ? variable(c.variable) : nest::added_local(nest_, name, ir::Scalar::kI64),
                     of_nest(c.begin),
                     of_nest(c.end),
                     c.step,
                     {}};
    // The end is evaluated once, even if the body assigns its variables.
    if (!std::holds_alternative<ir::Constant>(c.end->op)) {
      const ValueId end = nest::added_local(nest_, nest_.variable(loop.local).name + "_end", ir::Scalar::kI64);
      into.push_back(made(nest::Let{end, loop.end}));
      loop.end = nest::scalar_read(nest_, end);
    }
    const ir::SourceRange here = place_;
    if (!own) loop.body.push_back(made(nest::Store{{variable(c.variable), {}}, nest::scalar_read(nest_, loop.local)}));
    for (nest::Statement& s : block(c.body)) loop.body.push_back(std::move(s));
    into.push_back({std::move(loop), here});
  }

  const Procedure& procedure_;
  nest::Nest nest_;
  Mentions mentions_;
  std::set<std::int32_t> declared_;
  ir::SourceRange place_;  ///< of the last statement that has one
};

}  // namespace

nest::Nest build_nest(const ir::Procedure& procedure, const std::string& name) {
  return ProcedureNestBuilder(procedure).run(name);
}

}  // namespace tdsl::codegen
