#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/analysis/loop_variables.h"
#include "ir/eval/failure_text.h"
#include "ir/graph/check.h"
#include "ir/graph/procedure.h"

namespace tdsl::ir {

namespace {

/// Wraps the region as the body of a loop that runs once and yields `result`, as LoopVariables requires.
Node as_loop(Program& program, const Region& region, ValueId result) {
  const Type number{Scalar::kI64, {}, {}};
  For loop;
  loop.begin = program.new_value(number, "", {});
  loop.end = loop.begin;
  loop.inits = {program.new_value(program.type(result), "", {})};
  loop.body = region;
  loop.body.arguments = {program.new_value(number, "", {}), program.new_value(program.type(result), "", {})};
  loop.body.yields = {result};
  return {{}, {program.new_value(program.type(result), "", {})}, std::move(loop)};
}

/// Matches a node of the form `value = expression`.
const Compute* assignment(const Program& program, const Node& node) {
  const auto* c = std::get_if<Compute>(&node.op);
  const bool plain = c != nullptr && c->out.empty() && c->reduce.empty() && c->left.empty() && !c->guard && !c->base &&
                     !c->combine && c->bodies.size() == node.results.size();
  const auto scalar = [&](ValueId v) { return program.type(v).rank() == 0; };
  return plain && std::ranges::all_of(node.results, scalar) ? c : nullptr;
}

class ProcedureBuilder {
 public:
  ProcedureBuilder(Program& program, std::string name, const Region& region, const std::vector<ValueId>& parameters,
                   ValueId result, std::vector<ValueId>& captured)
      : program_(program),
        region_(region),
        loop_(as_loop(program, region, result)),
        variables_(program, loop_),
        result_(result),
        captured_(captured) {
    made_.name = std::move(name);
    for (const ValueId v : parameters) parameter(v);
  }

  std::optional<Procedure> run() {
    // Captured values come first: the parameters are the first variables.
    const bool scalars = capture(region_);
    made_.parameters = made_.variables.size();
    if (!scalars) return std::nullopt;
    statements(region_, made_.body);
    made_.result = reading(result_);
    // `y = e; return y` is `return e`.
    const auto* variable = std::get_if<Argument>(&made_.result->op);
    const auto* last = made_.body.empty() ? nullptr : std::get_if<Procedure::Assign>(&made_.body.back().op);
    if (variable != nullptr && last != nullptr && last->variable == variable->position) {
      made_.result = Expr(last->value);
      made_.body.pop_back();
    }
    return std::move(made_);
  }

 private:
  void parameter(ValueId v) {
    numbers_[v] = static_cast<std::int32_t>(made_.variables.size());
    made_.variables.push_back({program_.info(v).name, program_.type(v).scalar});
  }

  /// False if anything is not scalar work.
  bool capture(const Region& region) {
    const auto outer = [&](ValueId v) {
      if (program_.type(v).rank() != 0) return false;
      if (!variables_.is_inside(v) && !numbers_.contains(v)) {
        captured_.push_back(v);
        parameter(v);
      }
      return true;
    };
    return std::ranges::all_of(region.yields, outer) && std::ranges::all_of(region.nodes, [&](const Node& n) {
             const auto scalar = [&](ValueId v) { return program_.type(v).rank() == 0; };
             if (!std::ranges::all_of(n.results, scalar) || !std::ranges::all_of(operands_of(program_, n), outer))
               return false;
             if (const auto* f = std::get_if<For>(&n.op)) return capture(f->body);
             if (const auto* w = std::get_if<While>(&n.op)) return capture(w->condition) && capture(w->body);
             if (const auto* i = std::get_if<If>(&n.op)) return capture(i->then_region) && capture(i->else_region);
             const bool derivative = std::holds_alternative<Gradient>(n.op) && &region == &region_;
             return derivative || std::holds_alternative<Assert>(n.op) || assignment(program_, n) != nullptr;
           });
  }

  std::int32_t number(ValueId v) {
    const ValueId variable = variables_.variable(v);
    const auto found = numbers_.find(variable);
    if (found != numbers_.end()) {
      std::string& name = made_.variables[static_cast<std::size_t>(found->second)].name;
      if (name.empty()) name = program_.info(v).name;
      return found->second;
    }
    const std::string& own = program_.info(variable).name;
    return numbers_[variable] = fresh(own.empty() ? program_.info(v).name : own, program_.type(v).scalar);
  }

  std::int32_t fresh(const std::string& name, Scalar type) {
    made_.variables.push_back({name, type});
    return static_cast<std::int32_t>(made_.variables.size()) - 1;
  }

  Expr reading(ValueId v) {
    if (const auto known = constants_.find(v); known != constants_.end()) return known->second;
    return argument(program_.type(v).scalar, number(v));
  }

  Expr rewritten(const Expr& e) {
    return rewrite(e, [this](const Expr& x) {
      const auto* r = std::get_if<Read>(&x->op);
      return r == nullptr ? x : reading(r->tensor);
    });
  }

  void assign(std::int32_t variable, Expr value, const SourceRange& range, Procedure::Statements& into) {
    const auto* same = std::get_if<Argument>(&value->op);
    if (same != nullptr && same->position == variable) return;
    into.push_back({range, Procedure::Assign{variable, std::move(value)}});
  }

  /// Parallel assignment: values overwritten by an earlier assignment are saved first.
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources, std::size_t first,
                  const SourceRange& range, Procedure::Statements& into) {
    std::vector<Expr> values;
    std::set<std::int32_t> overwritten;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const Expr value = reading(sources[k]);
      const auto* variable = std::get_if<Argument>(&value->op);
      const bool kept = variable != nullptr && overwritten.contains(variable->position);
      if (kept) {
        const std::string& name = made_.variables[static_cast<std::size_t>(variable->position)].name;
        const std::int32_t copy = fresh(name.empty() ? "" : name + "_before", value->type);
        into.push_back({range, Procedure::Assign{copy, value}});
        values.push_back(argument(value->type, copy));
      } else {
        values.push_back(value);
      }
      if (variable == nullptr || variable->position != number(targets[first + k]))
        overwritten.insert(number(targets[first + k]));
    }
    for (std::size_t k = 0; k < values.size(); ++k) assign(number(targets[first + k]), values[k], range, into);
  }

  void statements(const Region& region, Procedure::Statements& into) {
    for (const Node& n : region.nodes) node(n, into);
  }

  void node(const Node& n, Procedure::Statements& into) {
    if (const auto* f = std::get_if<For>(&n.op)) return count(n, *f, into);
    if (const auto* w = std::get_if<While>(&n.op)) return repeat(n, *w, into);
    if (const auto* i = std::get_if<If>(&n.op)) return branch(n, *i, into);
    if (const auto* a = std::get_if<Assert>(&n.op)) {
      into.push_back({n.range, Procedure::Require{reading(a->condition), failure_text(*a)}});
      return;
    }
    if (const auto* g = std::get_if<Gradient>(&n.op)) return gradient(n, *g, into);
    const auto& c = std::get<Compute>(n.op);
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      const Expr value = rewritten(c.bodies[k]);
      if (std::holds_alternative<Constant>(value->op) && !variables_.is_shared(n.results[k])) {
        constants_[n.results[k]] = value;
      } else {
        assign(number(n.results[k]), value, n.range, into);
      }
    }
  }

  /// The computation from the variables to the loss is itself a procedure, whose tangents are the derivatives.
  void gradient(const Node& n, const Gradient& g, Procedure::Statements& into) {
    Region path;
    for (const Node& earlier : region_.nodes) {
      if (&earlier == &n) break;
      const bool defines =
          std::ranges::any_of(g.wrt, [&](ValueId v) { return std::ranges::count(earlier.results, v) > 0; });
      const bool changes = !defines && !std::holds_alternative<Assert>(earlier.op);
      if (changes) path.nodes.push_back(earlier);
    }
    std::vector<ValueId> captured;
    auto loss = procedure_of(program_, made_.name, path, g.wrt, g.loss, captured);
    TDSL_CHECK(loss.has_value(), "a part of work on scalars is such");
    std::vector<Expr> arguments;
    for (const ValueId v : g.wrt) arguments.push_back(reading(v));
    for (const ValueId v : captured) arguments.push_back(reading(v));
    loss->range = n.range;
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      const Expr slope = application(std::make_shared<const Procedure>(tangent_of(*loss, k)), arguments, n.range);
      assign(number(n.results[k]), cast(program_.type(n.results[k]).scalar, slope), n.range, into);
    }
  }

  void count(const Node& n, const For& f, Procedure::Statements& into) {
    const Expr begin = reading(f.begin);
    const Expr end = reading(f.end);
    assign_all(f.body.arguments, f.inits, 1, n.range, into);
    Procedure::Count loop{number(f.body.arguments[0]), begin, end, f.step, {}};
    statements(f.body, loop.body);
    assign_all(f.body.arguments, f.body.yields, 1, n.range, loop.body);
    into.push_back({n.range, std::move(loop)});
    assign_all(n.results, {f.body.arguments.begin() + 1, f.body.arguments.end()}, 0, n.range, into);
  }

  void repeat(const Node& n, const While& w, Procedure::Statements& into) {
    const ValueId iteration = w.body.arguments[0];
    bool counts = false;
    for_each_node(w.body, [&](const Node& inner) {
      const std::vector<ValueId> operands = operands_of(program_, inner);
      counts = counts || std::ranges::find(operands, iteration) != operands.end();
    });
    assign_all(w.condition.arguments, w.inits, 0, n.range, into);
    if (counts) assign(number(iteration), constant_i64(0), n.range, into);
    Procedure::Repeat loop;
    statements(w.condition, loop.before);
    loop.condition = reading(w.condition.yields.at(0));
    inline_condition(loop);
    assign_all(w.body.arguments, w.condition.arguments, 1, n.range, loop.body);
    statements(w.body, loop.body);
    if (counts)
      assign(number(iteration), binary(BinaryOp::kAdd, reading(iteration), constant_i64(1)), n.range, loop.body);
    assign_all(w.condition.arguments, w.body.yields, 0, n.range, loop.body);
    into.push_back({n.range, std::move(loop)});
    assign_all(n.results, w.condition.arguments, 0, n.range, into);
  }

  /// `c = e; while c` is `while e`.
  void inline_condition(Procedure::Repeat& loop) {
    const auto* variable = std::get_if<Argument>(&loop.condition->op);
    if (variable == nullptr || loop.before.size() != 1) return;
    const auto* only = std::get_if<Procedure::Assign>(&loop.before[0].op);
    if (only == nullptr || only->variable != variable->position) return;
    loop.condition = Expr(only->value);
    loop.before.clear();
  }

  void branch(const Node& n, const If& i, Procedure::Statements& into) {
    Procedure::Branch made;
    made.condition = reading(i.condition);
    // `c = e; if c` is `if e`: a condition's value has no name and no other reader.
    const auto* variable = std::get_if<Argument>(&made.condition->op);
    const auto* last = into.empty() ? nullptr : std::get_if<Procedure::Assign>(&into.back().op);
    if (variable != nullptr && last != nullptr && last->variable == variable->position && mentions(i.condition) == 1) {
      made.condition = Expr(last->value);
      into.pop_back();
    }
    statements(i.then_region, made.then_part);
    assign_all(n.results, i.then_region.yields, 0, n.range, made.then_part);
    statements(i.else_region, made.else_part);
    assign_all(n.results, i.else_region.yields, 0, n.range, made.else_part);
    if (!made.then_part.empty() || !made.else_part.empty()) into.push_back({n.range, std::move(made)});
  }

  /// Number of reads of the value.
  std::size_t mentions(ValueId v) {
    if (mentions_.empty()) {
      const auto region = [&](const Region& r) {
        for (const ValueId y : r.yields) ++mentions_[y];
      };
      region(region_);
      for_each_node(region_, [&](const Node& n) {
        for (const ValueId o : operands_of(program_, n)) ++mentions_[o];
        if (const auto* f = std::get_if<For>(&n.op)) region(f->body);
        if (const auto* w = std::get_if<While>(&n.op)) region(w->condition), region(w->body);
        if (const auto* i = std::get_if<If>(&n.op)) region(i->then_region), region(i->else_region);
      });
      ++mentions_[result_];
    }
    return mentions_[v];
  }

  Program& program_;
  const Region& region_;
  Node loop_;
  LoopVariables variables_;
  ValueId result_;
  std::vector<ValueId>& captured_;
  Procedure made_;
  std::map<ValueId, std::int32_t> numbers_;
  std::map<ValueId, Expr> constants_;
  std::map<ValueId, std::size_t> mentions_;
};

}  // namespace

std::optional<Procedure> procedure_of(Program& program, std::string name, const Region& region,
                                      const std::vector<ValueId>& parameters, ValueId result,
                                      std::vector<ValueId>& captured) {
  return ProcedureBuilder(program, std::move(name), region, parameters, result, captured).run();
}

}  // namespace tdsl::ir
