#include "codegen/nest/print_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "codegen/emit_blocked.h"
#include "codegen/names.h"
#include "codegen/nest/facts.h"
#include "codegen/nest/print_task.h"
#include "codegen/statements.h"
#include "codegen/writer.h"
#include "ir/check.h"

namespace tdsl::nest {

namespace {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using ir::match;
using Role = Variable::Role;

/// The nest as one expression of a point: the statement in the middle of loops over all indices in order.
struct Point {
  std::vector<Let> lets;
  const Store* store = nullptr;  ///< none: a sum
  Expr value;
  bool vectors = false;
};

class Printer {
 public:
  Printer(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures)
      : nest_(nest), definitions_(definitions_of(nest)),
        expr_(claim_names(), [this](ValueId v) { return size_name(v); },
              [this](const ir::ExprNode& n, const std::vector<std::string>& s) { return element(n, s); },
              [this](const ir::SourceRange& place) { return faults_name(place); }) {
    expr_.set_procedures(procedures);
    if (nest.form == Form::kKernel) expr_.use_vector_math([this](const ir::Select& s) { return takes_both(nest_, definitions_, s); });
    // The bits are those of the same statements as operations.
    if (nest.form == Form::kTask) expr_.use_vector_math([](const ir::Select&) { return false; });
  }

  PrintedNest scalar_function() {
    read_ = values_read(nest_);
    std::set<ValueId> written;
    for_each_statement(nest_.body, [&](const Statement& s) {
      if (const auto* w = std::get_if<Store>(&s.op)) written.insert(w->to.variable);
    });
    std::string parameters;
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      const ValueId v{static_cast<std::int32_t>(k)};
      const std::string& name = local_name(v);
      if (nest_.variables[k].role != Role::kParameter) continue;
      const bool used = read_.contains(v) || written.contains(v);
      parameters += fmt::format("{}{}{}", parameters.empty() ? "" : ", ", type_text(v), used ? " " + name : "");
    }
    codegen::Writer w;
    w.indent();
    write(w, statements(nest_.body));
    return finished(fmt::format("{} {}({}) {{\n{}}}\n", cpp_type(std::get<Return>(nest_.body.back().op).value->type), nest_.name, parameters, w.text()));
  }

  PrintedNest function() {
    out_name_ = table_.claim(result().name);
    const Statements loops = statements(nest_.body);
    codegen::Writer w;
    w.indent();
    for (const auto& [number, name] : views_) {
      const ir::Type& type = operand(number).type;
      w.line("const auto {} = t.in<{}, {}>({});", name, cpp_type(type.scalar), type.rank(), number);
    }
    const ir::Type& type = result().type;
    w.line("const auto {} = t.out<{}, {}>();", out_name(), cpp_type(type.scalar), type.rank());
    for (const auto& [index, name] : ranges_) w.line("const Interval {} = t.labels[{}];", name, index);
    for (const auto& [line, name] : faults_) w.line("scalar::Faults {};", name);
    write(w, statements(nest_.fresh));
    if (nest_.only_hit) w.line("if (!t.hit) return;");
    write(w, loops);
    for (const auto& [line, name] : faults_) w.line("if ({0}.any()) rt::stop(place({1}), {0}.message());", name, line);
    std::string signature = fmt::format("void {}(const TaskArgs& t", nest_.name);
    for (const ValueId v : printed_.captures) signature += ", " + parameter(v);
    return finished(fmt::format("{}) {{\n{}}}\n", signature, w.text()));
  }

  PrintedNest task(const SourceLine& source_line) {
    source_line_ = source_line;
    last_line_ = nest_.place.line;
    // Of tensors that are called alike, results have the name.
    for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
      if (nest_.variables[k].role == Role::kResult && nest_.variables[k].type.rank() > 0) static_cast<void>(local_name({static_cast<std::int32_t>(k)}));
    }
    const Statements body = statements(nest_.body);
    codegen::Writer w;
    w.indent();
    for (const ValueId v : declared_first()) {
      if (const std::string text = declaration(spelling_, v); !text.empty()) w.line("{}", text);
    }
    write(w, body);
    std::string signature = fmt::format("void {}(const TaskArgs& t", nest_.name);
    for (const ValueId v : printed_.captures) signature += ", " + parameter(v);
    if (printed_.draws) signature += ", std::uint64_t seed";
    return finished(fmt::format("{}) {{\n{}}}\n", signature, w.text()));
  }

  /// What has been mentioned and lives as long as a task: operands and results by their numbers, then locals.
  [[nodiscard]] std::vector<ValueId> declared_first() const {
    std::vector<ValueId> list;
    for (const auto& [v, name] : locals_) {
      if (!kept_.contains(v)) list.push_back(v);
    }
    std::ranges::stable_sort(list, {}, [&](ValueId v) { return std::pair(nest_.variable(v).role, nest_.variable(v).number); });
    return list;
  }

  std::optional<PrintedPoint> point(const Point& p) {
    std::string text;
    for (const Let& let : p.lets) text += let_text(let) + " ";
    const std::string value = expr_.text(p.value);
    text += p.store == nullptr ? fmt::format("return {};", value) : fmt::format("{} = {};", place_text(p.store->to), value);
    if (printed_.checks || expr_.uses_faults()) return std::nullopt;
    const ir::Type& type = result().type;
    std::string list = p.store == nullptr ? "" : fmt::format("Out<{}, {}> {}", cpp_type(type.scalar), type.rank(), out_name());
    for (const std::string& parameter : parameters_of(p)) list += (list.empty() ? "" : ", ") + parameter;
    printed_.vectors = p.vectors;
    return PrintedPoint{finished(fmt::format("[]({}) {{ {} }}", list, text)), p.store == nullptr};
  }

 private:
  // --- Names

  /// Claims the names of what the function takes before those of indices, which are free to differ.
  std::vector<std::string> claim_names() {
    for (const Variable& v : nest_.variables) {
      if (v.role == Role::kCapture) static_cast<void>(table_.claim(v.name));
    }
    // Loops of tasks follow each other, and their indices have the same names.
    const bool task = nest_.form == Form::kTask;
    if (task) static_cast<void>(table_.claim("seed"));
    std::vector<std::string> names;
    for (const Index& index : nest_.indices) names.push_back(task ? index.name : table_.claim(index.name));
    return names;
  }

  /// The name holds until the loop ends.
  std::string open_index(int k) {
    const Index& index = nest_.index(k);
    std::string name = table_.claim(index.name.empty() ? "k" : index.name);
    expr_.name_label(k, name);
    return name;
  }
  void close_index(int k) { table_.release(index_name(k)); }
  const std::string& index_name(int k) const { return expr_.labels()[static_cast<std::size_t>(k)]; }

  /// Of an integer in sizes.
  std::string size_name(ValueId v) {
    const Role role = nest_.variable(v).role;
    return role == Role::kCapture ? captured(v) : role == Role::kPosition ? local_name(v) + ".position" : local_name(v);
  }
  std::string captured(ValueId v) {
    if (std::ranges::find(printed_.captures, v) == printed_.captures.end()) printed_.captures.push_back(v);
    return nest_.variable(v).name;
  }
  [[nodiscard]] std::string parameter(ValueId v) const {
    return fmt::format("{} {}", cpp_type(nest_.variable(v).type.scalar), nest_.variable(v).name);
  }

  [[nodiscard]] std::string_view type_text(ValueId v) const { return cpp_type(nest_.variable(v).type.scalar); }
  const std::string& local_name(ValueId v) {
    const auto found = locals_.find(v);
    if (found != locals_.end()) return found->second;
    return locals_[v] = table_.claim(nest_.variable(v).name);
  }
  /// Of a local that is set here.
  const std::string& set_local(ValueId v, std::string name) { return locals_[v] = std::move(name); }

  std::string view_name(const Variable& operand) {
    const auto found = views_.find(operand.number);
    if (found != views_.end()) return found->second;
    return views_[operand.number] = table_.claim(operand.name);
  }

  std::string range_name(int index) {
    const auto found = ranges_.find(index);
    if (found != ranges_.end()) return found->second;
    return ranges_[index] = table_.claim("range_" + index_name(index));
  }

  [[nodiscard]] const Variable& operand(int number) const {
    return *std::ranges::find_if(nest_.variables, [&](const Variable& v) { return v.role == Role::kOperand && v.number == number; });
  }
  [[nodiscard]] const Variable& result() const { return *std::ranges::find(nest_.variables, Role::kResult, &Variable::role); }
  std::string out_name() {
    if (out_name_.empty()) out_name_ = table_.claim(result().name);
    return out_name_;
  }

  [[nodiscard]] std::string line_of(const ir::SourceRange& place) const { return codegen::place_text(place.known() ? place : place_.known() ? place_ : nest_.place); }
  /// One Faults for each line, so that a kernel fused from several names the right one.
  std::string faults_name(const ir::SourceRange& place) {
    const std::string line = line_of(place);
    if (nest_.form != Form::kKernel) {
      printed_.places = true;
      return fmt::format("rt::StopAt{{place, {}}}", line);
    }
    const auto found = std::ranges::find(faults_, line, &std::pair<std::string, std::string>::first);
    if (found != faults_.end()) return found->second;
    const std::string name = faults_.empty() ? "faults" : table_.claim(fmt::format("faults_{}", faults_.size() + 1));
    faults_.emplace_back(line, name);
    return name;
  }

  // --- Elements

  std::string element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
    const ValueId v = std::get<ir::Read>(node.op).tensor;
    const Variable& variable = nest_.variable(v);
    if (variable.role == Role::kCapture) return captured(v);
    if (variable.role == Role::kPosition) return local_name(v) + ".position";
    if (variable.role != Role::kView && variable.type.rank() == 0 && (variable.role != Role::kOperand || nest_.form == Form::kTask)) return local_name(v);
    std::vector<std::string> list = subscripts;
    for (const Bound& bound : variable.bounds) {
      std::string& s = list[static_cast<std::size_t>(bound.dimension)];
      s = nest_.form == Form::kTask ? inside(s, v, bound) : inside(s, bound);
    }
    const std::string view = nest_.form == Form::kTask ? local_name(nest_.viewed(v)) : view_name(variable);
    return fmt::format("{}({})", view, fmt::join(list, ", "));
  }
  std::string inside(const std::string& subscript, ValueId v, const Bound& bound) {
    printed_.checks = printed_.places = true;
    return fmt::format("inside({}, {}.extent[{}], {}, {})", subscript, local_name(nest_.viewed(v)), bound.dimension, line_of(bound.place), codegen::string_literal(bound.what));
  }
  std::string inside(const std::string& subscript, const Bound& bound) {
    printed_.checks = true;
    return fmt::format("inside({}, {}, {}, {})", subscript, expr_.text(bound.extent), line_of(bound.place), codegen::string_literal(bound.what));
  }

  std::string place_text(const Place& place) {
    const Variable& variable = nest_.variable(place.variable);
    if (nest_.form == Form::kTask && variable.type.rank() > 0) return task_place(place);
    if (nest_.form == Form::kTask && variable.role == Role::kResult) return fmt::format("t.out<{}, 0>({})()", cpp_type(variable.type.scalar), variable.number);
    if (variable.role == Role::kLocal || variable.role == Role::kParameter) return local_name(place.variable);
    std::string list;
    for (std::size_t d = 0; d < place.subscripts.size(); ++d) {
      list += (d == 0 ? "" : ", ") + expr_.subscript(place.subscripts[d]);
      if (d < variable.origin.size() && !(variable.origin[d] == Extent(0))) list += " - " + expr_.text(variable.origin[d], 7);
    }
    return fmt::format("{}({})", out_name(), list);
  }

  /// Of a tensor that the task changes.
  std::string task_place(const Place& place) {
    std::vector<std::string> list;
    for (const Expr& s : place.subscripts) list.push_back(expr_.subscript(s));
    for (const Bound& bound : nest_.variable(place.variable).bounds) {
      std::string& s = list[static_cast<std::size_t>(bound.dimension)];
      s = inside(s, place.variable, bound);
    }
    return fmt::format("{}({})", local_name(nest_.viewed(place.variable)), fmt::join(list, ", "));
  }

  std::string let_text(const Let& let) {
    const bool named = nest_.form != Form::kKernel;
    const std::string name = named ? local_name(let.local) : table_.claim(nest_.variable(let.local).name);
    std::string text = fmt::format("{}const {} {} = {};", unread(let.local), type_text(let.local), name, named ? assigned(let.value) : expr_.text(let.value));
    set_local(let.local, name);
    return text;
  }

  /// An integer constant needs no type where it is assigned or compared with an integer.
  std::string assigned(const Expr& e) {
    const auto* c = std::get_if<ir::Constant>(&e->op);
    const auto* number = c == nullptr || e->type != ir::Scalar::kI64 ? nullptr : std::get_if<std::int64_t>(&c->value);
    return number != nullptr && *number != std::numeric_limits<std::int64_t>::min() ? expr_.subscript(e) : expr_.text(e);
  }

  /// Of functions of scalars: kernels hold nothing that is not read.
  [[nodiscard]] std::string_view unread(ValueId v) const { return nest_.form != Form::kFunction || read_.contains(v) ? "" : "[[maybe_unused]] "; }

  // --- Statements

  Statements statements(const Body& body) {
    Statements result;
    for (const Statement& s : body) {
      if (source_line_ && s.place.known() && s.place.line != last_line_) {
        last_line_ = s.place.line;
        result.push_back(simple(source_line_(s.place)));
      }
      for (codegen::Statement& line : statement(s)) result.push_back(std::move(line));
      const bool block = std::holds_alternative<Count>(s.op) || std::holds_alternative<While>(s.op) || std::holds_alternative<If>(s.op);
      if (block && s.place.known()) last_line_ = s.place.line;
    }
    return result;
  }

  Statements statement(const Statement& s) {
    if (s.place.known()) place_ = s.place;
    return match(
        s.op, [&](const For& f) { return loop(f); }, [&](const Let& l) { return Statements{simple(let_text(l))}; },
        [&](const Start& l) { return start(l); }, [&](const Narrow& n) { return Statements{simple(narrow(n))}; },
        [&](const Check& c) {
          return Statements{simple(fmt::format("const Index {} = {};", index_name(c.index), inside(expr_.text(c.value), c.bound)))};
        },
        [&](const Store& w) {
          const std::string target = place_text(w.to);
          return Statements{simple(fmt::format("{} = {};", target, nest_.form == Form::kKernel ? expr_.text(w.value) : assigned(w.value)))};
        },
        [&](const Update& u) {
          const std::string target = place_text(u.to);
          const ir::Scalar type = nest_.variable(u.to.variable).type.scalar;
          const bool claims = nest_.form == Form::kTask && u.with.kind == ir::Monoid::Kind::kUser;
          return codegen::accumulation(expr_, u.with, u.value, type, target, claims ? table_.claim("next") : "next");
        },
        [&](const If& i) { return branch(i); }, [&](const LineReduction& l) { return Statements{simple(line(l))}; },
        [&](const BlockedReduction& b) { return blocked(b); }, [&](const Fill& f) { return Statements{simple(fill(f))}; },
        [&](const Var& v) {
          const std::string value = v.value ? " = " + assigned(v.value) : "{}";
          return Statements{simple(fmt::format("{}{} {}{};", unread(v.local), type_text(v.local), local_name(v.local), value))};
        },
        [&](const Count& c) { return count(c); }, [&](const While& w) { return repeat(w); },
        [&](const Require& r) {
          printed_.places = true;
          return Statements{simple(fmt::format("if (!({})) rt::stop(place({}), {});", expr_.text(r.condition), line_of(s.place), codegen::string_literal(r.message)))};
        },
        [&](const Return& r) { return Statements{simple(fmt::format("return {};", expr_.text(r.value)))}; },
        [&](const Copy& c) { return Statements{simple(fmt::format("rt::copy({}, {});", local_name(c.to), local_name(c.from)))}; },
        [&](const Keep& k) {
          kept_.insert(k.local);
          return Statements{simple(fmt::format("const auto {} = rt::copied({});", local_name(k.local), local_name(k.from)))};
        },
        [&](const Resize& r) { return Statements{simple(fmt::format("{}.resize({});", local_name(r.local), extents_text(spelling_, r.local)))}; },
        [&](const CheckLine& c) {
          printed_.checks = printed_.places = true;
          return Statements{simple(print(spelling_, c))};
        },
        [&](const RowReduction& r) {
          static_cast<void>(open_index(r.index));
          Statements result{simple(print(spelling_, r))};
          close_index(r.index);
          return result;
        },
        [&](const AddProducts& p) {
          static_cast<void>(open_index(p.index));
          static_cast<void>(open_index(p.along));
          Statements result{simple(print(spelling_, p))};
          close_index(p.along);
          close_index(p.index);
          return result;
        },
        [&](const Locate& l) {
          return Statements{simple(fmt::format("rt::Best<{}> {}{{{}}};", cpp_type(l.of), local_name(l.local), l.kind == ir::Monoid::Kind::kArgMax ? "true" : "false"))};
        },
        [&](const Offer& o) { return Statements{simple(fmt::format("{}.add({}, {});", local_name(o.local), expr_.text(o.value), index_name(o.index)))}; },
        [&](const Draw& d) {
          printed_.draws = true;
          return Statements{simple(print(spelling_, d))};
        },
        [&](const RequireSizes& r) {
          printed_.places = true;
          return Statements{simple(print(spelling_, r, s.place))};
        });
  }

  Statements count(const Count& c) {
    const std::string& i = local_name(c.local);
    std::string head = fmt::format("for (Index {0} = {1}; {0} {2} {3}; {4})", i, assigned(c.begin), c.step > 0 ? "<" : ">", assigned(c.end), codegen::next_text(i, c.step));
    return {block(std::move(head), statements(c.body))};
  }

  Statements repeat(const While& w) {
    if (w.before.empty()) {
      std::string head = fmt::format("while ({})", expr_.text(w.condition));
      return {block(std::move(head), statements(w.body))};
    }
    Statements all = statements(w.before);
    all.push_back(simple(fmt::format("if (!({})) break;", expr_.text(w.condition))));
    for (codegen::Statement& s : statements(w.body)) all.push_back(std::move(s));
    return {block("while (true)", std::move(all))};
  }

  /// Where a loop over the range begins and ends.
  std::pair<std::string, std::string> bounds(int index, const TaskRange& range) {
    std::string begin = range.begin ? local_name(*range.begin) : range_name(index) + ".lo";
    return {std::move(begin), range.end ? local_name(*range.end) : range_name(index) + ".hi"};
  }

  Statements extent_loop(const For& f, const Range& over) {
    const std::string begin = expr_.text(over.begin);
    const std::string end = expr_.text(over.end);
    const std::string i = open_index(f.index);
    Statements result{block(fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", i, begin, end), statements(f.body))};
    close_index(f.index);
    return result;
  }
  std::string range_text(int index, const TaskRange& range) {
    if (!range.begin && !range.end) return range_name(index);
    const auto [begin, end] = bounds(index, range);
    return fmt::format("Interval{{{}, {}}}", begin, end);
  }

  Statements loop(const For& f) {
    if (const auto* over = std::get_if<Range>(&f.over)) return extent_loop(f, *over);
    if (f.parts) return {parts(f, *f.parts)};
    const auto [begin, end] = bounds(f.index, std::get<TaskRange>(f.over));
    Statements result;
    Statements inner = statements(f.body);
    if (f.order == Order::kSimd) {
      result.push_back(simple("#pragma omp simd"));
      printed_.vectors = true;
    }
    result.push_back(block(fmt::format("for (Index {0} = {1}; {0} < {2}; ++{0})", index_name(f.index), begin, end), std::move(inner)));
    return result;
  }

  /// `rt::each_inner_simd(range_i, {.from = 1}, [&](auto inside, Index i) { … });`
  codegen::Statement parts(const For& f, const Parts& p) {
    const std::string range = range_text(f.index, std::get<TaskRange>(f.over));
    std::vector<std::string> arguments{range}, parameters;
    std::vector<std::string> until;
    for (const Side& side : p.sides) {
      until.push_back(side.until ? expr_.subscript(side.until) : fmt::format("rt::whole({}, {})", range, expr_.text(side.condition)));
      parameters.push_back("auto " + set_local(side.local, table_.claim(nest_.variable(side.local).name)));
    }
    if (!until.empty()) arguments.push_back(fmt::format("{{{}}}", fmt::join(until, ", ")));
    if (p.inside) {
      arguments.push_back(inner_text(p));
      parameters.push_back("auto " + set_local(*p.inside, table_.claim(nest_.variable(*p.inside).name)));
    }
    parameters.push_back("Index " + index_name(f.index));
    const bool simd = f.order == Order::kSimd;
    printed_.parts = true;
    printed_.vectors = printed_.vectors || simd;
    return block(fmt::format("rt::each_{}{}({}, [&]({})", p.sides.empty() ? "inner" : p.inside ? "inner_part" : "part", simd ? "_simd" : "", fmt::join(arguments, ", "),
                             fmt::join(parameters, ", ")),
                 statements(f.body), "});");
  }
  std::string inner_text(const Parts& p) {
    std::vector<std::string> fields;
    const auto field = [&](std::string_view name, std::string_view extreme, const std::vector<Expr>& values) {
      std::vector<std::string> list;
      for (const Expr& e : values) list.push_back(expr_.subscript(e));
      if (list.size() == 1) fields.push_back(fmt::format(".{} = {}", name, list.front()));
      if (list.size() > 1) fields.push_back(fmt::format(".{} = std::{}<Index>({{{}}})", name, extreme, fmt::join(list, ", ")));
    };
    field("from", "max", p.from);
    field("to", "min", p.to);
    if (p.where) fields.push_back(fmt::format(".where = {}", expr_.text(p.where)));
    return fmt::format("{{{}}}", fmt::join(fields, ", "));
  }

  Statements start(const Start& s) {
    const ir::Scalar type = nest_.variable(s.local).type.scalar;
    const std::string from = place_text(s.from);
    set_local(s.local, nest_.variable(s.local).name);
    return {simple(fmt::format("{} {} = {};", cpp_type(type), local_name(s.local), s.fresh ? fmt::format("t.fresh ? {} : {}", expr_.text(s.fresh), from) : from))};
  }

  std::string narrow(const Narrow& n) {
    const auto [begin, end] = bounds(n.index, n.within);
    std::string value = expr_.text(n.value);
    // The largest integer has none past it.
    if (n.past) value = fmt::format("std::min<Index>({}, {} - 1) + 1", value, end);
    const std::string& side = n.begins ? begin : end;
    std::string text = fmt::format("std::{}<Index>({}, {})", n.begins ? "max" : "min", side, value);
    if (!n.safe) text = fmt::format("{} < {} ? {} : {}", begin, end, text, side);
    return fmt::format("const Index {} = {};", local_name(n.local), text);
  }

  Statements branch(const If& i) {
    const std::string condition = match(
        i.condition, [&](const Expr& e) { return expr_.text(e); },
        [&](const HasPoints& p) {
          std::vector<std::string> parts;
          for (const int k : p.indices) parts.push_back(fmt::format("!{}.empty()", range_name(k)));
          return fmt::format("{}", fmt::join(parts, " && "));
        },
        [&](const IsMine& m) { return mine(m); },
        [&](const Nonempty& n) {
          std::vector<std::string> parts;
          for (const Range& r : n.ranges) parts.push_back(fmt::format("{} < {}", expr_.text(r.begin, 6), expr_.text(r.end, 6)));
          return fmt::format("{}", fmt::join(parts, " && "));
        });
    codegen::Statement result = block(fmt::format("if ({})", condition), statements(i.body));
    result.otherwise = statements(i.otherwise);
    return {std::move(result)};
  }
  std::string mine(const IsMine& m) {
    std::vector<std::string> parts;
    for (const IsMine::Member& member : m.members) {
      const std::string interval = member.dimension < 0 ? range_name(member.index) : fmt::format("t.out_box[{}]", member.dimension);
      parts.push_back(fmt::format("{0}.lo <= {1} && {1} < {0}.hi", interval, index_name(member.index)));
    }
    return fmt::format("{}", fmt::join(parts, " && "));
  }

  std::string line(const LineReduction& l) {
    const std::string total = local_name(l.local);
    const std::string range = range_text(l.index, l.over);
    std::string body;
    for (const Let& let : l.lets) body += let_text(let) + " ";
    const bool sum = l.kind == ir::Monoid::Kind::kSum;
    printed_.vectors = true;
    return fmt::format("{} {}= rt::lanes::{}<{}>({}, [&](Index {}) {{ {}return {}; }});", total, sum ? "+" : "*", sum ? "sum" : "product",
                       cpp_type(nest_.variable(l.local).type.scalar), range, index_name(l.index), body, expr_.text(l.value));
  }

  Statements blocked(const BlockedReduction& b) {
    printed_.blocked = true;
    codegen::Blocking blocks;
    blocks.row = b.row;
    blocks.column = b.column;
    blocks.reduce = b.along;
    blocks.numbers = b.numbers;
    // Of every value its expression, and the places where it stands.
    const auto values = [&](const std::vector<Let>& lets) {
      codegen::Blocking::Values result;
      for (const Let& let : lets) {
        std::vector<Expr> places = {let.value};
        for (const Expr& e : {b.value, b.guard}) add_reads(e, let.local, places);
        result.push_back(std::move(places));
      }
      return result;
    };
    blocks.x = values(b.x);
    blocks.y = values(b.y);
    const auto interval = [](int index) { return fmt::format("t.labels[{}]", index); };
    codegen::BlockedPlace place{interval(b.row), interval(b.column), {}, place_text(b.to)};
    for (const int k : b.along) place.reduce.push_back(interval(k));
    ir::Compute compute;
    compute.monoid = b.with;
    compute.bodies = {b.value};
    return codegen::blocked_statements(expr_, compute, b.guard, nest_.variable(b.to.variable).type.scalar, blocks, place,
                                       [&](std::string_view name) { return table_.claim(name); });
  }
  static void add_reads(const Expr& e, ValueId local, std::vector<Expr>& places) {
    if (!e) return;
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r != nullptr && r->tensor == local) places.push_back(e);
    for (const Expr& part : ir::children(*e)) add_reads(part, local, places);
  }

  std::string fill(const Fill& f) {
    const Variable& variable = nest_.variable(f.result);
    if (nest_.form == Form::kTask) return fmt::format("rt::fill<{}>({}, {});", cpp_type(variable.type.scalar), local_name(f.result), expr_.text(f.value));
    return fmt::format("if (t.fresh) rt::fill<{}>(t.outputs[{}], {});", cpp_type(variable.type.scalar), variable.number, expr_.text(f.value));
  }

  /// `In<double, 1> x`, `Index i`, `double rate`: those that are not mentioned have no names.
  std::vector<std::string> parameters_of(const Point& p) {
    std::set<int> used;
    const auto scan = [&](const Expr& e) {
      ir::for_each_node(e, [&](const ir::ExprNode& n) {
        if (const auto* r = std::get_if<ir::IndexRef>(&n.op)) used.insert(r->label);
      });
    };
    for (const Let& let : p.lets) scan(let.value);
    scan(p.value);
    if (p.store != nullptr) std::ranges::for_each(p.store->to.subscripts, scan);
    std::map<int, const Variable*> operands;
    for (const Variable& v : nest_.variables) {
      if (v.role == Role::kOperand) operands[v.number] = &v;
    }
    std::vector<std::string> list;
    for (const auto& [number, v] : operands) {
      const auto view = views_.find(number);
      list.push_back(fmt::format("In<{}, {}>{}", cpp_type(v->type.scalar), v->type.rank(), view == views_.end() ? "" : " " + view->second));
    }
    for (std::size_t k = 0; k < nest_.indices.size(); ++k) {
      list.push_back(used.contains(static_cast<int>(k)) ? "Index " + index_name(static_cast<int>(k)) : "Index");
    }
    for (const ValueId v : printed_.captures) list.push_back(parameter(v));
    return list;
  }

  PrintedNest finished(std::string text) {
    printed_.text = std::move(text);
    printed_.calls_library = expr_.calls_library();
    return printed_;
  }

  const Nest& nest_;
  Definitions definitions_;
  codegen::NameTable table_;
  PrintedNest printed_;
  std::map<ValueId, std::string> locals_;
  std::map<int, std::string> views_;   ///< by number of the operand
  std::map<int, std::string> ranges_;  ///< by index
  std::vector<std::pair<std::string, std::string>> faults_;  ///< place as emitted, variable
  std::string out_name_;
  std::set<ValueId> read_;  ///< of functions and tasks
  std::set<ValueId> kept_;  ///< tensors that are declared where they are copied
  SourceLine source_line_;
  std::uint32_t last_line_ = 0;
  ir::SourceRange place_;   ///< of the last statement that has one
  codegen::ExprEmitter expr_;
  Spelling spelling_{nest_, expr_, [this](ValueId v) { return local_name(v); }, [this](int k) { return index_name(k); },
                     [this](const Place& p) { return place_text(p); }, [this](const ir::SourceRange& r) { return line_of(r); }};
};

/// Whether the loop is over the whole interval of the task.
bool is_whole(const TaskRange& range) { return !range.begin && !range.end; }

/// What is inside of loops over indices `next` and so on, in order. A loop of vectors sets `vectors`.
const Body* inside_loops(const Body& body, int& next, bool& vectors) {
  const For* f = body.size() == 1 ? std::get_if<For>(&body.front().op) : nullptr;
  if (f == nullptr) return &body;
  if (f->index != next || f->parts || !is_whole(std::get<TaskRange>(f->over))) return nullptr;
  ++next;
  vectors = f->order == Order::kSimd;
  return inside_loops(f->body, next, vectors);
}

/// Splits names off the one statement behind them.
const Statement* behind_lets(const Body& body, std::vector<Let>& lets) {
  for (std::size_t k = 0; k + 1 < body.size(); ++k) {
    const auto* let = std::get_if<Let>(&body[k].op);
    if (let == nullptr) return nullptr;
    lets.push_back(*let);
  }
  return body.empty() ? nullptr : &body.back();
}

/// `total += …` inside of further loops.
std::optional<Point> sum_of(const Statement& s, int& next) {
  bool vectors = false;
  const Body one{s};
  const Body* inner = inside_loops(one, next, vectors);
  Point p;
  const Statement* last = inner == nullptr ? nullptr : behind_lets(*inner, p.lets);
  if (last == nullptr) return std::nullopt;
  if (const auto* line = std::get_if<LineReduction>(&last->op)) {
    if (!p.lets.empty() || line->kind != ir::Monoid::Kind::kSum || line->index != next++ || !is_whole(line->over)) return std::nullopt;
    return Point{line->lets, nullptr, line->value, true};
  }
  const auto* update = std::get_if<Update>(&last->op);
  if (update == nullptr || update->with.kind != ir::Monoid::Kind::kSum) return std::nullopt;
  p.value = update->value;
  return p;
}

std::optional<Point> point_of(const Nest& nest, int& next) {
  if (!nest.fresh.empty() || nest.only_hit) return std::nullopt;
  bool vectors = false;
  const Body* inner = inside_loops(nest.body, next, vectors);
  if (inner == nullptr || inner->empty()) return std::nullopt;
  const auto* start = std::get_if<Start>(&inner->front().op);
  if (start != nullptr) return start->fresh && inner->size() == 3 ? sum_of((*inner)[1], next) : std::nullopt;
  Point p;
  const Statement* last = behind_lets(*inner, p.lets);
  p.store = last == nullptr ? nullptr : std::get_if<Store>(&last->op);
  if (p.store == nullptr) return std::nullopt;
  p.value = p.store->value;
  p.vectors = vectors;
  return p;
}

}  // namespace

PrintedNest print_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) { return Printer(nest, procedures).function(); }

PrintedNest print_scalar_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) { return Printer(nest, procedures).scalar_function(); }

PrintedNest print_task(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures, const SourceLine& source_line) {
  return Printer(nest, procedures).task(source_line);
}

std::optional<PrintedPoint> print_point(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) {
  int next = 0;
  std::optional<Point> p = point_of(nest, next);
  if (!p || next != static_cast<int>(nest.indices.size())) return std::nullopt;
  return Printer(nest, procedures).point(*p);
}

}  // namespace tdsl::nest
