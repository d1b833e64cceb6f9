#include "codegen/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/families/family_builder.h"
#include "codegen/families/knowledge.h"
#include "codegen/families/releases.h"
#include "codegen/loops/serial_loop.h"
#include "codegen/lower/chain.h"
#include "codegen/lower/epilogue.h"
#include "codegen/lower/foreign.h"
#include "codegen/lower/fused.h"
#include "codegen/lower/operation.h"
#include "codegen/lower/routine.h"
#include "ir/analysis/carried.h"
#include "ir/analysis/serial_loop.h"
#include "ir/eval/failure_text.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "runtime/plan/op_fields.h"

namespace tdsl::codegen {

namespace {

using ir::match;

/// Adds titles of unnamed values: `solve_result`, `part`.
void add_titles(FamilyProgram& program, const Steps& steps) {
  const auto add = [&](ValueId v, std::string title) {
    if (program.info(v).name.empty()) program.titles[v] = std::move(title);
  };
  for (const Step& s : steps) {
    if (const auto* o = std::get_if<OperationStep>(&s.op)) add(o->target, "part");
    if (const auto* r = std::get_if<RoutineStep>(&s.op)) {
      for (const RoutineStep::Result& result : r->results)
        add(result.target, fmt::format("{}_result", ir::name_of(r->kind)));
    }
    for_each_list(s, [&](const Steps& inner) { add_titles(program, inner); });
  }
}

class Lowering {
 public:
  explicit Lowering(const ir::Program& program) : program_(program), builder_(program) {}

  FamilyProgram run() {
    region(program_.body);
    FamilyProgram result = std::move(builder_.program());
    drop_unused(result);
    add_titles(result, result.steps);
    add_releases(result);
    mark_knowledge(result);
    return result;
  }

 private:
  void region(const ir::Region& r) {
    for (const ir::Node& n : r.nodes) node(n);
  }

  /// Compressed tensors can be loaded, drawn, iterated over, written and carried by loops.
  void check_compressed(const ir::Node& n) const {
    const auto holds = [&]<class T>() { return std::holds_alternative<T>(n.op); };
    if (holds.operator()<ir::Input>() || holds.operator()<ir::Output>() || holds.operator()<ir::Print>() ||
        holds.operator()<ir::Random>())
      return;
    if (!ir::carried_by(n).empty() && !ir::is_marked_serial(n)) return;
    if (const auto* c = std::get_if<ir::Compute>(&n.op); c != nullptr && c->iteration) return;
    std::vector<ValueId> values = ir::operands_of(program_, n);
    values.insert(values.end(), n.results.begin(), n.results.end());
    for (const ValueId v : values) {
      if (!program_.type(v).is_compressed()) continue;
      throw NotSupported(n.range, "`" + program_.info(v).name +
                                      "` is compressed, and this is not supported of compressed tensors yet");
    }
  }

  void node(const ir::Node& n) {
    check_compressed(n);
    match(
        n.op,
        [&](const ir::Dimension& d) {
          declarations().dimensions.emplace_back(n.results[0], d.name);
          builder_.add(n.range, DimensionStep{n.results[0], d.name});
        },
        [&](const ir::Param& p) {
          declarations().params.push_back({p.name, builder_.type(n.results[0]).scalar, ir::default_text(p)});
          std::optional<ValueId> computed;
          if (p.computed_default) computed = builder_.on_host(*p.computed_default, n.range);
          builder_.add(n.range, ParamStep{n.results[0], p.name, p.default_value, computed});
        },
        [&](const ir::Input& i) {
          fix_shape(n.results[0], n.range);
          declarations().inputs.push_back({i.name, builder_.type(n.results[0]), static_cast<int>(n.range.line)});
          builder_.add(n.range, InputStep{n.results[0], i.name, builder_.new_site()});
        },
        [&](const ir::Compute& c) { lower_compute(builder_, n, c); }, [&](const ir::Random& r) { random(n, r); },
        [&](const ir::Routine& r) { r.foreign ? lower_foreign(builder_, n, r) : lower_routine(builder_, n, r); },
        [&](const ir::Chain& c) { lower_chain(builder_, n, c); },
        [&](const ir::For& f) { on_tasks(n) ? lower_serial_loop(builder_, program_, n) : for_loop(n, f); },
        [&](const ir::While& w) { on_tasks(n) ? lower_serial_loop(builder_, program_, n) : while_loop(n, w); },
        [&](const ir::If& i) { branch(n, i); }, [&](const ir::Choose& c) { choose(n, c); },
        [&](const ir::Fused& f) { f.epilogue ? lower_epilogue(builder_, n, f) : lower_fused(builder_, n, f); },
        [&](const ir::Print& p) { print(n, p); },
        [&](const ir::Assert& a) {
          builder_.add(n.range, AssertStep{builder_.resolve(a.condition), ir::failure_text(a), builder_.new_site()});
        },
        [&](const ir::Check& c) {
          ir::Check check = c;
          if (c.guard) check.guard = builder_.on_host(*c.guard, n.range);
          check.left = builder_.rewritten(c.left, n.range);
          check.right = builder_.rewritten(c.right, n.range);
          builder_.add(n.range, CheckStep{std::move(check)});
        },
        [&](const ir::Output& o) {
          const ValueId v = builder_.as_tensor(o.value, n.range);
          declarations().outputs.push_back({o.name, builder_.type(v), static_cast<int>(n.range.line)});
          builder_.add(n.range, OutputStep{o.name, v, builder_.new_site()});
        },
        [](const ir::Gradient&) { TDSL_CHECK(false, "derivatives are expanded before code is generated"); });
  }

  Declarations& declarations() { return builder_.program().declarations; }

  /// The step that defines `v` uses its extents and tile: these are moved to the host first.
  void fix_shape(ValueId v, SourceRange range) {
    ir::Type type = builder_.type(v);
    for (Extent& e : type.shape) e = builder_.rewritten(e, range);
    builder_.program().values[static_cast<std::size_t>(v.id)].type = type;
    for (Extent& e : builder_.program().values[static_cast<std::size_t>(v.id)].tile) e = builder_.rewritten(e, range);
  }

  void random(const ir::Node& n, const ir::Random& r) {
    ir::Random resolved = r;
    for (ValueId& v : resolved.iterations) v = builder_.on_host(v, n.range);
    fix_shape(n.results[0], n.range);
    builder_.add(n.range, RandomStep{n.results[0], std::move(resolved), builder_.new_site()});
  }

  /// Declares a loop's variables with their initial values; arguments and results are stored in them.
  std::vector<ValueId> carried(const ir::Node& n, const std::vector<ValueId>& inits,
                               const std::vector<ValueId>& arguments) {
    std::vector<ValueId> variables;
    for (std::size_t k = 0; k < inits.size(); ++k) {
      const ValueId variable = arguments[k];
      builder_.add(n.range, CopyStep{variable, like(variable, inits[k], n.range), true, false});
      builder_.alias(n.results[k], variable);
      variables.push_back(variable);
    }
    return variables;
  }

  /// `v` converted to the kind (host or tensor) of `variable`.
  ValueId like(ValueId variable, ValueId v, SourceRange range) {
    return builder_.is_host(variable) ? builder_.on_host(v, range) : builder_.as_tensor(v, range);
  }

  /// The assignments at the end of an iteration: all at once.
  void next(const std::vector<ValueId>& variables, const std::vector<ValueId>& yields, SourceRange range) {
    std::vector<ValueId> values;
    for (std::size_t k = 0; k < variables.size(); ++k) values.push_back(like(variables[k], yields[k], range));
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const bool overwritten = std::ranges::find(variables, values[k]) != variables.end() && values[k] != variables[k];
      if (!overwritten) continue;
      const ir::ValueInfo info = builder_.program().info(values[k]);
      const ValueId kept = builder_.new_value(info.type, info.name, range, builder_.is_host(values[k]));
      builder_.add(range, CopyStep{kept, values[k], true, false});
      values[k] = kept;
    }
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (values[k] != variables[k]) builder_.add(range, CopyStep{variables[k], values[k], false, false});
    }
  }

  void for_loop(const ir::Node& n, const ir::For& f) {
    ForStep step;
    step.begin = builder_.on_host(f.begin, n.range);
    step.end = builder_.on_host(f.end, n.range);
    step.step = f.step;
    step.index = f.body.arguments[0];
    step.carried = carried(n, f.inits, {f.body.arguments.begin() + 1, f.body.arguments.end()});
    step.body = builder_.nested([&] {
      region(f.body);
      next(step.carried, f.body.yields, n.range);
    });
    builder_.add(n.range, std::move(step));
  }

  void while_loop(const ir::Node& n, const ir::While& w) {
    WhileStep step;
    step.iteration = w.body.arguments[0];
    step.carried = carried(n, w.inits, {w.body.arguments.begin() + 1, w.body.arguments.end()});
    for (std::size_t k = 0; k < w.inits.size(); ++k) builder_.alias(w.condition.arguments[k], step.carried[k]);
    step.condition = builder_.nested([&] {
      region(w.condition);
      step.condition_value = builder_.on_host(w.condition.yields[0], n.range);
    });
    step.body = builder_.nested([&] {
      region(w.body);
      next(step.carried, w.body.yields, n.range);
    });
    builder_.add(n.range, std::move(step));
  }

  /// The region's steps, followed by the assignments of its yields.
  Steps side(const ir::Node& n, const ir::Region& r) {
    return builder_.nested([&] {
      region(r);
      for (std::size_t k = 0; k < n.results.size(); ++k) {
        const ValueId value = like(n.results[k], r.yields[k], n.range);
        builder_.add(n.range, CopyStep{n.results[k], value, false, false});
      }
    });
  }

  void branch(const ir::Node& n, const ir::If& i) {
    IfStep step;
    step.condition = builder_.on_host(i.condition, n.range);
    for (const ValueId v : n.results) builder_.add(n.range, DeclareStep{v});
    step.then_steps = side(n, i.then_region);
    step.else_steps = side(n, i.else_region);
    builder_.add(n.range, std::move(step));
  }

  void choose(const ir::Node& n, const ir::Choose& c) {
    ChooseStep step{{}, c.names, builder_.new_site()};
    for (const ValueId v : n.results) builder_.add(n.range, DeclareStep{v});
    for (const ir::Region& r : c.regions) step.forms.push_back(side(n, r));
    builder_.program().chooses = true;
    builder_.add(n.range, std::move(step));
  }

  void print(const ir::Node& n, const ir::Print& p) {
    PrintStep step{{}, builder_.new_site()};
    for (const auto& item : p.items) {
      match(
          item, [&](const std::string& s) { step.items.emplace_back(s); },
          [&](ValueId v) { step.items.emplace_back(builder_.resolve(v)); });
    }
    builder_.add(n.range, std::move(step));
  }

  /// True if a loop is one task; loops over values known on every rank run on every rank.
  [[nodiscard]] bool on_tasks(const ir::Node& n) {
    return ir::is_marked_serial(n) && !runs_on_host(program_, n, builder_.program().host);
  }

  const ir::Program& program_;
  FamilyBuilder builder_;
};

void uses_of(const Expr& e, const std::function<void(ValueId)>& f) {
  if (!e) return;
  ir::for_each_read(e, [&](const ir::Read& r) { f(r.tensor); });
}
void uses_of(const Extent& e, const std::function<void(ValueId)>& f) {
  for (const ValueId v : e.values()) f(v);
}
void uses_of(const std::vector<Term>& terms, const std::function<void(ValueId)>& f) {
  for (const Term& t : terms) uses_of(t.coefficient, f);
}

bool is_member(const FusedKernel& fused, ValueId v) {
  return std::ranges::any_of(fused.members, [&](const FusedKernel::Member& m) { return m.value == v; });
}

void uses_of(const OperationStep& s, const std::function<void(ValueId)>& f) {
  const auto in_number = [&](const Extent& e) { uses_of(e, f); };
  plan::for_each_number<Extent, plan::BasicOp>(*s.op, in_number, f);
  plan::for_each_number(s.op->sparsity, in_number, f);
  for (const auto& [node, extents] : s.kernel->checked) {
    for (const auto& extent : extents) {
      if (extent) uses_of(*extent, f);
    }
  }
  for (const ir::Rearranged& part : s.kernel->rearranged) {
    for (std::size_t d = 0; d < 2; ++d) {
      uses_of(part.at[d].offset, f);
      for (const Extent& e : part.range[d].from) uses_of(e, f);
      for (const Extent& e : part.range[d].to) uses_of(e, f);
    }
  }
  if (s.op->flops_per_row) uses_of(*s.op->flops_per_row, f);
  uses_of(s.op->product_flops_per_row, f);
  if (s.fused) {
    for (const FusedKernel::Member& m : s.fused->members) {
      for (const auto* labels : {&m.compute.out, &m.compute.reduce}) {
        for (const ir::Label& l : *labels) {
          uses_of(l.begin, f);
          uses_of(l.end, f);
        }
      }
      if (m.place) uses_of(*m.place, f);
      for (const Expr& e : {m.compute.bodies[0], m.compute.guard}) {
        if (!e) continue;
        ir::for_each_node(e, [&](const ir::ExprNode& n) {
          if (const auto* r = std::get_if<ir::Read>(&n.op); r != nullptr && !is_member(*s.fused, r->tensor))
            f(r->tensor);
        });
      }
    }
    return;
  }
  const ir::Compute& c = s.kernel->compute;
  for (const Expr& e : c.bodies) uses_of(e, f);
  for (const Expr& e : c.left) uses_of(e, f);
  uses_of(c.guard, f);
  for (const ir::Label& l : c.out) uses_of(l.begin, f);
  if (!s.epilogue) return;
  const ValueId product = s.epilogue->op->reads.front().tensor;
  uses_of(*s.epilogue, [&](ValueId v) {
    if (v != product) f(v);
  });
}

}  // namespace

std::vector<ir::Label> indices_of(const RecordedOp& op) {
  std::vector<ir::Label> indices;
  for (const SymbolicLabel& l : op.labels) indices.push_back({l.name, l.range.lo, l.range.hi});
  return indices;
}

FamilyProgram lower(const ir::Program& program) { return Lowering(program).run(); }

void for_each_use(const FamilyProgram& program, const Step& step, const std::function<void(ValueId)>& f) {
  const auto nested = [&](const Steps& steps) {
    for (const Step& s : steps) for_each_use(program, s, f);
  };
  const auto shape = [&](ValueId v) {
    for (const Extent& e : program.type(v).shape) uses_of(e, f);
  };
  const auto tile = [&](ValueId v) {
    for (const Extent& e : program.info(v).tile) uses_of(e, f);
  };
  match(
      step.op, [&](const HostStep& s) { uses_of(s.value, f); }, [](const DimensionStep&) {},
      [&](const ParamStep& s) {
        if (s.computed_default) f(*s.computed_default);
      },
      [&](const InputStep& s) {
        shape(s.target);
        tile(s.target);
      },
      [&](const RandomStep& s) {
        shape(s.target);
        tile(s.target);
        for (const ValueId v : s.random.iterations) f(v);
      },
      [&](const OperationStep& s) { uses_of(s, f); },
      [&](const ChainStep& s) {
        for (const ir::Chain::Factor& factor : s.factors) f(factor.tensor);
        for (const std::vector<Extent>* list : {&s.sizes, &s.tile}) {
          for (const Extent& e : *list) uses_of(e, f);
        }
      },
      [&](const RoutineStep& s) {
        for (const RoutineStep::Operand& o : s.operands) f(o.tensor);
        uses_of(s.count, f);
      },
      [&](const LoopStep& s) {
        for (const auto& [outside, here] : s.outer) f(here);
        for (const LoopStep::Result& r : s.results) shape(r.target);
        uses_of(s.flops, f);
      },
      [&](const ControlReadStep& s) { f(s.tensor); }, [&](const CopyStep& s) { f(s.source); },
      [&](const GathersStep& s) { uses_of(s.bytes, f); }, [](const DeclareStep&) {},
      [&](const SubscriptStep& s) {
        uses_of(s.subscript.terms, f);
        uses_of(s.subscript.constant, f);
        uses_of(s.extent, f);
        for (const ir::Label& l : s.labels) {
          uses_of(l.begin, f);
          uses_of(l.end, f);
        }
      },
      [&](const ForStep& s) {
        f(s.begin);
        f(s.end);
        nested(s.body);
      },
      [&](const WhileStep& s) {
        nested(s.condition);
        f(s.condition_value);
        nested(s.body);
      },
      [&](const IfStep& s) {
        f(s.condition);
        nested(s.then_steps);
        nested(s.else_steps);
      },
      [&](const ChooseStep& s) {
        for (const Steps& form : s.forms) nested(form);
      },
      [](const FenceStep&) {},
      [&](const PrintStep& s) {
        for (const auto& item : s.items) {
          if (const auto* v = std::get_if<ValueId>(&item)) f(*v);
        }
      },
      [&](const AssertStep& s) { f(s.condition); },
      [&](const CheckStep& s) {
        uses_of(s.check.left, f);
        uses_of(s.check.right, f);
        if (s.check.guard) f(*s.check.guard);
      },
      [&](const OutputStep& s) { f(s.value); }, [](const ReleaseStep&) {});
}

void for_each_list(const Step& s, const std::function<void(const Steps&)>& f) {
  if (const auto* loop = std::get_if<ForStep>(&s.op)) return f(loop->body);
  if (const auto* loop = std::get_if<WhileStep>(&s.op)) {
    f(loop->condition);
    return f(loop->body);
  }
  if (const auto* branch = std::get_if<IfStep>(&s.op)) {
    f(branch->then_steps);
    f(branch->else_steps);
  }
  if (const auto* choice = std::get_if<ChooseStep>(&s.op)) std::ranges::for_each(choice->forms, f);
}

std::vector<ValueId> targets_of(const Step& step) {
  return match(
      step.op, [](const HostStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const DimensionStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const ParamStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const InputStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const RandomStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const OperationStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const ChainStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const RoutineStep& s) {
        std::vector<ValueId> targets;
        for (const RoutineStep::Result& r : s.results) {
          if (r.wanted) targets.push_back(r.target);
        }
        return targets;
      },
      [](const LoopStep& s) {
        std::vector<ValueId> targets;
        for (const LoopStep::Result& r : s.results) targets.push_back(r.target);
        return targets;
      },
      [](const ControlReadStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const CopyStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const GathersStep&) -> std::vector<ValueId> { return {}; },
      [](const DeclareStep& s) -> std::vector<ValueId> { return {s.target}; },
      [](const SubscriptStep&) -> std::vector<ValueId> { return {}; },
      [](const ForStep&) -> std::vector<ValueId> { return {}; },
      [](const WhileStep&) -> std::vector<ValueId> { return {}; },
      [](const IfStep&) -> std::vector<ValueId> { return {}; },
      [](const ChooseStep&) -> std::vector<ValueId> { return {}; },
      [](const FenceStep&) -> std::vector<ValueId> { return {}; },
      [](const PrintStep&) -> std::vector<ValueId> { return {}; },
      [](const AssertStep&) -> std::vector<ValueId> { return {}; },
      [](const CheckStep&) -> std::vector<ValueId> { return {}; },
      [](const OutputStep&) -> std::vector<ValueId> { return {}; },
      [](const ReleaseStep&) -> std::vector<ValueId> { return {}; });
}

}  // namespace tdsl::codegen
