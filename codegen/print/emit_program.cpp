#include "codegen/print/emit_program.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "codegen/lower/epilogue.h"
#include "codegen/nest/increments.h"
#include "codegen/operations/describe.h"
#include "codegen/print/called_functions.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/emit_foreign.h"
#include "codegen/print/emit_loop.h"
#include "codegen/print/emit_op.h"
#include "codegen/print/emit_rearranged.h"
#include "codegen/print/kernel_functions.h"
#include "codegen/print/names.h"
#include "codegen/print/variables.h"
#include "codegen/print/writer.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/foreign.h"

namespace tdsl::codegen {

namespace {

using ir::match;

/// Weight of a recording step (KernelFunctions::weight).
constexpr double kStepWeight = 0.1;

class ProgramEmitter {
 public:
  ProgramEmitter(const OperationProgram& program, const EmitOptions& options, std::size_t units)
      : program_(program),
        options_(options),
        values_(program),
        plain_bounds_(plain_bounds(program)),
        expr_(
            {}, [this](ValueId v) { return name(v); }, nullptr),
        functions_([this](SourceRange range) { return source_comment(range); }),
        units_(units),
        kernels_(
            table_, [this](SourceRange range) { return source_comment(range); }, units,
            kStepWeight * static_cast<double>(program.steps.size())) {
    expr_.set_procedures([this](const ir::ProcedureRef& p) { return host_procedure(p); });
  }

  EmittedProgram run() {
    for (const Step& s : program_.steps)
      for_each_use(program_, s, [this](ValueId v) { used_.insert(values_.home(v)); });
    body_.indent();
    dimensions();
    for (const auto& [file, line] : program_.silent)
      body_.line("session.gathers_in_silence({});", place_text({.file = file, .line = line}));
    steps(program_.steps);
    Writer w;
    // Runs once and only records; without optimisation the file compiles in half the time.
    w.line("TDSL_RECORDING void program(rt::Session& session) {{");
    if (faults_) w.raw("  scalar::Faults faults;\n");
    w.raw(body_.text());
    w.line("}}");
    needs_.add(functions_.needs());
    needs_.add(kernels_.needs());
    EmittedProgram emitted{.program = w.text(),
                           .needs = std::move(needs_),
                           .headers = functions_.headers(),
                           .foreign_calls = functions_.foreign_calls(),
                           .counts = kernels_.counts(),
                           .weight = kernels_.weight()};
    emitted.counts.units = units_;
    const std::string procedures =
        functions_.text().empty() ? "" : "namespace fn {\n\n" + functions_.text() + "}  // namespace fn\n\n";
    for (std::size_t unit = 0; unit < units_; ++unit) {
      emitted.kernels.push_back(procedures + kernels_.text(unit));
      emitted.makers.push_back(kernels_.makers(unit));
    }
    return emitted;
  }

 private:
  /// The callee for a procedure in host code.
  std::string host_procedure(const ir::ProcedureRef& p) {
    functions_.start_code();
    const std::string name = functions_.procedure(p);
    return functions_.reported("foreign_function", name, place_);
  }

  std::string name(ValueId v) {
    std::string& name = names_[values_.home(v)];
    if (name.empty()) name = table_.claim(title_of(program_, values_.home(v)));
    return name;
  }
  [[nodiscard]] std::string_view type(ValueId v) const { return cpp_type(program_.type(v).scalar); }
  [[nodiscard]] bool used(ValueId v) const { return used_.contains(values_.home(v)); }
  /// True for the first step that defines the variable of `v`.
  bool declares(ValueId v) { return declared_.insert(values_.home(v)).second; }
  /// `auto x`, or `x` if the variable is already declared.
  std::string defined(ValueId v) { return (declares(v) ? "auto " : "") + name(v); }
  /// `const double x`, or `x` if the variable is already declared.
  std::string host_defined(ValueId v) {
    if (!declares(v)) return name(v);
    return fmt::format("{}{}{} {}", used(v) ? "" : "[[maybe_unused]] ", values_.changes(v) ? "" : "const ", type(v),
                       name(v));
  }
  void declare_tensor(ValueId v) {
    if (declares(v)) body_.declare(fmt::format("Tensor<{}>", type(v)), name(v));
  }
  static std::string line_of(const Step& s) { return place_text(s.range); }

  /// `n, m`
  std::string extents(const std::vector<Extent>& list) {
    std::string text;
    for (const Extent& e : list) text += (text.empty() ? "" : ", ") + expr_.text(e);
    return text;
  }
  /// `{n, m}`
  std::string shape(ValueId v) { return "{" + extents(program_.type(v).shape) + "}"; }
  /// `, {512, 256}` for an annotated tensor.
  std::string tile(const std::vector<Extent>& tile) { return tile.empty() ? "" : ", {" + extents(tile) + "}"; }
  std::string tile(ValueId v) { return tile(program_.info(v).tile); }
  static std::string visits(const CodedVisits& v) {
    return fmt::format("{{.walks = {}, .nests = {}, .counts = {}, .totals = {}, .weights = {}, .decoded = {}}}",
                       v.walks, v.nests, v.counts, v.totals, v.weights, v.decoded);
  }

  [[nodiscard]] std::string source_comment(SourceRange range) const {
    std::string file = range.file < program_.files.size() ? program_.files[range.file] : program_.name;
    file = file.substr(file.find_last_of('/') + 1);
    std::string text = options_.source_line ? options_.source_line(range.file, range.line) : "";
    const std::size_t first = text.find_first_not_of(" \t");
    text = first == std::string::npos ? "" : text.substr(first);
    return line_comment(fmt::format("{}:{}:{}{}", file, range.line, text.empty() ? "" : " ", text));
  }

  /// True for steps whose emitted statement repeats their source line, and therefore needs no comment.
  [[nodiscard]] static bool declares_itself(const Step& s) {
    const auto is = [&s]<class... T>() { return (std::holds_alternative<T>(s.op) || ...); };
    return is.operator()<ParamStep, DimensionStep, InputStep, OutputStep, PrintStep, CopyStep, ReleaseStep>();
  }

  /// Sizes from file headers, which are known before the program starts.
  void dimensions() {
    for (const Step& s : program_.steps) {
      const auto* d = std::get_if<DimensionStep>(&s.op);
      if (d == nullptr) continue;
      body_.declare("const Index", fmt::format("{} = session.dimension({})", name(d->target), string_literal(d->name)));
    }
  }

  void steps(const Steps& list) {
    for (std::size_t k = 0; k < list.size(); ++k) {
      const Step& s = list[k];
      place_ = s.range;
      if (s.range.known() && !declares_itself(s) && commented_.emplace(s.range.file, s.range.line).second)
        body_.line("{}", source_comment(s.range));
      if (const auto* o = std::get_if<OperationStep>(&s.op)) {
        k += with_releases(list, k, [&](std::vector<ValueId>& ends) {
          record(s, *o, ends);
          // The assignment releases the previous tensor of the variable.
          std::erase_if(ends, [&](ValueId v) { return v != o->target && values_.share(v, o->target); });
        });
        faults(s);
      } else if (const auto* l = std::get_if<LoopStep>(&s.op)) {
        k += with_releases(list, k, [&](std::vector<ValueId>& ends) { loop(s, *l, ends); });
        faults(s);
      } else if (const auto* output = std::get_if<OutputStep>(&s.op)) {
        k += this->output(list, k, *output);
        faults(s);
      } else {
        step(s);
      }
    }
  }

  /// A statement whose host arithmetic may fail is followed by a check for faults.
  void faults(const Step& s) {
    if (!expr_.reports_faults()) return;
    expr_.clear_faults();
    faults_ = true;
    needs_.add(Helper::kPlace);
    body_.line("if (faults.any()) rt::stop(place({}), faults.message());", line_of(s));
  }

  void step(const Step& s) {
    match(
        s.op, [&](const HostStep& h) { host(h); }, [](const DimensionStep&) {},
        [&](const FoundStep& f) {
          const std::string count = name(f.count);
          body_.line("const {} {} = {};", type(f.target), name(f.target),
                     f.name.empty()
                         ? count
                         : fmt::format("session.found({}, {}, {})", line_of(s), string_literal(f.name), count));
        },
        [&](const ParamStep& p) { param(p); },
        [&](const InputStep& i) {
          const ir::Type& stored = program_.type(i.target);
          const std::string_view method = stored.is_coded()        ? "coded_input"
                                          : stored.is_compressed() ? "stored_input"
                                                                   : "input";
          body_.line("{} = session.{}<{}>({}, {}, {}{}, {}{});", defined(i.target), method, type(i.target),
                     string_literal(i.name), shape(i.target), stored.is_coded() ? visits(i.visits) + ", " : "", i.site,
                     line_of(s), tile(i.target));
        },
        [&](const RandomStep& r) { random(s, r); }, [](const OperationStep&) {},
        [&](const ChainStep& c) { chain(s, c); }, [&](const RoutineStep& r) { routine(s, r); }, [](const LoopStep&) {},
        [&](const ControlReadStep& c) {
          body_.line("const {} {} = session.read({}, {}, {});", type(c.target), name(c.target), name(c.tensor), c.site,
                     line_of(s));
        },
        [&](const CopyStep& c) { copy(c); },
        [&](const GathersStep& g) {
          body_.line("session.gathers({}, \"\", {}, {});", line_of(s), string_literal(g.operand), expr_.text(g.bytes));
        },
        [&](const DeclareStep& d) {
          if (!program_.is_host(d.target)) return declare_tensor(d.target);
          if (declares(d.target)) body_.line("{} {}{{}};", type(d.target), name(d.target));
        },
        [&](const SubscriptStep& c) { body_.line("{}", subscript_check(c, line_of(s), expr_)); },
        [&](const ForStep& f) { for_loop(f); }, [&](const WhileStep& w) { while_loop(w); },
        [&](const IfStep& i) { branch(i); }, [&](const ChooseStep& c) { choose(c); },
        [&](const FenceStep&) { body_.line("session.fence({});", line_of(s)); },
        [&](const PrintStep& p) { print(s, p); },
        [&](const AssertStep& a) {
          const bool host = program_.is_host(a.condition);
          body_.line("session.check({}, {}, {}{});", line_of(s), name(a.condition), string_literal(a.message),
                     host ? "" : fmt::format(", {}", a.site));
        },
        [&](const CheckStep& c) {
          body_.line("{}session.{}({}, {}, {}, {});",
                     c.check.guard ? fmt::format("if ({}) ", name(*c.check.guard)) : "",
                     c.check.relation == ir::Check::Relation::kEqual ? "check_equal" : "check_at_most", line_of(s),
                     expr_.exact(c.check.left), expr_.exact(c.check.right), string_literal(c.check.message));
        },
        [](const OutputStep&) {}, [&](const ReleaseStep& r) { body_.line("{}.release();", name(r.value)); },
        [&](const TimeTileStep& t) { time_tile(t); });
    faults(s);
  }

  std::string bound(ValueId v) {
    const auto found = plain_bounds_.find(v);
    return found == plain_bounds_.end() ? name(v) : std::to_string(found->second);
  }

  void host(const HostStep& h) {
    if (plain_bounds_.contains(h.target)) return;
    const auto step =
        increment_of(h.value, [&](ValueId v) { return values_.share(v, h.target) && values_.counts(h.target); });
    if (step) return body_.line("{} {}= {};", name(h.target), *step < 0 ? "-" : "+", std::abs(*step));
    const std::string target = host_defined(h.target);
    body_.line("{} = {};", target, expr_.text(h.value));
  }

  void param(const ParamStep& p) {
    const ir::Scalar scalar = program_.type(p.target).scalar;
    const std::string value = p.computed_default ? ", " + name(*p.computed_default)
                              : p.default_value  ? ", " + cpp_constant(scalar, *p.default_value)
                                                 : "";
    body_.line("const {0} {1} = session.param<{0}>({2}{3});", type(p.target), name(p.target), string_literal(p.name),
               value);
  }

  void random(const Step& s, const RandomStep& r) {
    std::vector<ValueId> iterations = r.random.iterations;
    std::string method = fmt::format("random<{}>(rt::RandomKind::{}, ", type(r.target),
                                     r.random.kind == ir::Random::Kind::kUniform ? "kUniform" : "kNormal");
    std::string density;
    if (r.random.kind == ir::Random::Kind::kSparse) {
      method = program_.type(r.target).is_compressed() ? "stored_sprandom(" : "sprandom(";
      density = name(iterations.back()) + ", ";
      iterations.pop_back();
    }
    body_.line("{} = session.{}{}, {}, {}{}ULL, {{{}}}, {}, {}{});", defined(r.target), method,
               string_literal(name_of(program_, r.target)), shape(r.target), density, r.random.site,
               names_of(iterations), r.site, line_of(s), tile(r.target));
  }

  /// Prints step `k` and the releases that directly follow it. `print` removes operands that the step moves from the
  /// released tensors. Returns the number of these releases.
  std::size_t with_releases(const Steps& list, std::size_t k,
                            const std::function<void(std::vector<ValueId>& ends)>& print) {
    std::vector<ValueId> ends;
    std::size_t next = k + 1;
    for (; next < list.size(); ++next) {
      const auto* release = std::get_if<ReleaseStep>(&list[next].op);
      if (release == nullptr) break;
      ends.push_back(release->value);
    }
    print(ends);
    for (const ValueId v : ends) body_.line("{}.release();", name(v));
    return next - k - 1;
  }

  /// An output, which moves its tensor if the next step releases it. Returns the number of following steps that it
  /// replaces.
  std::size_t output(const Steps& list, std::size_t k, const OutputStep& o) {
    const auto* release = k + 1 < list.size() ? std::get_if<ReleaseStep>(&list[k + 1].op) : nullptr;
    const bool ends = release != nullptr && release->value == o.value;
    const std::string_view method = o.begins ? "begin_series" : o.record ? "append" : "output";
    body_.line("session.{}({}, {}, {}{}, {});", method, string_literal(o.name), moved_if(ends, o.value),
               o.record ? name(*o.record) + ", " : "", o.site, line_of(list[k]));
    return ends ? 1 : 0;
  }

  /// `auto y = session.map<double>(…);`
  void record(const Step& s, const OperationStep& o, std::vector<ValueId>& ends) {
    const plan::OpClass op_class = o.op->op_class;
    const auto operand = [&](std::size_t k) {
      const ValueId v = o.op->reads[k].tensor;
      const bool again = std::any_of(o.op->reads.begin() + static_cast<std::ptrdiff_t>(k) + 1, o.op->reads.end(),
                                     [&](const SymbolicAccess& a) { return a.tensor == v; });
      const bool last = !again && !is_read_by_both(o, v) && std::ranges::find(ends, v) != ends.end();
      return moved_if(last, v);
    };
    const bool contraction = op_class == plan::OpClass::kContraction || o.op->in_any_order;
    const auto kernel_argument = [&]() -> std::string {
      if ((contraction && !o.epilogue) || o.kernel->packed_from) return "";
      functions_.start_code();
      const std::string text = of_steps(o, kernel(s, o.epilogue ? *o.epilogue : o));
      return ", " + functions_.reported("foreign_kernel", text, s.range);
    };
    if (const auto arguments = short_arguments(o, expr_, operand)) {
      const std::string kernel_text = kernel_argument();
      mark(s.range);
      body_.line("{} = session.{}<{}>({{{}, {}, {}}}, {}{});", defined(o.target), method_of(o), type(o.target),
                 string_literal(o.op->name), o.op->site, line_of(s), *arguments, kernel_text);
      end_mark(s.range);
      for (const SymbolicAccess& a : o.op->reads) {
        if (!is_read_by_both(o, a.tensor)) std::erase(ends, a.tensor);
      }
      return;
    }
    const std::string builder = table_.claim("op_" + name(o.target));
    body_.line("OpBuilder {}({}, {}, {}, {});", builder, op_class_text(op_class), string_literal(o.op->name),
               o.op->site, line_of(s));
    const std::string calls = builder_calls(o, expr_, [this](ValueId v) { return name(v); });
    if (!calls.empty()) body_.line("{}{};", builder, calls);
    const std::string kernel_text = kernel_argument();
    mark(s.range);
    body_.line("{} = session.{}<{}>({}{});", defined(o.target), contraction ? "contraction" : "compute", type(o.target),
               builder, kernel_text);
    end_mark(s.range);
  }

  void chain(const Step& s, const ChainStep& c) {
    std::string factors;
    for (const ir::Chain::Factor& f : c.factors)
      factors += fmt::format("{}{{{}, {}}}", factors.empty() ? "" : ", ", name(f.tensor), f.transposed);
    mark(s.range);
    body_.line("{} = rt::routines::chain<{}>(session, {}, {{{}}}, {{{}}}, {{{}, {}}}{});", defined(c.target),
               type(c.target), string_literal(c.name), factors, extents(c.sizes), c.site, line_of(s), tile(c.tile));
    end_mark(s.range);
    needs_.add(Header::kChain);
  }

  std::string moved_if(bool last, ValueId v) { return last ? fmt::format("std::move({})", name(v)) : name(v); }

  /// A loop that runs as one task, and declarations of its results.
  void loop(const Step& s, const LoopStep& l, std::vector<ValueId>& ends) {
    std::string reads;
    for (std::size_t k = 0; k < l.reads.size(); ++k) {
      const ValueId v = l.reads[k];
      const bool again =
          std::find(l.reads.begin() + static_cast<std::ptrdiff_t>(k) + 1, l.reads.end(), v) != l.reads.end();
      const bool last = !again && std::erase(ends, v) > 0;
      reads += fmt::format("{}{{{}, {}}}", reads.empty() ? "" : ", ", moved_if(last, v),
                           string_literal(name_of(program_, v)));
    }
    const std::string function = table_.claim((l.kernel ? "call_" : "loop_") + l.name);
    const LoopRequest request{program_,
                              l,
                              function,
                              s.range,
                              [this](ValueId v) { return name(v); },
                              [this](SourceRange range) { return source_comment(range); },
                              [this](const ir::ProcedureRef& p) { return functions_.procedure(p); }};
    functions_.start_code();
    const EmittedLoop emitted =
        l.kernel ? emit_foreign(request, functions_.foreign_kernel(*l.kernel, s.range)) : emit_loop(request);
    if (l.kernel) functions_.enter(*l.kernel);
    std::string list = names_of(emitted.captures);
    std::string given;
    for (const LoopStep::Result& r : l.results) {
      declare_tensor(r.target);
      const std::string continues = r.continues < 0 ? "" : fmt::format(", {}", r.continues);
      given += fmt::format("{}{{{}, {}, {}{}}}", given.empty() ? "" : ", ", name(r.target),
                           string_literal(name_of(program_, r.target)), shape(r.target), continues);
    }
    mark(s.range);
    std::string captures = list;
    if (emitted.draws) {
      captures += (list.empty() ? "" : ", ") + std::string("seed = session.seed()");
      list += list.empty() ? "seed" : ", seed";
    }
    std::string kernel =
        list.empty() ? function : fmt::format("[{0}](const TaskArgs& t) {{ {1}(t, {2}); }}", captures, function, list);
    std::vector<KernelValue> values;
    for (const ValueId v : emitted.captures) values.push_back({std::string(type(v)), name(v), name(v)});
    if (emitted.draws) values.push_back({"rt::Session&", "session", "session"});
    kernel = kernels_.add_task(emitted.function, function, emitted.needs, s.range, kernel, values);
    body_.line("session.loop({{{}, {}, {}, {}{}}}, {{{}}}, {{{}}}, {}, {});", string_literal(l.name), l.site,
               line_of(s), string_literal(l.head), l.ordered ? ", true" : "", reads, given, expr_.text(l.flops),
               functions_.reported("foreign_kernel", kernel, s.range));
    end_mark(s.range);
  }

  static std::string_view scale_text(ir::Routine::Scale scale) {
    switch (scale) {
      case ir::Routine::Scale::kNone: return "rt::routines::FourierScale::kNone";
      case ir::Routine::Scale::kRoot: return "rt::routines::FourierScale::kRoot";
      default: return "rt::routines::FourierScale::kWhole";
    }
  }

  /// `rt::routines::solve(session, {x, "x"}, A, std::move(b), {7, 12});`
  void routine(const Step& s, const RoutineStep& r) {
    std::string arguments;
    for (const RoutineStep::Result& result : r.results) {
      if (result.wanted) declare_tensor(result.target);
      arguments += result.wanted ? fmt::format(", {{{}, {}}}", name(result.target),
                                               string_literal(program_.info(result.target).name))
                                 : ", {}";
    }
    for (const RoutineStep::Operand& o : r.operands) arguments += ", " + moved_if(o.ends, o.tensor);
    if (ir::is_line(r.kind)) arguments += fmt::format(", {}", r.axis);
    if (ir::is_fourier(r.kind)) arguments += fmt::format(", {}", scale_text(r.scale));
    using Kind = ir::Routine::Kind;
    if (r.kind == Kind::kTopk || r.kind == Kind::kFilter || r.kind == Kind::kIrfft)
      arguments += ", " + expr_.text(r.count);
    if (r.solves != ir::Routine::SolveKind::kGeneral) arguments += ", " + solve_kind_text(r.solves);
    std::string site = fmt::format("{}, {}", r.site, line_of(s));
    if (r.branch != 0) site += fmt::format(", {}, {}", known_text(r.known), r.branch);
    mark(s.range);
    body_.line("rt::routines::{}(session{}, {{{}}});", ir::name_of(r.kind), arguments, site);
    end_mark(s.range);
    needs_.add(Header::kCalls);
  }

  void mark(SourceRange range) {
    if (options_.line_directives && range.known() && range.file == 0) body_.line("{}{}", kLineMark, range.line);
  }
  void end_mark(SourceRange range) {
    if (options_.line_directives && range.known() && range.file == 0) body_.line("{}", kEndMark);
  }

  /// The kernel argument with its captures.
  std::string kernel(const Step& s, const OperationStep& o) {
    if (o.kernel && !o.kernel->rearranged.empty()) {
      const Code code = rearranged_kernel(program_, o, expr_);
      needs_.add(code.needs);
      return code.text;
    }
    return kernels_.add({program_, o, identifier_of(title_of(program_, values_.home(o.target))), s.range,
                         [this](ValueId v) { return name(v); },
                         [this](const ir::ProcedureRef& p) { return functions_.procedure(p); }});
  }

  static std::string reach_text(const std::vector<plan::Reach>& reach) {
    std::string text;
    for (const plan::Reach& r : reach) text += fmt::format("{}{{{}, {}}}", text.empty() ? "" : ", ", r.below, r.above);
    return "{" + text + "}";
  }
  void time_tile(const TimeTileStep& t) {
    body_.line("const Index {} = session.time_tile({{{}, {}, {{{}}}, {}, {}, {}}});", name(t.target), name(t.begin),
               name(t.end), extents(t.shape), reach_text(t.reach), t.element_bytes, t.flops);
  }
  /// The kernel of one step, or that of several made of it.
  std::string of_steps(const OperationStep& o, const std::string& kernel) {
    if (!o.kernel || !o.kernel->steps) return kernel;
    needs_.add(Header::kTimeSteps);
    std::string domain;
    for (const SymbolicLabel& l : o.op->labels) {
      domain += fmt::format("{}Interval{{{}, {}}}", domain.empty() ? "" : ", ", expr_.text(l.range.lo),
                            expr_.text(l.range.hi));
    }
    return fmt::format("rt::time_steps({{{}, {}, {}, {{{}}}, {}}}, {})", name(*o.kernel->steps), o.kernel->earlier,
                       ir::size_of(o.kernel->type), domain, reach_text(o.kernel->reach), kernel);
  }

  std::string names_of(const std::vector<ValueId>& values) {
    std::string list;
    for (const ValueId v : values) list += (list.empty() ? "" : ", ") + name(v);
    return list;
  }

  void copy(const CopyStep& c) {
    if (values_.share(c.source, c.target)) return;
    const std::string target = program_.is_host(c.target) ? host_defined(c.target) : defined(c.target);
    body_.line("{} = {};", target, c.move ? fmt::format("std::move({})", name(c.source)) : name(c.source));
  }

  void nested(const Steps& list) {
    body_.indent();
    steps(list);
    body_.outdent();
  }
  std::string parameter(ValueId v) { return used(v) ? fmt::format("Index {}", name(v)) : "Index"; }

  static std::string_view known_text(record::Known known) {
    return known == record::Known::kStart  ? "Known::kStart"
           : known == record::Known::kLoop ? "Known::kLoop"
                                           : "Known::kData";
  }
  /// When the range of a loop is known, and its carried values.
  std::string loop_mark(const record::Loop& loop, const std::vector<ValueId>& carried) {
    if (!loop.records) return "kScalars, ";
    return fmt::format("{{{}, {{{}}}}}, ", known_text(loop.range), names_of(carried));
  }

  void for_loop(const ForStep& f) {
    body_.line("session.for_loop({}{}, {}, {}, [&]({}) {{", loop_mark(f.known, f.carried), bound(f.begin), bound(f.end),
               f.every ? name(*f.every) : std::to_string(f.step), parameter(f.index));
    nested(f.body);
    body_.line("}});");
  }

  /// The steps of a loop condition; host arithmetic at their end becomes the return value.
  void condition(const WhileStep& w) {
    const auto* last = w.condition.empty() ? nullptr : std::get_if<HostStep>(&w.condition.back().op);
    const bool returns = last != nullptr && last->target == w.condition_value && !ir::may_fail(last->value);
    body_.indent();
    steps(returns ? Steps(w.condition.begin(), w.condition.end() - 1) : w.condition);
    body_.line("return {};", returns ? expr_.text(last->value) : name(w.condition_value));
    body_.outdent();
  }

  void while_loop(const WhileStep& w) {
    body_.line("session.while_loop({}[&] {{", loop_mark(w.known, w.carried));
    condition(w);
    body_.line("}}, [&]({}) {{", parameter(w.iteration));
    nested(w.body);
    body_.line("}});");
  }

  void branch(const IfStep& i) {
    const bool plain = i.known == record::Known::kStart;  // the same on every rank and in every survey
    if (plain) {
      body_.line("if ({}) {{", name(i.condition));
    } else {
      body_.line("session.if_else({}, {}, {}, [&] {{", known_text(i.known), i.site, name(i.condition));
    }
    nested(i.then_steps);
    if (!plain || !i.else_steps.empty()) {
      body_.line("{}", plain ? "} else {" : "}, [&] {");
      nested(i.else_steps);
    }
    body_.line("{}", plain ? "}" : "});");
  }

  void choose(const ChooseStep& c) {
    const std::string variant = table_.claim("variant");
    body_.line("session.choose({}, {}, [&](int {}) {{", c.site, c.forms.size(), variant);
    body_.indent();
    for (std::size_t k = 0; k < c.forms.size(); ++k) {
      const std::string condition = k + 1 < c.forms.size() ? fmt::format("if ({} == {}) ", variant, k) : "";
      body_.line("{}{}{{  {}", k > 0 ? "} else " : "", condition, line_comment(c.names[k]));
      nested(c.forms[k]);
    }
    body_.line("}}");
    body_.outdent();
    body_.line("}});");
    table_.release(variant);
  }

  void print(const Step& s, const PrintStep& p) {
    std::string items;
    for (const auto& item : p.items) {
      items += items.empty() ? "" : ", ";
      items += match(
          item, [](const std::string& text) { return string_literal(text); }, [&](ValueId v) { return name(v); });
    }
    body_.line("session.print({{{}}}, {}, {});", items, p.site, line_of(s));
  }

  const OperationProgram& program_;
  const EmitOptions& options_;
  Variables values_;
  NameTable table_;
  std::map<ValueId, std::string> names_;  ///< by home
  SourceRange place_;                     ///< of the step that is being emitted
  std::set<ValueId> used_;
  std::set<ValueId> declared_;                    ///< homes of declared variables
  std::map<ValueId, std::int64_t> plain_bounds_;  ///< constants that are printed as loop bounds
  ExprEmitter expr_;
  Writer body_;
  CalledFunctions functions_;
  std::size_t units_;
  KernelFunctions kernels_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> commented_;  ///< source lines with a comment: file, line
  bool faults_ = false;
  Needs needs_;
};

}  // namespace

EmittedProgram emit_program(const OperationProgram& program, const EmitOptions& options, std::size_t units) {
  return ProgramEmitter(program, options, units).run();
}

}  // namespace tdsl::codegen
