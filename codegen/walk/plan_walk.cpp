#include "codegen/walk/plan_walk.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "codegen/operations/describe.h"
#include "codegen/operations/library_routine.h"
#include "codegen/walk/host_evaluator.h"
#include "codegen/walk/plan_session.h"
#include "ir/graph/check.h"
#include "runtime/plan/op_builder.h"
#include "runtime/record/chain.h"
#include "runtime/record/sum_of_products.h"
#include "runtime/routines/algorithms/routine.h"
#include "runtime/types.h"

namespace tdsl::codegen {

using ir::match;

/// Interprets the steps: host values are numbers or unknown, tensors are handles of recorded tensors.
class Walk::Body {
 public:
  Body(const OperationProgram& program, const WalkRequest& request, record::Recorder& recorder)
      : program_(program), request_(request), recorder_(recorder), host_(program) {}

  void run(record::Control& control, const Note& note) {
    session_.emplace(program_, request_, recorder_, control, note);
    steps(program_.steps);
    tensors_.clear();
    recorder_.flush();
  }
  [[nodiscard]] SourceRange place() const { return session_->place(); }
  void observe(OperationObserver* observer) { observer_ = observer; }

 private:
  void steps(const Steps& list) {
    for (const Step& s : list) {
      session_->move_to(s.range);
      step(s);
    }
  }

  void step(const Step& s) {
    match(
        s.op, [&](const HostStep& h) { assign(h.target, host_.evaluate(h.value, s.range)); },
        [&](const DimensionStep& d) { host_.set(d.target, session_->dimension(d.name)); },
        [&](const FoundStep& f) { found(f); }, [&](const ParamStep& p) { param(p); },
        [&](const InputStep& i) { tensors_[i.target] = session_->input(source(i.name, i.target, i.site)); },
        [&](const RandomStep& r) { random(r); }, [&](const OperationStep& o) { operation(o); },
        [&](const ChainStep& c) { chain(c); }, [&](const RoutineStep& r) { routine(r); },
        [&](const LoopStep& l) { loop(l); },
        [&](const ControlReadStep& c) { assign(c.target, session_->read(tensor(c.tensor), session_->at(c.site))); },
        [&](const CopyStep& c) { copy(c); },
        [&](const GathersStep& g) { session_->gathers("", g.operand, number(g.bytes)); }, [](const DeclareStep&) {},
        [](const SubscriptStep&) {}, [&](const ForStep& f) { for_loop(f); }, [&](const WhileStep& w) { while_loop(w); },
        [&](const IfStep& i) { branch(i); }, [&](const ChooseStep& c) { choose(c); },
        [&](const FenceStep&) { session_->control.fence(session_->line()); }, [&](const PrintStep& p) { print(p); },
        [&](const AssertStep& a) {
          if (!program_.is_host(a.condition)) session_->collect("assert", {&tensor(a.condition).state()}, a.site);
        },
        [&](const CheckStep& c) { check(c); },
        [&](const OutputStep& o) {
          if (!o.begins) session_->output(o.name, tensor(o.value), o.site, o.record.has_value());
        },
        [&](const ReleaseStep& r) { tensors_.erase(r.value); }, [&](const TimeTileStep& t) { time_tile(t); });
  }

  // --- Values

  void assign(ValueId v, const std::optional<ir::Literal>& value) {
    value ? host_.set(v, *value) : host_.set_unknown(v);
  }
  [[nodiscard]] const record::TensorHandle& tensor(ValueId v) const {
    const auto found = tensors_.find(v);
    TDSL_CHECK(found != tensors_.end(), "an operand has been recorded");
    return found->second;
  }
  /// Evaluates `f` on sizes; a division by 0 is an error of the program.
  template <class F>
  auto computed(const F& f) const -> decltype(f()) {
    try {
      return f();
    } catch (const std::domain_error& error) { session_->stop(std::string(error.what()) + " [too-large]"); }
  }
  std::int64_t number(const Extent& e) const {
    const auto value = computed([&] { return host_.evaluate(e); });
    if (!value)
      session_->stop(
          "a size or range depends on computed data, so there is no plan before the program runs [unknown-size]");
    return *value;
  }
  [[nodiscard]] std::vector<plan::Index> numbers(const std::vector<Extent>& extents) const {
    std::vector<plan::Index> list;
    for (const Extent& e : extents) list.push_back(number(e));
    return list;
  }
  [[nodiscard]] std::vector<plan::Index> shape(ValueId v) const { return numbers(program_.type(v).shape); }
  [[nodiscard]] record::ElementType element_type(ValueId v) const { return program_.type(v).scalar; }
  [[nodiscard]] PlanSession::Source source(const std::string& name, ValueId v, int site) const {
    return {name, element_type(v), shape(v), numbers(program_.info(v).tile), program_.type(v).is_compressed(), site};
  }
  /// True if a bool scalar is known to be true.
  [[nodiscard]] bool is_true(ValueId v) const {
    const std::optional<ir::Literal> value = host_.get(v);
    return value && std::holds_alternative<bool>(*value) && std::get<bool>(*value);
  }

  // --- Steps

  void param(const ParamStep& p) {
    if (const auto given = session_->param(p.name)) return host_.set(p.target, *given);
    if (p.computed_default) return assign(p.target, host_.get(*p.computed_default));
    if (!p.default_value)
      session_->stop(fmt::format("the param {} has no default: give --set {}=VALUE [missing-input]", p.name, p.name));
    host_.set(p.target, *p.default_value);
  }

  void found(const FoundStep& f) {
    const auto counted = host_.get(f.count);
    host_.set(f.target, counted ? *counted : ir::Literal(session_->found(f.name, number(f.estimate))));
  }

  void time_tile(const TimeTileStep& t) {
    plan::StencilLoop loop{
        .shape = numbers(t.shape), .reach = t.reach, .element_bytes = t.element_bytes, .flops = t.flops};
    const auto begin = host_.get(t.begin), end = host_.get(t.end);
    if (begin && end) {
      loop.begin = std::get<std::int64_t>(*begin);
      loop.end = std::get<std::int64_t>(*end);
    }
    host_.set(t.target, session_->time_tile(loop));
  }

  void random(const RandomStep& r) {
    const PlanSession::Source drawn = source(name_of(program_, r.target), r.target, r.site);
    const auto density = drawn.compressed ? host_.get(r.random.iterations.back()) : std::nullopt;
    tensors_[r.target] = session_->random(drawn, density ? std::optional(std::get<double>(*density)) : std::nullopt);
  }

  void operation(const OperationStep& o) {
    plan::Op op = instantiate(
        *o.op, session_->line(), [this](const Extent& e) { return number(e); },
        [this](ValueId v) -> const plan::TensorDesc& { return tensor(v).desc(); });
    if (o.op->in_any_order) return sum_of_products(o, std::move(op));
    if (o.kernel->steps) op.flops_per_point *= static_cast<double>(number(Extent::of(*o.kernel->steps)));
    record::drop_empty_sum(op);
    tensors_[o.target] = session_->record(std::move(op), element_type(o.target));
    if (observer_ != nullptr) observer_->emitted(tensor(o.target).id(), o, host_);
  }

  void sum_of_products(const OperationStep& o, plan::Op whole) {
    record::SumOfProducts sum{std::move(whole), {}};
    for (const SymbolicAccess& a : o.op->reads) sum.names.push_back(tensor(a.tensor).state().desc.name);
    tensors_[o.target] = session_->sum_of_products(sum, [&](plan::OpBuilder& op) {
      const plan::Op recorded = op.op();
      record::TensorHandle made = session_->record(std::move(op.op()), element_type(o.target));
      if (observer_ != nullptr) observer_->product(made.id(), recorded, program_.type(o.target).scalar);
      return made;
    });
  }

  void chain(const ChainStep& c) {
    record::ProductChain products{c.name, {}, numbers(c.sizes), numbers(c.tile), session_->at(c.site)};
    for (const ir::Chain::Factor& f : c.factors) products.factors.emplace_back(tensor(f.tensor), f.transposed);
    tensors_[c.target] = record::record_chain(
        products, [&](plan::OpBuilder& op) { return session_->record(std::move(op.op()), element_type(c.target)); });
  }

  void routine(const RoutineStep& r) {
    rt::routines::Call call{library_routine(r.kind),
                            {},
                            {},
                            {r.site, session_->line(), r.known, r.branch},
                            r.axis,
                            number(r.count),
                            r.solves,
                            static_cast<rt::routines::FourierScale>(r.scale)};
    for (const RoutineStep::Operand& o : r.operands) {
      call.operands.push_back(tensor(o.tensor));
      if (o.ends) tensors_.erase(o.tensor);
    }
    for (const RoutineStep::Result& result : r.results)
      call.results.push_back({program_.info(result.target).name, result.wanted});
    session_->routine(call);
    for (std::size_t k = 0; k < r.results.size(); ++k) {
      if (r.results[k].wanted) tensors_[r.results[k].target] = std::move(call.results[k].tensor);
    }
  }

  void loop(const LoopStep& l) {
    plan::OpBuilder op(plan::OpClass::kLoop, l.name, l.site, session_->line());
    std::set<ValueId> read;
    for (const ValueId v : l.reads) {
      const std::size_t rank = program_.type(v).rank();
      if (rank > 0 && read.insert(v).second)
        session_->gathers(l.head, name_of(program_, v), record::dense_bytes(tensor(v).state()));
      op.read(tensor(v).id(), std::vector<plan::DimAccess>(rank, plan::whole()));
    }
    if (l.ordered) op.on_rank(0);
    op.flops(static_cast<double>(computed([&] { return host_.evaluate(l.flops); }).value_or(0)));
    std::vector<record::LoopOutput> outputs;
    for (const LoopStep::Result& r : l.results)
      outputs.push_back({name_of(program_, r.target), element_type(r.target), shape(r.target), r.continues});
    std::vector<record::TensorHandle> results = session_->loop(std::move(op.op()), std::move(outputs));
    for (std::size_t k = 0; k < results.size(); ++k) tensors_[l.results[k].target] = std::move(results[k]);
  }

  void print(const PrintStep& p) {
    std::vector<const record::TensorState*> tensors;
    for (const auto& item : p.items) {
      const auto* v = std::get_if<ValueId>(&item);
      if (v != nullptr && !program_.is_host(*v)) tensors.push_back(&tensor(*v).state());
    }
    session_->collect("print", tensors, p.site);
  }

  void check(const CheckStep& c) {
    const auto left = computed([&] { return host_.evaluate_exactly(c.check.left); });
    const auto right = computed([&] { return host_.evaluate_exactly(c.check.right); });
    if (!left || !right || (c.check.guard && !is_true(*c.check.guard))) return;
    c.check.relation == ir::Check::Relation::kEqual
        ? session_->check_equal(session_->line(), *left, *right, c.check.message)
        : session_->check_at_most(session_->line(), *left, *right, c.check.message);
  }

  void copy(const CopyStep& c) {
    if (program_.is_host(c.target)) return assign(c.target, host_.get(c.source));
    record::TensorHandle source = tensor(c.source);
    if (c.move) tensors_.erase(c.source);
    tensors_[c.target] = std::move(source);
  }

  // --- Control flow

  void for_loop(const ForStep& f) {
    const auto begin = host_.get(f.begin);
    const auto end = host_.get(f.end);
    if (!begin || !end)
      session_->stop(
          "the loop's range depends on computed data, so there is no plan before the program runs [unknown-size]");
    const plan::Index step = f.every ? number(Extent::of(*f.every)) : f.step;
    session_->control.for_loop(f.known, std::get<std::int64_t>(*begin), std::get<std::int64_t>(*end), step,
                               [&](plan::Index i) {
                                 host_.set(f.index, i);
                                 steps(f.body);
                               });
  }

  void while_loop(const WhileStep& w) {
    const auto condition = [&] {
      steps(w.condition);
      const auto value = host_.get(w.condition_value);
      return !value || std::get<bool>(*value);
    };
    session_->control.while_loop(w.known, condition, [&](plan::Index iteration) {
      host_.set(w.iteration, iteration);
      steps(w.body);
    });
  }

  void branch(const IfStep& i) {
    const auto condition = host_.get(i.condition);
    session_->control.if_else(
        i.known, i.site, !condition || std::get<bool>(*condition), [&] { steps(i.then_steps); },
        [&] { steps(i.else_steps); });
  }

  void choose(const ChooseStep& c) {
    const SourceRange place = session_->place();
    std::vector<record::Control::Branch> forms;
    for (std::size_t k = 0; k < c.forms.size(); ++k) {
      forms.emplace_back([this, &c, k, place] {
        session_->move_to(place);
        session_->note(fmt::format("form {} of {}: {}", k + 1, c.forms.size(), c.names[k]));
        steps(c.forms[k]);
      });
    }
    session_->control.choose(c.site, forms);
  }

  const OperationProgram& program_;
  const WalkRequest& request_;
  record::Recorder& recorder_;
  HostEvaluator host_;
  std::optional<PlanSession> session_;  ///< of the current run
  OperationObserver* observer_ = nullptr;
  std::map<ValueId, record::TensorHandle> tensors_;
};

Walk::Walk(const OperationProgram& program, const WalkRequest& request, record::Recorder& recorder)
    : body_(std::make_unique<Body>(program, request, recorder)) {}
Walk::~Walk() = default;

void Walk::run(record::Control& control, const Note& note) { body_->run(control, note); }
SourceRange Walk::place() const { return body_->place(); }
void Walk::observe(OperationObserver* observer) { body_->observe(observer); }

record::Recording recording_of(const OperationProgram& program, const WalkRequest& request,
                               OperationObserver* observer) {
  return [&program, &request, observer](record::Recorder& recorder, record::Control& control) {
    Walk walk(program, request, recorder);
    walk.observe(observer);
    walk.run(control, [](SourceRange, const std::string&) {});
  };
}

}  // namespace tdsl::codegen
