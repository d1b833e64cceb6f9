#include "codegen/families/plan_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "codegen/families/host_evaluator.h"
#include "codegen/lower/routine.h"
#include "codegen/relations/describe.h"
#include "ir/graph/check.h"
#include "runtime/check.h"
#include "runtime/plan/op_builder.h"
#include "runtime/record/chain.h"
#include "runtime/record/sum_of_products.h"
#include "runtime/record/survey.h"
#include "runtime/routines/algorithms/routine.h"
#include "runtime/size.h"
#include "runtime/types.h"

namespace tdsl::codegen {

using ir::match;

class Walk::Body {
 public:
  Body(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder)
      : program_(program), request_(request), recorder_(recorder), host_(program) {}

  void run(record::Control& control, const Note& note) {
    control_ = &control;
    note_ = &note;
    steps(program_.steps);
    tensors_.clear();
    recorder_.flush();
  }
  [[nodiscard]] SourceRange place() const { return place_; }
  void observe(OperationObserver* observer) { observer_ = observer; }

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
        [&](const InputStep& i) {
          if (program_.type(i.target).is_compressed())
            require_stored_size(i.name, element_type(i.target), shape(i.target));
          else
            require_size(i.name, element_type(i.target), shape(i.target));
          tensors_[i.target] = input(i);
        },
        [&](const RandomStep& r) {
          require_size(name_of(program_, r.target), element_type(r.target), shape(r.target));
          tensors_[r.target] = program_.type(r.target).is_compressed()
                                   ? sprandom(r)
                                   : recorder_.source(name_of(program_, r.target), element_type(r.target),
                                                      shape(r.target), tile(r.target), at(r.site));
        },
        [&](const OperationStep& o) { operation(o); }, [&](const ChainStep& c) { chain(c); },
        [&](const RoutineStep& r) { routine(r); }, [&](const LoopStep& l) { loop(l); },
        [&](const ControlReadStep& c) { control_read(c); }, [&](const CopyStep& c) { copy(c); },
        [&](const GathersStep& g) { gathers(g.routine, g.operand, number(g.bytes)); }, [](const DeclareStep&) {},
        [](const SubscriptStep&) {}, [&](const ForStep& f) { for_loop(f); }, [&](const WhileStep& w) { while_loop(w); },
        [&](const IfStep& i) { branch(i); }, [&](const ChooseStep& c) { choose(c); },
        [&](const FenceStep&) { control_->fence(line_); },
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
        [&](const ReleaseStep& r) { tensors_.erase(r.value); });
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

  record::TensorHandle input(const InputStep& i) {
    const std::vector<plan::Index> extents = shape(i.target);
    if (!program_.type(i.target).is_compressed())
      return recorder_.load(i.name, element_type(i.target), extents, tile(i.target), at(i.site));
    const auto known = request_.stored.find(i.name);
    StoredInput stored{plan::guessed_stored(extents)};
    if (known != request_.stored.end()) {
      const double all = stored.elements.hi;
      stored = known->second;
      stored.elements = {std::min(stored.elements.lo, all), std::min(stored.elements.expected, all),
                         std::min(stored.elements.hi, all)};
      if (stored.rows && stored.rows->rows != extents[0])
        stored.rows = nullptr;  // another operand made the matrix longer than its file
    } else if (stored.elements.hi > 0) {
      (*note_)(place_, fmt::format("no file says how many elements of `{}` are stored: {:.0f} are assumed, {:.2g} %, "
                                   "and in peaks all; --set {}.stored=N says otherwise",
                                   i.name, stored.elements.expected,
                                   100 * stored.elements.expected / stored.elements.hi, i.name));
    }
    return recorder_.load_stored(i.name, element_type(i.target), extents, stored.elements, std::move(stored.rows),
                                 tile(i.target), at(i.site));
  }

  record::TensorHandle sprandom(const RandomStep& r) {
    const std::vector<plan::Index> extents = shape(r.target);
    const auto density = host_.get(r.random.iterations.back());
    const plan::Estimate stored =
        density ? plan::drawn_stored(extents, std::get<double>(*density)) : plan::guessed_stored(extents);
    return recorder_.stored_source(name_of(program_, r.target), element_type(r.target), extents, stored, tile(r.target),
                                   at(r.site));
  }

  std::int64_t number(const Extent& e) const {
    const auto value = computed([&] { return host_.evaluate(e); });
    if (!value) fail("a size or range depends on computed data, so there is no plan before the program runs");
    return *value;
  }

  /// Evaluates `f` on sizes; a division by 0 is an error of the program.
  template <class F>
  auto computed(const F& f) const -> decltype(f()) {
    try {
      return f();
    } catch (const std::domain_error& error) { fail(error.what()); }
  }

  void require_size(const std::string& name, record::ElementType type, const std::vector<plan::Index>& shape) const {
    const auto bytes = static_cast<plan::Index>(element_size(type));
    if (!rt::is_legal_size(shape, bytes)) fail(rt::too_large_text(name, element_name(type), shape));
  }
  void require_stored_size(const std::string& name, record::ElementType type,
                           const std::vector<plan::Index>& shape) const {
    if (!rt::is_legal_stored_size(shape)) fail(rt::too_large_text(name, element_name(type), shape, true));
  }

  [[nodiscard]] const record::TensorHandle& tensor(ValueId v) const {
    const auto found = tensors_.find(v);
    TDSL_CHECK(found != tensors_.end(), "an operand has been recorded");
    return found->second;
  }

  [[nodiscard]] record::ElementType element_type(ValueId v) const {
    return *rt::element_type_named(ir::name_of(program_.type(v).scalar));
  }
  [[nodiscard]] std::vector<plan::Index> numbers(const std::vector<Extent>& extents) const {
    std::vector<plan::Index> list;
    for (const Extent& e : extents) list.push_back(number(e));
    return list;
  }
  [[nodiscard]] std::vector<plan::Index> shape(ValueId v) const { return numbers(program_.type(v).shape); }
  [[nodiscard]] std::vector<plan::Index> tile(ValueId v) const { return numbers(program_.info(v).tile); }
  [[nodiscard]] record::Place at(int site) const { return {site, line_}; }

  void operation(const OperationStep& o) {
    plan::Op op = instantiate(
        *o.op, line_, [this](const Extent& e) { return number(e); },
        [this](ValueId v) -> const plan::TensorDesc& { return tensor(v).desc(); });
    if (o.op->in_any_order) return sum_of_products(o, std::move(op));
    for (const plan::LabelDesc& l : op.labels) {
      if (!rt::is_countable(l.range.lo, l.range.hi)) fail(rt::uncountable_text(l.name));
    }
    record::drop_empty_sum(op);
    if (!op.outputs.empty() && op.outputs.front().sized())
      require_stored_size(op.name, element_type(o.target), op.shape);
    else
      require_size(op.name, element_type(o.target), op.shape);
    tensors_[o.target] = recorder_.record(std::move(op), element_type(o.target));
    if (observer_ != nullptr) observer_->emitted(tensor(o.target).id(), o, host_);
  }

  void sum_of_products(const OperationStep& o, plan::Op whole) {
    record::SumOfProducts sum{std::move(whole), {}};
    for (const SymbolicAccess& a : o.op->reads) sum.names.push_back(tensor(a.tensor).state().desc.name);
    const record::ElementType type = element_type(o.target);
    const SourceRange place = place_;
    const auto one = [&](plan::OpBuilder& op) {
      require_size(op.op().name, type, op.op().shape);
      const plan::Op recorded = op.op();
      record::TensorHandle made = recorder_.record(std::move(op.op()), type);
      if (observer_ != nullptr) observer_->product(made.id(), recorded, program_.type(o.target).scalar);
      return made;
    };
    tensors_[o.target] = record::record_sum(sum, {*control_, one, [&](const std::string& text) {
                                                    (*note_)(place, "the sum of products runs as " + text);
                                                  }});
  }

  void chain(const ChainStep& c) {
    record::ProductChain products{c.name, {}, numbers(c.sizes), numbers(c.tile), at(c.site)};
    for (const ir::Chain::Factor& f : c.factors) products.factors.emplace_back(tensor(f.tensor), f.transposed);
    tensors_[c.target] = record::record_chain(products, [&](plan::OpBuilder& op) {
      require_size(op.op().name, element_type(c.target), op.op().shape);
      return recorder_.record(std::move(op.op()), element_type(c.target));
    });
  }

  /// The plan walk's interface to routines.
  class RoutineCaller : public rt::routines::Caller {
   public:
    explicit RoutineCaller(Body& walk) : walk_(walk) {}

    record::TensorHandle record(plan::OpBuilder& op, record::ElementType type,
                                const rt::routines::KernelCall&) override {
      walk_.require_size(op.op().name, type, op.op().shape);
      return walk_.recorder_.record(std::move(op.op()), type);
    }
    record::Control& control() override { return *walk_.control_; }
    std::optional<double> read(const record::TensorHandle& scalar, record::Place place) override {
      static_cast<void>(walk_.recorder_.control(scalar, place));
      const record::ElementType type = scalar.state().type;
      const std::optional<ir::Literal> value = walk_.value_read(type);
      return value ? std::optional(std::get<double>(*value)) : std::nullopt;
    }
    bool distributes(plan::Index bytes) const override {
      return plan::distributes(walk_.request_.factorise, walk_.request_.deciding_ranks, bytes);
    }
    bool indirect_qr(plan::Index rows, plan::Index columns, plan::Index blocks) const override {
      return plan::indirect_qr(walk_.request_.factorise, walk_.request_.deciding_ranks, rows, columns, blocks);
    }
    void gathers(std::string_view routine, std::string_view operand, plan::Index bytes, int) override {
      walk_.gathers(routine, operand, bytes);
    }

   private:
    Body& walk_;
  };

  void gathers(std::string_view routine, std::string_view operand, plan::Index bytes) {
    if (request_.ranks <= 1 || bytes <= plan::kGatheredBytes || program_.silent.contains({place_.file, place_.line}))
      return;
    (*note_)(place_, plan::gathered_text(std::string(routine), std::string(operand), bytes));
  }

  void routine(const RoutineStep& r) {
    rt::routines::Call call{library_routine(r.kind), {}, {}, {r.site, line_, r.known, r.branch}, r.axis,
                            number(r.count)};
    for (const RoutineStep::Operand& o : r.operands) {
      call.operands.push_back(tensor(o.tensor));
      if (o.ends) tensors_.erase(o.tensor);
    }
    for (const RoutineStep::Result& result : r.results)
      call.results.push_back({program_.info(result.target).name, result.wanted});
    RoutineCaller caller(*this);
    rt::routines::record_routine(caller, call);
    for (std::size_t k = 0; k < r.results.size(); ++k) {
      if (r.results[k].wanted) tensors_[r.results[k].target] = std::move(call.results[k].tensor);
    }
  }

  void loop(const LoopStep& l) {
    plan::OpBuilder op(plan::OpClass::kLoop, l.name, l.site, line_);
    for (const ValueId v : l.reads)
      op.read(tensor(v).id(), std::vector<plan::DimAccess>(program_.type(v).rank(), plan::whole()));
    if (l.ordered) op.on_rank(0);
    op.flops(static_cast<double>(computed([&] { return host_.evaluate(l.flops); }).value_or(0)));
    std::vector<record::LoopOutput> outputs;
    for (const LoopStep::Result& r : l.results) {
      outputs.push_back({name_of(program_, r.target), element_type(r.target), shape(r.target), r.continues});
      require_size(outputs.back().name, outputs.back().type, outputs.back().shape);
    }
    std::vector<record::TensorHandle> results = recorder_.loop(std::move(op.op()), std::move(outputs));
    for (std::size_t k = 0; k < results.size(); ++k) tensors_[l.results[k].target] = std::move(results[k]);
  }

  void control_read(const ControlReadStep& c) {
    static_cast<void>(recorder_.control(tensor(c.tensor), at(c.site)));
    assign(c.target, value_read(element_type(c.target)));
  }

  /// Value of the last recorded control read, if known.
  [[nodiscard]] std::optional<ir::Literal> value_read(record::ElementType type) const {
    std::array<std::byte, sizeof(double)> value{};
    if (!control_->read(type, std::span(value).first(element_size(type)))) return std::nullopt;
    return literal_of(type, value.data());
  }

  static ir::Literal literal_of(record::ElementType type, const std::byte* bytes) {
    return rt::visit_element_type(type, [&](auto tag) -> ir::Literal {
      using T = typename decltype(tag)::type;
      T value;
      std::memcpy(&value, bytes, sizeof value);
      if constexpr (std::is_same_v<T, bool>) return value;
      if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
      if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(value);
    });
  }

  void collect(const std::string& name, const std::vector<ValueId>& values, int site) {
    std::vector<const record::TensorState*> tensors;
    for (const ValueId v : values) tensors.push_back(&tensor(v).state());
    recorder_.collect(name, tensors, at(site));
  }

  void output(const OutputStep& o) {
    if (!request_.files.contains(o.name)) return collect(o.name, {o.value}, o.site);
    recorder_.store(o.name, tensor(o.value), at(o.site), request_.row_files.contains(o.name));
  }

  void check(const CheckStep& c) {
    const auto left = computed([&] { return host_.evaluate_exactly(c.check.left); });
    const auto right = computed([&] { return host_.evaluate_exactly(c.check.right); });
    if (!left || !right || (c.check.guard && !is_true(*c.check.guard))) return;
    const bool holds = c.check.relation == ir::Check::Relation::kEqual ? rt::same_size(*left, *right) : *left <= *right;
    if (!holds) fail(rt::with_sizes(c.check.message, *left, *right));
  }

  /// True if a bool scalar is known to be true.
  [[nodiscard]] bool is_true(ValueId v) const {
    const std::optional<ir::Literal> value = host_.get(v);
    return value && std::holds_alternative<bool>(*value) && std::get<bool>(*value);
  }

  void copy(const CopyStep& c) {
    if (program_.is_host(c.target)) return assign(c.target, host_.get(c.source));
    record::TensorHandle source = tensor(c.source);
    if (c.move) tensors_.erase(c.source);
    tensors_[c.target] = std::move(source);
  }

  void for_loop(const ForStep& f) {
    const auto begin = host_.get(f.begin);
    const auto end = host_.get(f.end);
    if (!begin || !end) fail("the loop's range depends on computed data, so there is no plan before the program runs");
    control_->for_loop(f.known, std::get<std::int64_t>(*begin), std::get<std::int64_t>(*end), f.step,
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
    control_->while_loop(w.known, condition, [&](plan::Index iteration) {
      host_.set(w.iteration, iteration);
      steps(w.body);
    });
  }

  void branch(const IfStep& i) {
    const auto condition = host_.get(i.condition);
    control_->if_else(
        i.known, i.site, !condition || std::get<bool>(*condition), [&] { steps(i.then_steps); },
        [&] { steps(i.else_steps); });
  }

  void choose(const ChooseStep& c) {
    const SourceRange place = place_;
    std::vector<record::Control::Branch> forms;
    for (std::size_t k = 0; k < c.forms.size(); ++k) {
      forms.emplace_back([this, &c, k, place] {
        (*note_)(place, fmt::format("form {} of {}: {}", k + 1, c.forms.size(), c.names[k]));
        steps(c.forms[k]);
      });
    }
    control_->choose(c.site, forms);
  }

  const FamilyProgram& program_;
  const WalkRequest& request_;
  record::Recorder& recorder_;
  record::Control* control_ = nullptr;
  const Note* note_ = nullptr;
  HostEvaluator host_;
  OperationObserver* observer_ = nullptr;
  std::map<ValueId, record::TensorHandle> tensors_;
  int line_ = 0;
  SourceRange place_;
};

Walk::Walk(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder)
    : body_(std::make_unique<Body>(program, request, recorder)) {}
Walk::~Walk() = default;

void Walk::run(record::Control& control, const Note& note) { body_->run(control, note); }
SourceRange Walk::place() const { return body_->place(); }
void Walk::observe(OperationObserver* observer) { body_->observe(observer); }

namespace {

/// Limit on the iterations followed per loop; loops over scalars, whose values are needed later, are followed further.
constexpr plan::Index kShownIterations = 1000;
constexpr plan::Index limit_of(record::Loop loop) {
  return loop.records ? kShownIterations : record::kScalarIterations;
}

/// Runs the program as written, as far as its values are known.
class ShownControl : public record::Control {
 public:
  ShownControl(const Walk& walk, record::Recorder& recorder, const Note& note, const record::Forms& forms)
      : walk_(walk), recorder_(recorder), note_(note), forms_(forms) {}

  void for_loop(record::Loop loop, plan::Index begin, plan::Index end, plan::Index step, const Body& body) override {
    const SourceRange place = walk_.place();
    plan::Index done = 0;
    for (plan::Index i = begin; step > 0 ? i < end : i > end; i = rt::advanced(i, step)) {
      if (done++ == limit_of(loop)) return cut(place, limit_of(loop));
      body(i);
      recorder_.flush();
    }
  }

  void while_loop(record::Loop loop, const Condition& condition, const Body& body) override {
    const SourceRange place = walk_.place();
    for (plan::Index done = 0; done < limit_of(loop); ++done) {
      const bool runs = condition();
      if (loop.range == record::Known::kData && done == 1)
        return note_(place, "how often this loop runs depends on data: one iteration is shown");
      if (!runs && loop.range != record::Known::kData) return;
      body(done);
      recorder_.flush();
    }
    cut(place, limit_of(loop));
  }

  void if_else(record::Known known, int, bool condition, const Branch& then_branch,
               const Branch& else_branch) override {
    const bool open = known == record::Known::kData;
    if (open) note_(walk_.place(), "which branch is taken depends on data: the first is shown");
    open || condition ? then_branch() : else_branch();
  }

  void fence(int) override {}
  void choose(int site, std::span<const Branch> forms) override { forms[forms_.form(site, forms.size())](); }
  bool read(record::ElementType, std::span<std::byte>) override { return false; }

 private:
  void cut(SourceRange place, plan::Index limit) const {
    note_(place, fmt::format("only the first {} iterations of this loop are shown", limit));
  }

  const Walk& walk_;
  record::Recorder& recorder_;
  const Note& note_;
  const record::Forms& forms_;
};

}  // namespace

void walk_as_shown(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder,
                   const Note& note, const record::Forms& forms) {
  Walk walk(program, request, recorder);
  ShownControl control(walk, recorder, note, forms);
  walk.run(control, note);
}

record::Recording recording_of(const FamilyProgram& program, const WalkRequest& request, OperationObserver* observer) {
  return [&program, &request, observer](record::Recorder& recorder, record::Control& control) {
    Walk walk(program, request, recorder);
    walk.observe(observer);
    walk.run(control, [](SourceRange, const std::string&) {});
  };
}

}  // namespace tdsl::codegen
