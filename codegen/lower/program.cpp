#include "codegen/lower/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/lower/chain.h"
#include "codegen/lower/epilogue.h"
#include "codegen/lower/foreign.h"
#include "codegen/lower/fused.h"
#include "codegen/lower/operation.h"
#include "codegen/lower/routine.h"
#include "codegen/lower/serial_loop.h"
#include "codegen/lower/time_tile.h"
#include "codegen/operations/builder.h"
#include "codegen/operations/host_values.h"
#include "codegen/operations/releases.h"
#include "codegen/operations/verify.h"
#include "codegen/walk/knowledge.h"
#include "ir/analysis/carried.h"
#include "ir/analysis/coded_readers.h"
#include "ir/analysis/serial_loop.h"
#include "ir/eval/failure_text.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

namespace {

using ir::match;

/// Adds titles of unnamed values: `solve_result`, `part`.
void add_titles(OperationProgram& program, const Steps& steps) {
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

  OperationProgram run() {
    region(program_.body);
    OperationProgram result = std::move(builder_.program());
    drop_unused(result);
    add_titles(result, result.steps);
    add_releases(result);
    mark_knowledge(result);
    require_valid(result);
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
    if (holds.operator()<ir::Fused>()) return;  // members iterate, or read dense values
    if (const auto* c = std::get_if<ir::Compute>(&n.op); c != nullptr && c->iteration) return;
    std::vector<ValueId> values = ir::operands_of(program_, n);
    values.insert(values.end(), n.results.begin(), n.results.end());
    for (const ValueId v : values) {
      if (!program_.type(v).is_compressed()) continue;
      throw NotSupported(n.range, "`" + program_.info(v).name +
                                      "` is compressed, and this is not supported of compressed tensors yet");
    }
  }

  [[nodiscard]] CodedVisits coded_visits(ValueId matrix) const {
    if (!program_.type(matrix).is_coded()) return {};
    const ir::CodedReaders readers = ir::coded_readers(program_, matrix);
    return {readers.by_value - readers.nests,
            readers.nests,
            readers.counts,
            readers.totals,
            readers.weights,
            readers.by_rows};
  }

  void node(const ir::Node& n) {
    check_compressed(n);
    match(
        n.op,
        [&](const ir::Dimension& d) {
          declarations().dimensions.emplace_back(n.results[0], d.name);
          builder_.add(n.range, DimensionStep{n.results[0], d.name});
        },
        [&](const ir::Found& f) {
          std::vector<std::string>& named = declarations().found;
          if (!f.name.empty() && std::ranges::find(named, f.name) == named.end()) named.push_back(f.name);
          const ValueId count = builder_.on_host(f.count, n.range);
          builder_.add(n.range, FoundStep{n.results[0], count, builder_.rewritten(f.estimate, n.range), f.name});
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
          builder_.add(n.range, InputStep{n.results[0], i.name, coded_visits(n.results[0]), builder_.new_site()});
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
          if (!o.record)
            declarations().outputs.push_back({o.name, builder_.type(v), static_cast<int>(n.range.line), o.begins});
          const auto record = o.record ? std::optional(builder_.on_host(*o.record, n.range)) : std::nullopt;
          builder_.add(n.range, OutputStep{o.name, v, builder_.new_site(), record, o.begins});
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
    if (auto tile = tile_in_time(builder_, step, n.range)) builder_.add(n.range, std::move(*tile));
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
  ProgramBuilder builder_;
};

}  // namespace

std::vector<ir::Label> indices_of(const RecordedOp& op) {
  std::vector<ir::Label> indices;
  for (const SymbolicLabel& l : op.labels) indices.push_back({l.name, l.range.lo, l.range.hi});
  return indices;
}

OperationProgram lower(const ir::Program& program) { return Lowering(program).run(); }

}  // namespace tdsl::codegen
