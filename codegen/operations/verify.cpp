#include "codegen/operations/verify.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "codegen/operations/fields.h"
#include "ir/graph/check.h"
#include "runtime/plan/op_fields.h"

namespace tdsl::codegen {

namespace {

using ir::match;

/// Sites of steps, operations included.
struct SiteVisitor : StepVisitor<SiteVisitor> {
  template <class... X>
  void property(const X&...) {}
  void property(const char* name, const int& x) {
    if (std::string_view(name) == "site" && x != 0) sites.push_back(x);
  }
  template <class... X>
  void pointer(const X&...) {}
  void pointer(const char*, const std::shared_ptr<const RecordedOp>& op) { sites.push_back(op->site); }
  void steps(const char*, const Steps& steps) {
    for (const Step& s : steps) std::visit([this](const auto& op) { visit_step(*this, op); }, s.op);
  }
  std::vector<int> sites;
};

class OperationVerifier {
 public:
  explicit OperationVerifier(const OperationProgram& program) : program_(program) {}

  std::vector<std::string> run() {
    steps(program_.steps);
    place_ = {};
    check_sites();
    return std::move(problems_);
  }

 private:
  enum class State : std::uint8_t { kDeclared, kLive, kReleased };
  using States = std::map<ValueId, State>;

  template <class... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format("line {}: {}", place_.line, fmt::format(format, std::forward<Args>(args)...)));
  }
  [[nodiscard]] std::string name(ValueId v) const {
    if (!is_value(v)) return fmt::format("%{}", v.id);
    return fmt::format("%{} `{}`", v.id, program_.info(v).name);
  }
  [[nodiscard]] bool is_value(ValueId v) const {
    return v.valid() && static_cast<std::size_t>(v.id) < program_.values.size();
  }

  void steps(const Steps& list) {
    for (const Step& s : list) {
      place_ = s.range;
      step(s);
    }
  }

  void step(const Step& s) {
    match(
        s.op, [&](const ForStep& f) { for_loop(f); }, [&](const WhileStep& w) { while_loop(w); },
        [&](const IfStep& i) {
          host(i.condition, "the condition");
          alternatives({&i.then_steps, &i.else_steps});
        },
        [&](const ChooseStep& c) {
          if (c.forms.size() != c.names.size()) report("every form has a name");
          std::vector<const Steps*> forms;
          for (const Steps& form : c.forms) forms.push_back(&form);
          alternatives(forms);
        },
        [&](const auto& simple) {
          for_each_use(program_, s, [this](ValueId v) { live(v); });
          check(simple);
          const bool declares = std::holds_alternative<DeclareStep>(s.op);
          for (const ValueId v : targets_of(s)) states_[v] = declares ? State::kDeclared : State::kLive;
        });
  }

  // --- Scopes

  /// Values defined in the list are out of scope after it.
  void nested(const Steps& list, std::optional<ValueId> argument, std::optional<ValueId> result) {
    const States outer = states_;
    if (argument) states_[*argument] = State::kLive;
    const SourceRange place = place_;
    steps(list);
    place_ = place;
    if (result) host(*result, "the condition");
    std::erase_if(states_, [&](const auto& entry) { return !outer.contains(entry.first); });
  }

  void alternatives(const std::vector<const Steps*>& lists) {
    const States before = states_;
    std::optional<States> first;
    for (const Steps* list : lists) {
      states_ = before;
      nested(*list, {}, {});
      if (first) compare(*first, "the branches differ in");
      if (!first) first = states_;
    }
  }

  void for_loop(const ForStep& f) {
    host(f.begin, "the first index");
    host(f.end, "the last index");
    if (f.step == 0) report("the step of a loop is 0");
    if (f.every) host(*f.every, "the step of a loop");
    const States before = states_;
    nested(f.body, f.index, {});
    compare(before, "an iteration changes the state of");
  }

  void while_loop(const WhileStep& w) {
    const States before = states_;
    nested(w.condition, {}, w.condition_value);
    nested(w.body, w.iteration, {});
    compare(before, "an iteration changes the state of");
  }

  void compare(const States& other, const char* what) {
    for (const auto& [v, state] : other) {
      const auto found = states_.find(v);
      if (found != states_.end() && found->second != state) report("{} {}", what, name(v));
    }
  }

  // --- Values

  bool live(ValueId v) {
    const auto found = states_.find(v);
    if (found == states_.end()) {
      report("{} is used before its definition", name(v));
    } else if (found->second == State::kReleased) {
      report("{} is used after its release", name(v));
    } else if (found->second == State::kDeclared) {
      report("{} is used before its first assignment", name(v));
    }
    return found != states_.end();
  }
  void host(ValueId v, const char* what) {
    if (live(v) && !program_.is_host(v)) report("{} is not a host value: {}", what, name(v));
  }
  void tensor(ValueId v, const char* what) {
    if (is_value(v) && program_.is_host(v)) report("{} is a host value: {}", what, name(v));
  }
  void release(ValueId v) {
    tensor(v, "a released value");
    live(v);
    states_[v] = State::kReleased;
  }
  void on_host(const Extent& e, const char* what) {
    for (const ValueId v : e.values()) {
      if (is_value(v) && !program_.is_host(v)) report("{} is not a host value: {}", what, name(v));
    }
  }
  void defines_host(ValueId v) {
    if (is_value(v) && !program_.is_host(v)) report("{} is defined as a host value", name(v));
  }

  // --- Steps without nested steps; uses have been checked.

  void check(const HostStep& s) { defines_host(s.target); }
  void check(const DimensionStep& s) { defines_host(s.target); }
  void check(const FoundStep& s) {
    defines_host(s.target);
    host(s.count, "the count of a found extent");
    on_host(s.estimate, "an estimate");
  }
  void check(const ParamStep& s) { defines_host(s.target); }
  void check(const ControlReadStep& s) {
    defines_host(s.target);
    tensor(s.tensor, "the operand of a control read");
  }
  void check(const InputStep& s) { tensor(s.target, "an input"); }
  void check(const RandomStep& s) { tensor(s.target, "a random tensor"); }
  void check(const ChainStep& s) {
    tensor(s.target, "a product");
    if (s.sizes.size() != s.factors.size() + 1) report("a chain has one more size than factors");
  }
  void check(const OutputStep& s) {
    tensor(s.value, "an output");
    if (s.record) host(*s.record, "the number of a record");
  }
  void check(const ReleaseStep& s) { release(s.value); }
  void check(const TimeTileStep& s) {
    defines_host(s.target);
    host(s.begin, "the first index");
    host(s.end, "the last index");
    for (const Extent& e : s.shape) on_host(e, "a number of an operation");
    if (s.reach.size() != s.shape.size()) report("a time tile has a reach per dimension");
  }
  void check(const RoutineStep& s) {
    for (const RoutineStep::Operand& o : s.operands) {
      tensor(o.tensor, "an operand");
      if (o.ends) release(o.tensor);
    }
  }
  void check(const LoopStep& s) {
    if ((s.loop == nullptr) == (s.kernel == nullptr)) report("a loop has either a body or a kernel");
    for (const ValueId v : s.reads) tensor(v, "an operand");
    for (const LoopStep::Result& r : s.results) {
      tensor(r.target, "a result");
      if (r.continues >= static_cast<int>(s.reads.size())) report("{} continues a missing operand", name(r.target));
    }
  }
  void check(const CopyStep& s) {
    if (is_value(s.source) && is_value(s.target) && program_.is_host(s.source) != program_.is_host(s.target))
      report("a copy from {} to {} changes sides", name(s.source), name(s.target));
    if (!s.declare && !states_.contains(s.target)) report("{} is assigned before its declaration", name(s.target));
    if (s.move) release(s.source);
  }
  void check(const DeclareStep&) {}
  void check(const OperationStep& s) {
    tensor(s.target, "a result");
    check(*s.op);
    check_operands(*s.op, *s.kernel);
    if (s.kernel->steps) {
      host(*s.kernel->steps, "the number of steps");
      if (s.kernel->reach.size() != s.op->labels.size()) report("`{}` has no reach per label", s.op->name);
    }
    if (s.fused) check_operands(*s.op, *s.fused);
    if (s.op->epilogue != (s.epilogue != nullptr)) report("an epilogue is missing or not announced");
    if (s.epilogue) check(*s.epilogue->op);
  }
  template <class Other>
  void check(const Other&) {}

  template <class Kernel>
  void check_operands(const RecordedOp& op, const Kernel& kernel) {
    for (const auto& [node, operand] : kernel.operand) {
      if (operand < 0 || static_cast<std::size_t>(operand) >= op.reads.size())
        report("`{}` has no operand {}", op.name, operand);
    }
  }

  void check(const RecordedOp& op) {
    if (!op.outputs.empty()) report("the outputs of `{}` follow when it is recorded", op.name);
    if (op.out.size() != op.shape.size()) report("`{}` has {} subscripts for its result", op.name, op.out.size());
    const auto label = [&](int l) {
      if (l < plan::kAnyLabel || l >= static_cast<int>(op.labels.size())) report("`{}` has no label {}", op.name, l);
    };
    for (const auto& subscript : op.out) label(subscript.label);
    for (const plan::ReduceLabel& reduced : op.reduce) label(reduced.label);
    for (const SymbolicAccess& access : op.reads) {
      if (!is_value(access.tensor)) continue;
      if (access.dims.size() != program_.type(access.tensor).rank())
        report("`{}` reads {} with {} subscripts", op.name, name(access.tensor), access.dims.size());
      for (const SymbolicDim& dim : access.dims) {
        for (const Term& t : dim.terms) label(t.label);
      }
    }
    plan::for_each_number<Extent, plan::BasicOp>(
        op, [this](const Extent& e) { on_host(e, "a number of an operation"); },
        [this](ValueId v) { tensor(v, "an operand"); });
  }

  void check_sites() {
    SiteVisitor visitor;
    visitor.steps("", program_.steps);
    std::set<int> seen;
    for (const int site : visitor.sites) {
      if (site < 1 || site > program_.sites) report("site {} is out of range", site);
      if (!seen.insert(site).second) report("site {} occurs twice", site);
    }
  }

  const OperationProgram& program_;
  States states_;  ///< of values in scope
  SourceRange place_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const OperationProgram& program) { return OperationVerifier(program).run(); }

void require_valid(const OperationProgram& program) {
  const std::vector<std::string> problems = verify(program);
  TDSL_CHECK(problems.empty(), "the operation program is well formed: " + problems.front());
}

}  // namespace tdsl::codegen
