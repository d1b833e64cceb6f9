#include "codegen/print/emit_program.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "codegen/lower/epilogue.h"
#include "codegen/lower/foreign.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/emit_kernel.h"
#include "codegen/print/emit_loop.h"
#include "codegen/print/emit_op.h"
#include "codegen/print/emit_procedure.h"
#include "codegen/print/emit_rearranged.h"
#include "codegen/print/equal_functions.h"
#include "codegen/print/increments.h"
#include "codegen/print/names.h"
#include "codegen/print/variables.h"
#include "codegen/print/versions.h"
#include "codegen/print/writer.h"
#include "codegen/relations/describe.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/foreign_title.h"

namespace tdsl::codegen {

namespace {

using ir::match;

class ProgramEmitter {
 public:
  ProgramEmitter(const FamilyProgram& program, const EmitOptions& options)
      : program_(program),
        options_(options),
        values_(program),
        expr_(
            {}, [this](ValueId v) { return name(v); }, nullptr) {
    expr_.set_procedures([this](const ir::ProcedureRef& p) { return host_procedure(p); });
  }

  EmittedProgram run() {
    for (const Step& s : program_.steps)
      for_each_use(program_, s, [this](ValueId v) { used_.insert(values_.home(v)); });
    find_uses(program_.steps);
    body_.indent();
    for (const auto& [file, line] : program_.silent)
      body_.line("session.gathers_in_silence({});", place_text({.file = file, .line = line}));
    steps(program_.steps);
    Writer w;
    // It runs once and only records: half the compiler's time is saved by not optimising it.
    w.line("TDSL_RECORDING void program(rt::Session& session) {{");
    if (faults_) w.raw("  scalar::Faults faults;\n");
    w.raw(body_.text());
    w.line("}}");
    std::string points;
    for (const auto& [comment, functions] : points_) points += comment + functions;
    if (!points.empty()) kernels_ = points + "\n" + kernels_;
    if (!functions_.empty()) kernels_ = "namespace fn {\n\n" + functions_ + "}  // namespace fn\n\n" + kernels_;
    return {std::move(kernels_),
            w.text(),
            uses_file_,
            checks_,
            uses_routines_,
            uses_blocked_,
            uses_parts_,
            uses_rows_,
            uses_elements_,
            uses_chain_,
            uses_tiles_,
            uses_stored_,
            uses_rearranged_,
            std::move(headers_),
            std::move(foreign_calls_)};
  }

 private:
  /// Collects the values used other than as loop bounds.
  void find_uses(const Steps& list) {
    for (const Step& s : list) {
      if (const auto* f = std::get_if<ForStep>(&s.op)) {
        find_uses(f->body);
      } else if (const auto* w = std::get_if<WhileStep>(&s.op)) {
        find_uses(w->condition);
        find_uses(w->body);
        used_elsewhere_.insert(w->condition_value);
      } else if (const auto* i = std::get_if<IfStep>(&s.op)) {
        find_uses(i->then_steps);
        find_uses(i->else_steps);
        used_elsewhere_.insert(i->condition);
      } else {
        for_each_use(program_, s, [this](ValueId v) { used_elsewhere_.insert(v); });
      }
    }
  }

  /// The function of a procedure, emitted at its first use, in a namespace of its own. Adds the user's functions that a
  /// call may enter to `entered_`.
  std::string procedure(const ir::ProcedureRef& p) {
    auto found = procedures_.find(p->text);
    if (found == procedures_.end()) {
      const std::set<std::string> outer = std::exchange(entered_, {});
      const std::string function = p->foreign ? foreign_function(*p->foreign, p->range) : own_function(*p);
      found = procedures_.emplace(p->text, EmittedFunction{"fn::" + function, entered_}).first;
      entered_ = outer;
    }
    entered_.insert(found->second.enters.begin(), found->second.enters.end());
    return found->second.name;
  }

  std::string own_function(const ir::Procedure& p) {
    const std::string function = function_table_.claim(p.name);
    const EmittedProcedure emitted =
        emit_procedure(p, function, [this](const ir::ProcedureRef& inner) { return procedure(inner); });
    uses_file_ = uses_file_ || emitted.uses_file;
    uses_elements_ = uses_elements_ || emitted.uses_file;  // includes rt::stop
    if (p.range.known()) functions_ += source_comment(p.range) + "\n";
    functions_ += emitted.function + "\n";
    return function;
  }

  /// Declares a function of the program's that calls the user's.
  std::string foreign_function(const ir::Foreign& f, SourceRange range) {
    const std::string function = function_table_.claim(f.name);
    const ForeignCall call = foreign_call(f, function);
    if (range.known()) functions_ += source_comment(range) + "\n";
    functions_ += call.declaration + "\n";
    foreign_calls_ += call.definition + "\n";
    headers_.insert(f.header);
    entered_.insert(ir::title_of(f));
    return function;
  }

  /// The same for a kernel, which is declared once.
  std::string foreign_kernel(const ir::Foreign& f, SourceRange range) {
    std::string& name = foreign_kernels_[ir::title_of(f)];
    if (name.empty()) name = "fn::" + foreign_function(f, range);
    return name;
  }

  /// The callee for a procedure in host code.
  std::string host_procedure(const ir::ProcedureRef& p) {
    entered_.clear();
    const std::string name = procedure(p);
    return reported("foreign_function", name, place_);
  }

  /// `rt::foreign_kernel({place(7), "the C++ function 'gelu' of k.hpp"}, kernel)`, where the kernel or function may
  /// enter functions of the user's.
  std::string reported(std::string_view how, const std::string& callee, SourceRange range) {
    const std::set<std::string> enters = std::exchange(entered_, {});
    if (enters.empty()) return callee;
    uses_file_ = true;
    return fmt::format("rt::{}({{place({}), {}}}, {})", how, place_text(range), string_literal(ir::title_of(enters)),
                       callee);
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
    if (declares(v)) body_.line("Tensor<{}> {};", type(v), name(v));
  }
  static std::string line_of(const Step& s) { return place_text(s.range); }

  /// `{n, m}`
  std::string shape(ValueId v) {
    std::string result;
    for (const Extent& e : program_.type(v).shape) result += (result.empty() ? "" : ", ") + expr_.text(e);
    return "{" + result + "}";
  }

  /// `, {512, 256}` for an annotated tensor.
  std::string tile(ValueId v) {
    std::string result;
    for (const Extent& e : program_.info(v).tile) result += (result.empty() ? ", {" : ", ") + expr_.text(e);
    return result.empty() ? result : result + "}";
  }

  [[nodiscard]] std::string source_comment(SourceRange range) const {
    std::string file = range.file < program_.files.size() ? program_.files[range.file] : program_.name;
    file = file.substr(file.find_last_of('/') + 1);
    std::string text = options_.source_line ? options_.source_line(range.file, range.line) : "";
    const std::size_t first = text.find_first_not_of(" \t");
    text = first == std::string::npos ? "" : text.substr(first);
    return line_comment(fmt::format("{}:{}:{}{}", file, range.line, text.empty() ? "" : " ", text));
  }

  void steps(const Steps& list) {
    const std::uint32_t outer = last_line_;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const Step& s = list[k];
      place_ = s.range;
      const bool silent = std::holds_alternative<ReleaseStep>(s.op) || std::holds_alternative<CopyStep>(s.op);
      if (s.range.known() && s.range.line != last_line_ && !silent) {
        last_line_ = s.range.line;
        body_.line("{}", source_comment(s.range));
      }
      if (const auto* o = std::get_if<OperationStep>(&s.op)) {
        k += operation(list, k, *o);
        faults(s);
      } else if (const auto* output = std::get_if<OutputStep>(&s.op)) {
        k += this->output(list, k, *output);
        faults(s);
      } else {
        step(s);
      }
    }
    last_line_ = outer;
  }

  /// A statement whose host arithmetic may fail is followed by a check for faults.
  void faults(const Step& s) {
    if (!expr_.uses_faults()) return;
    expr_.clear_faults();
    faults_ = uses_file_ = true;
    body_.line("if (faults.any()) rt::stop(place({}), faults.message());", line_of(s));
  }

  void step(const Step& s) {
    match(
        s.op, [&](const HostStep& h) { host(h); },
        [&](const DimensionStep& d) {
          body_.line("const Index {} = session.dimension({});", name(d.target), string_literal(d.name));
        },
        [&](const ParamStep& p) { param(p); },
        [&](const InputStep& i) {
          const std::string_view method = program_.type(i.target).is_compressed() ? "stored_input" : "input";
          body_.line("{} = session.{}<{}>({}, {}, {}, {}{});", defined(i.target), method, type(i.target),
                     string_literal(i.name), shape(i.target), i.site, line_of(s), tile(i.target));
        },
        [&](const RandomStep& r) { random(s, r); }, [](const OperationStep&) {},
        [&](const ChainStep& c) { chain(s, c); }, [&](const RoutineStep& r) { routine(s, r); },
        [&](const LoopStep& l) { loop(s, l); },
        [&](const ControlReadStep& c) {
          body_.line("const {} {} = session.read({}, {}, {});", type(c.target), name(c.target), name(c.tensor), c.site,
                     line_of(s));
        },
        [&](const CopyStep& c) { copy(c); },
        [&](const GathersStep& g) {
          body_.line("session.gathers({}, {}, {}, {});", line_of(s), string_literal(g.routine),
                     string_literal(g.operand), expr_.text(g.bytes));
        },
        [&](const DeclareStep& d) {
          if (!program_.is_host(d.target)) return declare_tensor(d.target);
          if (declares(d.target)) body_.line("{} {}{{}};", type(d.target), name(d.target));
        },
        [&](const SubscriptStep& c) { subscript(s, c); }, [&](const ForStep& f) { for_loop(f); },
        [&](const WhileStep& w) { while_loop(w); }, [&](const IfStep& i) { branch(i); },
        [&](const ChooseStep& c) { choose(c); },
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
        [](const OutputStep&) {}, [&](const ReleaseStep& r) { body_.line("{}.release();", name(r.value)); });
    faults(s);
  }

  /// True for an unnamed constant that is used only as a loop bound.
  [[nodiscard]] bool is_plain_bound(const HostStep& h) const {
    const std::string& known = program_.info(h.target).name;
    const bool named = !known.empty() && std::isalpha(static_cast<unsigned char>(known.front())) != 0;
    return std::holds_alternative<ir::Constant>(h.value->op) && !named && !used_elsewhere_.contains(h.target);
  }
  std::string bound(ValueId v) {
    const auto found = plain_bounds_.find(v);
    return found == plain_bounds_.end() ? name(v) : found->second;
  }

  void host(const HostStep& h) {
    if (is_plain_bound(h)) {
      plain_bounds_[h.target] = fmt::format("{}", std::get<std::int64_t>(std::get<ir::Constant>(h.value->op).value));
      return;
    }
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

  void sparse_random(const Step& s, const RandomStep& r) {
    const std::vector<ValueId>& scalars = r.random.iterations;
    std::string iterations;
    for (std::size_t k = 0; k + 1 < scalars.size(); ++k)
      iterations += (iterations.empty() ? "" : ", ") + name(scalars[k]);
    body_.line("{} = session.{}({}, {}, {}, {}ULL, {{{}}}, {}, {}{});", defined(r.target),
               program_.type(r.target).is_compressed() ? "stored_sprandom" : "sprandom",
               string_literal(name_of(program_, r.target)), shape(r.target), name(scalars.back()), r.random.site,
               iterations, r.site, line_of(s), tile(r.target));
  }

  void random(const Step& s, const RandomStep& r) {
    if (r.random.kind == ir::Random::Kind::kSparse) return sparse_random(s, r);
    std::string iterations;
    for (const ValueId v : r.random.iterations) iterations += (iterations.empty() ? "" : ", ") + name(v);
    const bool uniform = r.random.kind == ir::Random::Kind::kUniform;
    body_.line("{} = session.random<{}>(rt::RandomKind::{}, {}, {}, {}ULL, {{{}}}, {}, {}{});", defined(r.target),
               type(r.target), uniform ? "kUniform" : "kNormal", string_literal(name_of(program_, r.target)),
               shape(r.target), r.random.site, iterations, r.site, line_of(s), tile(r.target));
  }

  /// Prints the operation of step `k` and the releases that directly follow it. Returns the number of these releases.
  std::size_t operation(const Steps& list, std::size_t k, const OperationStep& o) {
    std::vector<ValueId> ends;
    std::size_t next = k + 1;
    for (; next < list.size(); ++next) {
      const auto* release = std::get_if<ReleaseStep>(&list[next].op);
      if (release == nullptr) break;
      ends.push_back(release->value);
    }
    record(list[k], o, ends);
    // The assignment releases the previous tensor of the variable.
    std::erase_if(ends, [&](ValueId v) { return v != o.target && values_.share(v, o.target); });
    for (const ValueId v : ends) body_.line("{}.release();", name(v));
    return next - k - 1;
  }

  /// An output, which moves its tensor if the next step releases it. Returns the number of following steps that it
  /// replaces.
  std::size_t output(const Steps& list, std::size_t k, const OutputStep& o) {
    const auto* release = k + 1 < list.size() ? std::get_if<ReleaseStep>(&list[k + 1].op) : nullptr;
    const bool ends = release != nullptr && release->value == o.value;
    const std::string value = ends ? fmt::format("std::move({})", name(o.value)) : name(o.value);
    body_.line("session.output({}, {}, {}, {});", string_literal(o.name), value, o.site, line_of(list[k]));
    return ends ? 1 : 0;
  }

  /// `auto y = session.map<double>(…);`. Removes moved operands from `ends`.
  void record(const Step& s, const OperationStep& o, std::vector<ValueId>& ends) {
    const plan::OpClass op_class = o.op->op_class;
    const auto operand = [&](std::size_t k) {
      const ValueId v = o.op->reads[k].tensor;
      const bool again = std::any_of(o.op->reads.begin() + static_cast<std::ptrdiff_t>(k) + 1, o.op->reads.end(),
                                     [&](const SymbolicAccess& a) { return a.tensor == v; });
      const bool last = !again && !is_read_by_both(o, v) && std::ranges::find(ends, v) != ends.end();
      return last ? fmt::format("std::move({})", name(v)) : name(v);
    };
    const bool contraction = op_class == plan::OpClass::kContraction || o.op->in_any_order;
    const auto kernel_argument = [&]() -> std::string {
      if (contraction && !o.epilogue) return "";
      entered_.clear();
      const std::string text = kernel(s, o.epilogue ? *o.epilogue : o);
      return ", " + reported("foreign_kernel", text, s.range);
    };
    if (const auto arguments = short_arguments(o, expr_, operand)) {
      const std::string kernel_text = kernel_argument();
      mark(s.range);
      body_.line("{} = session.{}<{}>({{{}, {}, {}}}, {}{});", defined(o.target), method_of(*o.op), type(o.target),
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
    const std::string tile = c.tile.empty() ? "" : fmt::format(", {{{}}}", extents(c.tile));
    mark(s.range);
    body_.line("{} = rt::routines::chain<{}>(session, {}, {{{}}}, {{{}}}, {{{}, {}}}{});", defined(c.target),
               type(c.target), string_literal(c.name), factors, extents(c.sizes), c.site, line_of(s), tile);
    end_mark(s.range);
    uses_chain_ = true;
  }

  /// `n, m`
  std::string extents(const std::vector<Extent>& list) {
    std::string text;
    for (const Extent& e : list) text += (text.empty() ? "" : ", ") + expr_.text(e);
    return text;
  }

  /// A loop that runs as one task, and declarations of its results.
  void loop(const Step& s, const LoopStep& l) {
    const std::string builder = table_.claim((l.kernel ? "op_" : "op_loop_") + l.name);
    std::string calls;
    for (const ValueId v : l.reads) {
      std::string dims;
      for (std::size_t d = 0; d < program_.type(v).rank(); ++d) dims += d == 0 ? "whole()" : ", whole()";
      calls += fmt::format(".read({}.id(), {{{}}})", name(v), dims);
    }
    if (l.ordered) calls += ".on_rank(0)";
    body_.line("OpBuilder {}(OpClass::kLoop, {}, {}, {});", builder, string_literal(l.name), l.site, line_of(s));
    body_.line("{}{}.flops(static_cast<double>({}));", builder, calls, expr_.text(l.flops));
    const std::string function = table_.claim((l.kernel ? "call_" : "loop_") + l.name);
    const LoopRequest request{program_,
                              l,
                              function,
                              s.range,
                              [this](ValueId v) { return name(v); },
                              [this](SourceRange range) { return source_comment(range); },
                              [this](const ir::ProcedureRef& p) { return procedure(p); }};
    entered_.clear();
    const EmittedLoop emitted =
        l.kernel ? emit_foreign(request, foreign_kernel(*l.kernel, s.range)) : emit_loop(request);
    if (l.kernel) entered_.insert(ir::title_of(*l.kernel));
    uses_tiles_ = uses_tiles_ || l.kernel != nullptr;
    checks_ = checks_ || emitted.checks_subscripts;
    uses_parts_ = uses_parts_ || emitted.parts;
    uses_file_ = uses_file_ || emitted.uses_file || emitted.checks_subscripts;
    uses_elements_ = true;
    kernels_ += kernel_comment(s.range);
    kernels_ += emitted.function + "\n";
    std::string list;
    for (const ValueId v : emitted.captures) list += (list.empty() ? "" : ", ") + name(v);
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
    const std::string kernel =
        list.empty() ? function : fmt::format("[{0}](const TaskArgs& t) {{ {1}(t, {2}); }}", captures, function, list);
    body_.line("session.loop({}, {{{}}}, {});", builder, given, reported("foreign_kernel", kernel, s.range));
    end_mark(s.range);
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
    for (const RoutineStep::Operand& o : r.operands)
      arguments += o.ends ? fmt::format(", std::move({})", name(o.tensor)) : ", " + name(o.tensor);
    if (ir::is_line(r.kind)) arguments += fmt::format(", {}", r.axis);
    if (r.kind == ir::Routine::Kind::kTopk) arguments += ", " + expr_.text(r.count);
    std::string site = fmt::format("{}, {}", r.site, line_of(s));
    if (r.branch != 0) site += fmt::format(", {}, {}", known_text(r.known), r.branch);
    mark(s.range);
    body_.line("rt::routines::{}(session{}, {{{}}});", ir::name_of(r.kind), arguments, site);
    end_mark(s.range);
    uses_routines_ = true;
  }

  void mark(SourceRange range) {
    if (options_.line_directives && range.known() && range.file == 0) body_.line("{}{}", kLineMark, range.line);
  }
  void end_mark(SourceRange range) {
    if (options_.line_directives && range.known() && range.file == 0) body_.line("{}", kEndMark);
  }

  /// The kernel argument with its captures: a short kernel as a lambda, a long one by the name of its function.
  std::string kernel(const Step& s, const OperationStep& o) {
    if (o.kernel && !o.kernel->rearranged.empty()) {
      uses_rearranged_ = true;
      return rearranged_kernel_text(o, expr_);
    }
    KernelRequest request{program_,
                          o,
                          "",
                          s.range,
                          [this](ValueId v) { return name(v); },
                          [this](const ir::ProcedureRef& p) { return procedure(p); }};
    const std::optional<ShortKernel> point = o.fused ? std::nullopt : short_kernel(request);
    const std::string title = identifier_of(title_of(program_, values_.home(o.target)));
    request.name =
        table_.claim(s.range.known() ? fmt::format("{}_{}", title, s.range.line) : fmt::format("kernel_{}", title));
    if (point) return point_kernel(s, request.name, *point);
    const EmittedKernel k = emit_kernel(request);
    const std::string list = names_of(k.captures);
    if (const auto known = functions_known_.find_or_add(k.function, request.name)) {
      table_.release(request.name);
      return kernel_text(*known, list);
    }
    uses_rows_ = uses_rows_ || o.fused;
    checks_ = checks_ || k.checks_subscripts;
    uses_blocked_ = uses_blocked_ || k.blocked;
    uses_parts_ = uses_parts_ || k.parts;
    uses_stored_ = uses_stored_ || k.stored;
    uses_file_ = uses_file_ || k.checks_subscripts || k.function.find("place(") != std::string::npos;
    kernels_ += kernel_comment(s.range);
    const std::string& level = levels_[request.name] = versions_.level(k.widest, price_of_version(k.function));
    kernels_ += left_out_comment(k.widest, level) + (level.empty() ? "" : "TDSL_VERSIONS ") + k.function + "\n";
    return kernel_text(request.name, list);
  }

  /// The source line of a kernel as a comment, once for successive kernels of one line.
  std::string kernel_comment(SourceRange range) {
    const std::string comment = range.known() ? source_comment(range) + "\n" : "";
    return std::exchange(last_kernel_comment_, comment) == comment ? "" : comment;
  }

  /// A kernel that is one expression of a point: a function outside of program(), which is compiled without
  /// optimization.
  std::string point_kernel(const Step& s, std::string function, const ShortKernel& point) {
    const auto known = functions_known_.find_or_add(point.function, function);
    if (known) table_.release(std::exchange(function, *known));
    const auto [instance, added] =
        levels_.try_emplace(fmt::format("{}<{}>({})", point.loops, point.arguments, function));
    std::string& level = instance->second;
    if (added) level = versions_.level(point.widest, VersionBudget::kPointPrice);
    if (!known) {
      const std::string comment = s.range.known() ? source_comment(s.range) + "\n" : "";
      auto line = std::ranges::find(points_, comment, &std::pair<std::string, std::string>::first);
      if (line == points_.end()) line = points_.insert(line, {comment, ""});
      line->second +=
          fmt::format("{}constexpr auto {} = {};\n", left_out_comment(point.widest, level), function, point.function);
    }
    const std::string arguments = point.arguments + (point.arguments.empty() || level.empty() ? "" : ", ") + level;
    return fmt::format("{}{}({}{})", point.loops, arguments.empty() ? "" : "<" + arguments + ">", function,
                       point.values.empty() ? "" : ", " + names_of(point.values));
  }

  /// The kernel argument: the function and its captures.
  std::string kernel_text(const std::string& function, const std::string& captures) {
    const std::string& level = levels_[function];
    if (!level.empty()) return fmt::format("rt::versions<{}, {}>({})", level, function, captures);
    return captures.empty() ? function : fmt::format("[{0}](const TaskArgs& t) {{ {1}(t, {0}); }}", captures, function);
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

  void subscript(const Step& s, const SubscriptStep& c) {
    std::string nonempty;
    std::string low;
    std::string high;
    const auto append = [](std::string& text, const std::string& part, std::string_view between) {
      text += (text.empty() ? "" : std::string(between)) + part;
    };
    for (const Term& t : c.subscript.terms) {
      const ir::Label& l = c.labels[static_cast<std::size_t>(t.label)];
      const std::string first = expr_.text(l.begin * t.coefficient);
      const std::string last = expr_.text((l.end - Extent(1)) * t.coefficient);
      const auto constant = t.coefficient.constant();
      append(low,
             !constant       ? fmt::format("std::min<Index>({}, {})", first, last)
             : *constant > 0 ? first
                             : last,
             " + ");
      append(high,
             !constant       ? fmt::format("std::max<Index>({}, {})", first, last)
             : *constant > 0 ? last
                             : first,
             " + ");
    }
    // If the signs are known at compile time, the sums can be simplified, too.
    if (const auto hull = ir::hull_of(c.subscript, c.labels)) {
      low = expr_.text(hull->low);
      const Extent end = hull->high + Extent(1);
      // The largest integer plus one wraps around to the smallest, which the check refuses, too.
      const bool sum = !end.constant() && !end.as_value();
      high = sum ? fmt::format("scalar::add<Index>({}, 1)", expr_.text(hull->high)) : expr_.text(end);
    } else if (!(c.subscript.constant == Extent(0))) {
      append(low, expr_.text(c.subscript.constant, 6), " + ");
      append(high, expr_.text(c.subscript.constant + Extent(1), 6), " + ");
    } else {
      append(high, "1", " + ");
    }
    for (const ir::Label& l : c.labels) {
      const Extent count = l.end - l.begin;
      if (count.constant().value_or(0) > 0) continue;
      append(nonempty, fmt::format("{} < {}", expr_.text(l.begin, 6), expr_.text(l.end, 6)), " && ");
    }
    body_.line("{}session.check_subscript({}, Interval{{{}, {}}}, {}, {});",
               nonempty.empty() ? "" : "if (" + nonempty + ") ", line_of(s), low, high, expr_.text(c.extent),
               string_literal(c.text));
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
               f.step, parameter(f.index));
    nested(f.body);
    body_.line("}});");
  }

  void while_loop(const WhileStep& w) {
    body_.line("session.while_loop({}[&] {{", loop_mark(w.known, w.carried));
    nested(w.condition);
    body_.line("  return {};", name(w.condition_value));
    body_.line("}}, [&]({}) {{", parameter(w.iteration));
    nested(w.body);
    body_.line("}});");
  }

  void branch(const IfStep& i) {
    const std::string mark =
        i.known == record::Known::kStart ? "" : fmt::format("{}, {}, ", known_text(i.known), i.site);
    body_.line("session.if_else({}{}, [&] {{", mark, name(i.condition));
    nested(i.then_steps);
    body_.line("}}, [&] {{");
    nested(i.else_steps);
    body_.line("}});");
  }

  void choose(const ChooseStep& c) {
    body_.line("session.choose({}, [&] {{", c.site);
    for (std::size_t k = 0; k < c.forms.size(); ++k) {
      if (k > 0) body_.line("}}, [&] {{");
      body_.line("  {}", line_comment(c.names[k]));
      nested(c.forms[k]);
    }
    body_.line("}});");
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

  const FamilyProgram& program_;
  const EmitOptions& options_;
  Variables values_;
  NameTable table_;
  std::map<ValueId, std::string> names_;  ///< by home
  NameTable function_table_;
  struct EmittedFunction {
    std::string name;
    std::set<std::string> enters;  ///< titles of functions of the user's
  };
  std::map<std::string, EmittedFunction> procedures_;  ///< by text of the procedure
  std::map<std::string, std::string>
      foreign_kernels_;            ///< names of functions that call the user's kernels, by their titles
  std::set<std::string> entered_;  ///< user functions that the code being emitted may call
  SourceRange place_;              ///< of the step that is being emitted
  std::set<ValueId> used_;
  std::set<ValueId> used_elsewhere_;             ///< other than as a bound of a loop
  std::set<ValueId> declared_;                   ///< homes of declared variables
  std::map<ValueId, std::string> plain_bounds_;  ///< constants that are printed as loop bounds
  ExprEmitter expr_;
  Writer body_;
  std::string functions_;
  VersionBudget versions_;
  std::string kernels_;
  std::string last_kernel_comment_;
  std::vector<std::pair<std::string, std::string>> points_;  ///< functions of one point, by source comment
  EqualFunctions functions_known_;
  std::map<std::string, std::string>
      levels_;  ///< vector levels of functions, and of instances of functions of one point
  std::uint32_t last_line_ = 0;
  bool faults_ = false;
  bool uses_file_ = false;
  bool checks_ = false;
  bool uses_routines_ = false;
  bool uses_blocked_ = false;
  bool uses_parts_ = false;
  bool uses_stored_ = false;
  bool uses_rearranged_ = false;
  bool uses_rows_ = false;
  bool uses_elements_ = false;
  bool uses_chain_ = false;
  bool uses_tiles_ = false;
  std::set<std::string> headers_;  ///< of the user's
  std::string foreign_calls_;
};

}  // namespace

EmittedProgram emit_program(const FamilyProgram& program, const EmitOptions& options) {
  return ProgramEmitter(program, options).run();
}

}  // namespace tdsl::codegen
