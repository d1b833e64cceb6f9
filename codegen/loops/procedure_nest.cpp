#include <algorithm>
#include <map>
#include <set>

#include "codegen/loops/compute_nest.h"

namespace tdsl::codegen {

namespace {

using ir::Procedure;
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

class ProcedureNestBuilder final : public StatementNest {
 public:
  explicit ProcedureNestBuilder(const Procedure& procedure) : procedure_(procedure) { place_ = procedure.range; }

  nest::Nest run(const std::string& name) {
    nest_.name = name;
    nest_.form = nest::Form::kFunction;
    nest_.place = procedure_.range;
    for (const Procedure::Variable& v : procedure_.variables) {
      const bool parameter = nest_.variables.size() < procedure_.parameters;
      const ValueId made =
          added({parameter ? Role::kParameter : Role::kLocal, v.name.empty() ? "t" : v.name, {v.type, {}, {}}});
      if (parameter) declared_.insert(made);
    }
    mentions_.add(procedure_.body);
    mentions_.add(procedure_.result);
    // The result is an additional use of the statements' variables.
    block(procedure_.body, procedure_.result);
    add(nest::Return{of_nest(procedure_.result)});
    nest_.body = std::move(top_);
    return std::move(nest_);
  }

 private:
  static ValueId variable(std::int32_t v) { return ValueId{v}; }
  Expr part(const Expr& e) override {
    const auto* a = std::get_if<ir::Argument>(&e->op);
    return a == nullptr ? Expr() : ir::read(e->type, variable(a->position), {}, e->range);
  }

  /// Declares variables shared by its statements; others are declared at their first assignment, or further inside.
  void block(const ProcedureStatements& statements, const Expr& behind = {}) {
    std::map<std::int32_t, std::vector<std::size_t>> places;
    for (std::size_t k = 0; k < statements.size() + (behind ? 1 : 0); ++k) {
      Mentions m;
      k < statements.size() ? m.add(statements[k]) : m.add(behind);
      for (const std::int32_t v : m.all) places[v].push_back(k);
    }
    std::map<std::size_t, std::vector<std::int32_t>> before;
    for (const auto& [v, at] : places) {
      if (declared_.contains(variable(v)) || at[0] == statements.size()) continue;
      const Procedure::Statement& first = statements[at[0]];
      const auto* assign = std::get_if<Procedure::Assign>(&first.op);
      const bool declares = (assign != nullptr && assign->variable == v) || (at.size() == 1 && is_inner(first, v));
      if (!declares) before[at[0]].push_back(v);
    }
    for (std::size_t k = 0; k < statements.size(); ++k) {
      for (const std::int32_t v : before[k]) declare(v);
      statement(statements[k]);
    }
  }

  void declare(std::int32_t v) {
    if (declared_.insert(variable(v)).second) add(nest::Var{variable(v), {}});
  }

  void statement(const Procedure::Statement& s) {
    if (s.range.known()) place_ = s.range;
    const ir::SourceRange here = place_;
    const auto add_here = [&](auto op) { body_->push_back({std::move(op), here}); };
    ir::match(
        s.op,
        [&](const Procedure::Assign& a) {
          assign(variable(a.variable), of_nest(a.value), mentions_.assignments[a.variable] != 1);
        },
        [&](const Procedure::Count& c) { add_here(counted(c)); },
        [&](const Procedure::Repeat& r) {
          Body before = collected([&] { block(r.before); });
          Expr condition = of_nest(r.condition);
          add_here(nest::While{std::move(before), std::move(condition), collected([&] { block(r.body); })});
        },
        [&](const Procedure::Branch& b) {
          Body body = collected([&] { block(b.then_part); });
          Body otherwise = collected([&] { block(b.else_part); });
          add_here(nest::branch(of_nest(b.condition), std::move(body), std::move(otherwise)));
        },
        [&](const Procedure::Require& r) {
          add(nest::Require{of_nest(r.condition), r.message});
        });
  }

  nest::Count counted(const Procedure::Count& c) {
    // A variable that is used after the loop, or also assigned, cannot be its counter.
    const bool own = !declared_.contains(variable(c.variable)) && !mentions_.assignments.contains(c.variable);
    own ? static_cast<void>(declared_.insert(variable(c.variable))) : declare(c.variable);
    const std::string name = nest_.variable(variable(c.variable)).name;
    nest::Count loop{
        own ? variable(c.variable) : local(name, ir::Scalar::kI64), of_nest(c.begin), of_nest(c.end), c.step, {}};
    // The end is evaluated once, even if the body assigns its variables.
    if (!std::holds_alternative<ir::Constant>(c.end->op)) {
      const ValueId end = local(nest_.variable(loop.local).name + "_end", ir::Scalar::kI64);
      add(nest::Let{end, loop.end});
      loop.end = local_read(end);
    }
    loop.body = collected([&] {
      if (!own) add(nest::Store{{variable(c.variable), {}}, local_read(loop.local)});
      block(c.body);
    });
    return loop;
  }

  const Procedure& procedure_;
  Mentions mentions_;
};

}  // namespace

nest::Nest build_nest(const ir::Procedure& procedure, const std::string& name) {
  return ProcedureNestBuilder(procedure).run(name);
}

}  // namespace tdsl::codegen
