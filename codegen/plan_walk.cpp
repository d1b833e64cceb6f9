#include "codegen/plan_walk.h"

#include <stdexcept>

#include <fmt/format.h>

#include "codegen/describe.h"
#include "codegen/host_evaluator.h"
#include "ir/check.h"
#include "runtime/check.h"
#include "runtime/plan/last_uses.h"
#include "runtime/plan/op_builder.h"
#include "runtime/size.h"

namespace tdsl::codegen {

namespace {

using ir::match;

/// Recorded operations are planned at the latest when so many are waiting (as the session does).
constexpr std::size_t kSegmentLimit = 256;

class PlanWalk {
 public:
  PlanWalk(const FamilyProgram& program, const PlanWalkRequest& request, const PlanWalkEvents& events)
      : program_(program), request_(request), events_(events), host_(program), planner_(request.inputs) {}

  PlanWalkResult run() {
    steps(program_.steps);
    flush();
    return {planner_.hash(), planner_.largest_step(), planner_.needed_memory()};
  }

 private:
  void steps(const Steps& list) {
    for (const Step& s : list) step(s);
  }

  void step(const Step& s) {
    line_ = static_cast<int>(s.range.line);
    place_ = s.range;
    match(
        s.op, [&](const HostStep& h) { assign(h.target, host_.evaluate(h.value, s.range)); },
        [&](const DimensionStep& d) { dimension(d); }, [&](const ParamStep& p) { param(p); },
        [&](const InputStep& i) { whole_tensor(plan::OpClass::kLoad, i.target, i.name, i.site); },
        [&](const RandomStep& r) {
          whole_tensor(plan::OpClass::kSource, r.target, program_.info(r.target).name, r.site);
        },
        [&](const OperationStep& o) { record(o.target, instantiate(*o.op, line_, number_, tensor_)); },
        [&](const LoopStep& l) { loop(l); },
        [&](const ControlReadStep& c) { control_read(c); }, [&](const CopyStep& c) { copy(c); },
        [&](const GathersStep& g) {
          if (request_.inputs.ranks > 1 && number(g.bytes) > plan::kGatheredBytes) events_.note(s.range, plan::gathered_text(g.routine, g.operand, number(g.bytes)));
        },
        [&](const DistributesStep& d) { assign(d.target, plan::distributes(request_.factorise, request_.inputs.deciding_ranks(), number(d.bytes))); },
        [&](const IndirectQrStep& q) {
          const bool tried = plan::indirect_qr(request_.factorise, request_.inputs.deciding_ranks(), number(q.rows), number(q.columns), number(q.blocks));
          assign(q.target, tried);
        },
        [](const DeclareStep&) {}, [](const SubscriptStep&) {}, [&](const ForStep& f) { for_loop(f); },
        [&](const WhileStep& w) { while_loop(w, s.range); }, [&](const IfStep& i) { branch(i, s.range); },
        [&](const PrintStep& p) {
          std::vector<ValueId> tensors;
          for (const auto& item : p.items) {
            const auto* v = std::get_if<ValueId>(&item);
            if (v != nullptr && !program_.is_host(*v)) tensors.push_back(*v);
          }
          collect("print", tensors, p.site);
        },
        [&](const AssertStep& a) {
          if (!program_.is_host(a.condition)) collect("assert", {a.condition}, a.site);
        },
        [&](const CheckStep& c) { check(c); }, [&](const OutputStep& o) { output(o); },
        [&](const ReleaseStep& r) { drop(r.value); });
  }

  [[noreturn]] void fail(const std::string& message) const {
    const std::string file = place_.file < program_.files.size() ? program_.files[place_.file] : program_.name;
    throw rt::RunError({file, line_}, message);
  }

  void assign(ValueId v, const std::optional<ir::Literal>& value) {
    value ? host_.set(v, *value) : host_.set_unknown(v);
  }

  void dimension(const DimensionStep& d) {
    const auto found = request_.dimensions.find(d.name);
    if (found == request_.dimensions.end()) {
      fail(fmt::format("the extent of {} is not known: give a file, or --set {}=N", d.name, d.name));
    }
    host_.set(d.target, found->second);
  }

  void param(const ParamStep& p) {
    const auto found = request_.params.find(p.name);
    if (found != request_.params.end()) return host_.set(p.target, found->second);
    if (p.computed_default) return assign(p.target, host_.get(*p.computed_default));
    if (!p.default_value) fail(fmt::format("the param {} has no default: give --set {}=VALUE", p.name, p.name));
    host_.set(p.target, *p.default_value);
  }

  std::int64_t number(const Extent& e) const {
    const auto value = computed([&] { return host_.evaluate(e); });
    if (!value) fail("a size or range depends on computed data, so there is no plan before the program runs");
    return *value;
  }

  /// What `f` computes of sizes; a division by 0 in it is the program's error.
  template <class F>
  auto computed(const F& f) const -> decltype(f()) {
    try {
      return f();
    } catch (const std::domain_error& error) {
      fail(error.what());
    }
  }

  void require_size(const std::string& name, ir::Scalar scalar, const std::vector<plan::Index>& shape) const {
    if (!rt::is_legal_size(shape, ir::size_of(scalar))) fail(rt::too_large_text(name, ir::name_of(scalar), shape));
  }

  plan::TensorId tensor(ValueId v) const {
    const auto found = tensors_.find(v);
    TDSL_CHECK(found != tensors_.end(), "an operand has been recorded");
    return found->second;
  }

  void record(ValueId target, plan::Op op) {
    const ir::Scalar scalar = program_.type(target).scalar;
    require_size(op.name, scalar, op.shape);
    const plan::TensorId id = planner_.new_tensor();
    op.outputs = {{id, {ir::size_of(scalar), ir::name_of(scalar).data()}, op.shape, op.name, op.tile}};
    tensors_[target] = id;
    ++names_[id];
    pending_.push_back(std::move(op));
    if (pending_.size() >= kSegmentLimit) flush();
  }

  void loop(const LoopStep& l) {
    plan::OpBuilder builder(plan::OpClass::kLoop, l.name, l.site, line_);
    for (const AccessTemplate& a : l.reads) builder.read(tensor(a.tensor), std::vector<plan::DimAccess>(a.dims.size(), plan::whole()), a.text);
    if (l.ordered) builder.on_rank(0);
    builder.flops(static_cast<double>(computed([&] { return host_.evaluate(l.flops); }).value_or(0)));
    plan::Op& op = builder.op();
    for (const LoopStep::Result& r : l.results) {
      const ir::Type& type = program_.type(r.target);
      std::vector<plan::Index> shape;
      for (const Extent& e : type.shape) shape.push_back(number(e));
      require_size(name_of(program_, r.target), type.scalar, shape);
      const plan::TensorId id = planner_.new_tensor();
      op.outputs.push_back({id, {ir::size_of(type.scalar), ir::name_of(type.scalar).data()}, std::move(shape), name_of(program_, r.target)});
      op.continues.push_back(r.continues);
      tensors_[r.target] = id;
      ++names_[id];
    }
    pending_.push_back(std::move(op));
    if (pending_.size() >= kSegmentLimit) flush();
  }

  void whole_tensor(plan::OpClass op_class, ValueId target, const std::string& name, int site) {
    plan::OpBuilder op(op_class, name, site, line_);
    const std::vector<Extent>& shape = program_.type(target).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) op.out("i" + std::to_string(d), number(shape[d]));
    std::vector<plan::Index> tile;
    for (const Extent& e : program_.info(target).tile) tile.push_back(number(e));
    op.flops(0).tile(std::move(tile));
    record(target, op.op());
  }

  void control_read(const ControlReadStep& c) {
    plan::OpBuilder op(plan::OpClass::kControl, program_.info(c.tensor).name, c.site, line_);
    op.read(tensor(c.tensor), {}, program_.info(c.tensor).name).replicated().flops(0);
    const plan::TensorId id = planner_.new_tensor();
    const ir::Scalar scalar = program_.type(c.tensor).scalar;
    op.op().outputs = {{id, {ir::size_of(scalar), ir::name_of(scalar).data()}, {}, "control"}};
    pending_.push_back(op.op());
    flush();
    drop_tensor(id);
    host_.set_unknown(c.target);
  }

  void collect(const std::string& name, const std::vector<ValueId>& values, int site) {
    plan::OpBuilder op(plan::OpClass::kCollect, name, site, line_);
    op.write({}, {}).on_rank(0).flops(0);
    for (const ValueId v : values) {
      // A summary shows the first and last three of every long dimension: at most 6 per dimension.
      std::vector<plan::DimAccess> dims;
      for (const Extent& e : program_.type(v).shape) dims.push_back(plan::fixed(0, std::min<std::int64_t>(number(e), 6)));
      op.read(tensor(v), std::move(dims));
    }
    pending_.push_back(op.op());
    flush();
  }

  void output(const OutputStep& o) {
    if (!request_.files.contains(o.name)) return collect(o.name, {o.value}, o.site);
    plan::OpBuilder op(plan::OpClass::kStore, o.name, o.site, line_);
    std::vector<plan::DimAccess> dims;
    const std::vector<Extent>& shape = program_.type(o.value).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      op.out("i" + std::to_string(d), number(shape[d]));
      dims.push_back(plan::at(static_cast<int>(d)));
    }
    op.read(tensor(o.value), std::move(dims), o.name).flops(0);
    pending_.push_back(op.op());
    flush();
  }

  void check(const CheckStep& c) {
    const auto left = computed([&] { return host_.evaluate_exactly(c.check.left); });
    const auto right = computed([&] { return host_.evaluate_exactly(c.check.right); });
    if (!left || !right || (c.check.guard && !is_true(*c.check.guard))) return;
    const bool holds = c.check.relation == ir::Check::Relation::kEqual ? *left == *right : *left <= *right;
    if (!holds) fail(rt::with_sizes(c.check.message, *left, *right));
  }

  /// Whether a bool scalar is known and true.
  [[nodiscard]] bool is_true(ValueId v) const {
    const std::optional<ir::Literal> value = host_.get(v);
    return value && std::holds_alternative<bool>(*value) && std::get<bool>(*value);
  }

  void copy(const CopyStep& c) {
    if (program_.is_host(c.target)) return assign(c.target, host_.get(c.source));
    const plan::TensorId id = tensor(c.source);
    ++names_[id];
    drop(c.target);
    if (c.move) drop(c.source);
    tensors_[c.target] = id;
  }

  /// One name less for the tensor that `v` names, if it names one.
  void drop(ValueId v) {
    const auto found = tensors_.find(v);
    if (found == tensors_.end()) return;
    const plan::TensorId id = found->second;
    tensors_.erase(found);
    if (--names_[id] == 0) drop_tensor(id);
  }
  void drop_tensor(plan::TensorId id) { dropped_.push_back(id); }

  void flush() {
    const auto planned = planner_.plan(std::exchange(pending_, {}), dropped_);
    std::vector<plan::TensorId> ended;
    for (const auto& op : planned) {
      for (const plan::TensorDesc& o : op->op.outputs) {
        const bool partial = op->part == 0 && !names_.contains(o.id) && op->op.op_class != plan::OpClass::kControl;
        if (partial) ended.push_back(o.id);
      }
    }
    ended.insert(ended.end(), dropped_.begin(), dropped_.end());
    dropped_.clear();
    const plan::LastUses uses = plan::last_uses(planned, ended);
    for (const plan::TensorId id : uses.unused) end(id);
    for (std::size_t k = 0; k < planned.size(); ++k) {
      events_.planned(*planned[k], planner_, uses.after[k]);
      for (const plan::TensorId id : uses.after[k]) end(id);
    }
  }

  void end(plan::TensorId id) {
    if (planner_.forget(id)) return;
    events_.dropped(id);
    planner_.erase(id);
  }

  void for_loop(const ForStep& f) {
    const auto begin = host_.get(f.begin);
    const auto end = host_.get(f.end);
    if (!begin || !end) fail("the loop's range depends on computed data, so there is no plan before the program runs");
    std::int64_t done = 0;
    const SourceRange range = place_;
    const std::int64_t past = std::get<std::int64_t>(*end);
    for (std::int64_t i = std::get<std::int64_t>(*begin); f.step > 0 ? i < past : i > past; i = rt::advanced(i, f.step)) {
      if (done++ == request_.loop_limit) {
        events_.note(range, fmt::format("only the first {} iterations of this loop are shown", request_.loop_limit));
        return;
      }
      host_.set(f.index, i);
      steps(f.body);
      flush();
    }
  }

  void while_loop(const WhileStep& w, SourceRange range) {
    for (std::int64_t done = 0; done < request_.loop_limit; ++done) {
      host_.set(w.iteration, done);
      steps(w.condition);
      const auto condition = host_.get(w.condition_value);
      if (condition && !std::get<bool>(*condition)) return;
      if (!condition && done == 1) {
        events_.note(range, "how often this loop runs depends on data: one iteration is shown");
        return;
      }
      steps(w.body);
      flush();
    }
    events_.note(range, fmt::format("only the first {} iterations of this loop are shown", request_.loop_limit));
  }

  void branch(const IfStep& i, SourceRange range) {
    const auto condition = host_.get(i.condition);
    if (!condition) events_.note(range, "which branch is taken depends on data: the first is shown");
    steps(!condition || std::get<bool>(*condition) ? i.then_steps : i.else_steps);
  }

  const FamilyProgram& program_;
  const PlanWalkRequest& request_;
  const PlanWalkEvents& events_;
  HostEvaluator host_;
  plan::Planner planner_;
  std::map<ValueId, plan::TensorId> tensors_;
  std::map<plan::TensorId, int> names_;
  std::vector<plan::Op> pending_;
  std::vector<plan::TensorId> dropped_;
  int line_ = 0;
  SourceRange place_;
  const std::function<std::int64_t(const Extent&)> number_ = [this](const Extent& e) { return number(e); };
  const std::function<plan::TensorId(ValueId)> tensor_ = [this](ValueId v) { return tensor(v); };
};

}  // namespace

PlanWalkResult walk_plan(const FamilyProgram& program, const PlanWalkRequest& request, const PlanWalkEvents& events) {
  return PlanWalk(program, request, events).run();
}

}  // namespace tdsl::codegen
