#include "codegen/print/nests/print_cpp.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/print/nests/printer.h"
#include "codegen/print/writer.h"

namespace tdsl::nest {

using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using Role = Variable::Role;

Printer::Printer(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures)
    : nest_(nest),
      definitions_(definitions_of(nest)),
      arithmetic_(nest),
      counters_(counters_of(nest)),
      expr_(
          claim_names(), [this](ValueId v) { return size_name(v); },
          [this](const ir::ExprNode& n, const std::vector<std::string>& s) { return element(n, s); },
          [this](const ir::SourceRange& place) { return faults_name(place); }) {
  expr_.set_procedures(procedures);
  if (nest.form != Form::kFunction)
    expr_.use_operators([this](const ir::ExprNode& e) { return arithmetic_.is_safe(e); });
  if (nest.form == Form::kKernel || nest.form == Form::kRows)
    expr_.use_vector_math([this](const ir::Select& s) { return takes_both(nest_, definitions_, s); });
  // Bitwise equal to the same statements as operations.
  if (nest.form == Form::kTask) expr_.use_vector_math([](const ir::Select&) { return false; });
}

PrintedNest Printer::scalar_function() {
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
  return finished(fmt::format("{} {}({}) {{\n{}}}\n", cpp_type(std::get<Return>(nest_.body.back().op).value->type),
                              nest_.name, parameters, w.text()));
}

PrintedNest Printer::function() {
  static_cast<void>(out_name());
  const Statements loops = statements(nest_.body);
  codegen::Writer w;
  w.indent();
  for (const auto& [number, name] : views_) {
    const ir::Type& type = operand(number).type;
    if (operand(number).type.is_compressed()) {
      printed_.needs.add(codegen::Header::kStored);
      declare_view(w, name, "rt::stored_in", type, fmt::format("t, {}", number));
    } else {
      declare_view(w, name, "t.in", type, std::to_string(number));
    }
  }
  for (const auto& [key, name] : finders_)
    w.declare(fmt::format("rt::StoredRows<{}>", cpp_type(operand(key.first).type.scalar)),
              fmt::format("{}({})", name, views_.at(key.first)));
  for (const auto& [key, name] : marked_)
    w.declare(fmt::format("rt::MarkedRow<{}>", cpp_type(operand(key.first).type.scalar)),
              fmt::format("{}({})", name, views_.at(key.first)));
  const ir::Type& type = result().type;
  if (result().assembled) {
    printed_.needs.add(codegen::Header::kAssembled);
    w.line("rt::AssembledTile<{}> {}(t);", cpp_type(type.scalar), out_name());
  } else if (result().type.is_compressed()) {
    printed_.needs.add(codegen::Header::kStored);
    w.line("rt::{}<{}> {}(t);", sums_.empty() ? "StoredTile" : "AccumulatedTile", cpp_type(type.scalar), out_name());
  } else {
    const std::string first = nest_.fresh.empty() ? "" : expr_.text(std::get<Fill>(nest_.fresh.front().op).value);
    declare_out(w, out_name(), type, first);
  }
  for (const auto& [index, name] : ranges_) w.declare("const Interval", fmt::format("{} = t.labels[{}]", name, index));
  for (const auto& [line, name] : faults_) w.line("scalar::Faults {};", name);
  if (nest_.only_hit) w.line("if (!t.hit) return;");
  write(w, loops);
  if (result().type.is_compressed()) w.line("{}.{};", out_name(), result().assembled ? assembled_finish() : "finish()");
  if (!faults_.empty()) printed_.needs.add(codegen::Helper::kPlace);
  for (const auto& [line, name] : faults_) w.line("if ({0}.any()) rt::stop(place({1}), {0}.message());", name, line);
  std::string signature = fmt::format("void {}(const TaskArgs& t", nest_.name);
  for (const ValueId v : printed_.captures) signature += ", " + parameter(v);
  return finished(fmt::format("{}) {{\n{}}}\n", signature, w.text()));
}

void Printer::declare_out(codegen::Writer& w, const std::string& name, const ir::Type& type, const std::string& first) {
  declare_view(w, name, first.empty() ? "t.out" : "t.out_from", type, first);
}

PrintedNest Printer::task(const SourceLine& source_line) {
  source_line_ = source_line;
  last_line_ = nest_.place.line;
  // If tensors have the same name, results keep it.
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    if (nest_.variables[k].role == Role::kResult && nest_.variables[k].type.rank() > 0)
      static_cast<void>(local_name({static_cast<std::int32_t>(k)}));
  }
  const Statements body = statements(nest_.body);
  codegen::Writer w;
  w.indent();
  for (const ValueId v : declared_first()) declare(w, spelling_, v);
  write(w, body);
  std::string signature = fmt::format("void {}(const TaskArgs& t", nest_.name);
  for (const ValueId v : printed_.captures) signature += ", " + parameter(v);
  if (printed_.draws) signature += ", std::uint64_t seed";
  return finished(fmt::format("{}) {{\n{}}}\n", signature, w.text()));
}

std::vector<ValueId> Printer::declared_first() const {
  std::vector<ValueId> list;
  for (const auto& [v, name] : locals_) {
    if (!kept_.contains(v)) list.push_back(v);
  }
  std::ranges::stable_sort(list, {},
                           [&](ValueId v) { return std::pair(nest_.variable(v).role, nest_.variable(v).number); });
  return list;
}

std::vector<std::string> Printer::claim_names() {
  for (const Variable& v : nest_.variables) {
    if (v.role == Role::kCapture) static_cast<void>(table_.claim(v.name));
  }
  // Loops of a task follow each other and reuse index names.
  const bool task = nest_.form == Form::kTask;
  for (std::size_t k = 0; k < nest_.variables.size() && nest_.form == Form::kRows; ++k) {
    const Variable& v = nest_.variables[k];
    if (v.role == Role::kOperand) static_cast<void>(view_name(v));
    if (v.role == Role::kResult || (v.role == Role::kLocal && v.type.rank() > 0))
      static_cast<void>(local_name({static_cast<std::int32_t>(k)}));
  }
  if (task) static_cast<void>(table_.claim("seed"));
  std::vector<std::string> names;
  for (const Index& index : nest_.indices) names.push_back(task ? index.name : table_.claim(index.name));
  return names;
}

std::string Printer::open_index(int k) {
  const Index& index = nest_.index(k);
  std::string name = table_.claim(index.name.empty() ? "k" : index.name);
  expr_.name_label(k, name);
  return name;
}

std::string Printer::size_name(ValueId v) {
  const Role role = nest_.variable(v).role;
  return role == Role::kCapture ? captured(v) : role == Role::kPosition ? local_name(v) + ".position" : local_name(v);
}

std::string Printer::captured(ValueId v) {
  if (std::ranges::find(printed_.captures, v) == printed_.captures.end()) printed_.captures.push_back(v);
  return nest_.variable(v).name;
}

std::string Printer::parameter(ValueId v) const {
  return fmt::format("{} {}", cpp_type(nest_.variable(v).type.scalar), nest_.variable(v).name);
}

const std::string& Printer::local_name(ValueId v) {
  const auto found = locals_.find(v);
  if (found != locals_.end()) return found->second;
  const Variable& variable = nest_.variable(v);
  const bool tensor = variable.role == Role::kLocal && variable.type.rank() > 0;
  return locals_[v] = tensor ? claim_next(variable, Role::kResult) : table_.claim(variable.name);
}

std::string Printer::claim_next(const Variable& variable, Role of) {
  const bool next = std::ranges::any_of(nest_.variables, [&](const Variable& other) {
    return other.role == of && other.name == variable.name && other.type.scalar == variable.type.scalar &&
           other.type.rank() == variable.type.rank();
  });
  return table_.claim(next ? "new_" + codegen::identifier_of(variable.name) : variable.name);
}

std::string Printer::view_name(const Variable& operand) {
  const auto found = views_.find(operand.number);
  if (found != views_.end()) return found->second;
  return views_[operand.number] = table_.claim(operand.name);
}

std::string Printer::range_name(int index) {
  if (nest_.index(index).block >= 0) return index_name(nest_.index(index).block);
  if (nest_.form == Form::kRows) return fmt::format("t.labels[{}]", index);
  const auto found = ranges_.find(index);
  if (found != ranges_.end()) return found->second;
  return ranges_[index] = table_.claim("range_" + index_name(index));
}

const Variable& Printer::operand(int number) const {
  return *std::ranges::find_if(nest_.variables,
                               [&](const Variable& v) { return v.role == Role::kOperand && v.number == number; });
}

std::string Printer::out_name() {
  if (out_name_.empty()) out_name_ = claim_next(result(), Role::kOperand);
  return out_name_;
}

std::string Printer::faults_name(const ir::SourceRange& place) {
  const std::string line = line_of(place);
  if (nest_.form == Form::kFunction || nest_.form == Form::kTask) {
    printed_.needs.add(codegen::Helper::kPlace);
    return fmt::format("rt::StopAt{{place, {}}}", line);
  }
  const auto found = std::ranges::find(faults_, line, &std::pair<std::string, std::string>::first);
  if (found != faults_.end()) return found->second;
  const std::string name = faults_.empty() ? "faults" : table_.claim(fmt::format("faults_{}", faults_.size() + 1));
  faults_.emplace_back(line, name);
  return name;
}

std::string Printer::element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
  const ValueId v = std::get<ir::Read>(node.op).tensor;
  const Variable& variable = nest_.variable(v);
  if (variable.role == Role::kCapture) return captured(v);
  if (variable.role == Role::kPosition) return local_name(v) + ".position";
  if (variable.role != Role::kView && variable.type.rank() == 0 &&
      (variable.role != Role::kOperand || nest_.form == Form::kTask))
    return local_name(v);
  std::vector<std::string> list = subscripts;
  for (const Bound& bound : variable.bounds) {
    std::string& s = list[static_cast<std::size_t>(bound.dimension)];
    s = nest_.form == Form::kTask ? inside(s, v, bound) : inside(s, bound);
  }
  if (variable.type.is_compressed()) return stored_element(node, list);
  const bool named = nest_.form == Form::kTask || variable.role != Role::kOperand;
  const std::string view = named ? local_name(nest_.viewed(v)) : view_name(variable);
  return fmt::format("{}({})", view, fmt::join(list, ", "));
}

std::string Printer::inside(const std::string& subscript, ValueId v, const Bound& bound) {
  printed_.needs.add(codegen::Helper::kInside);
  return fmt::format("inside({}, {}.extent[{}], {}, {})", subscript, local_name(nest_.viewed(v)), bound.dimension,
                     line_of(bound.place), codegen::string_literal(bound.what));
}

std::string Printer::inside(const std::string& subscript, const Bound& bound) {
  printed_.needs.add(codegen::Helper::kInside);
  return fmt::format("inside({}, {}, {}, {})", subscript, expr_.text(bound.extent), line_of(bound.place),
                     codegen::string_literal(bound.what));
}

std::string Printer::place_text(const Place& place) {
  const Variable& variable = nest_.variable(place.variable);
  if (nest_.form == Form::kTask && variable.type.rank() > 0) return task_place(place);
  if (nest_.form == Form::kTask && variable.role == Role::kResult)
    return fmt::format("t.out<{}, 0>({})()", cpp_type(variable.type.scalar), variable.number);
  const bool scalar = variable.role == Role::kLocal && variable.type.rank() == 0;
  if (scalar || variable.role == Role::kParameter) return local_name(place.variable);
  std::string list;
  for (std::size_t d = 0; d < place.subscripts.size(); ++d) {
    list += (d == 0 ? "" : ", ") + expr_.subscript(place.subscripts[d]);
    if (d < variable.origin.size() && !(variable.origin[d] == Extent(0)))
      list += " - " + expr_.text(variable.origin[d], 7);
  }
  return fmt::format("{}({})", nest_.form == Form::kRows ? local_name(place.variable) : out_name(), list);
}

std::string Printer::task_place(const Place& place) {
  std::vector<std::string> list;
  for (const Expr& s : place.subscripts) list.push_back(expr_.subscript(s));
  for (const Bound& bound : nest_.variable(place.variable).bounds) {
    std::string& s = list[static_cast<std::size_t>(bound.dimension)];
    s = inside(s, place.variable, bound);
  }
  return fmt::format("{}({})", local_name(nest_.viewed(place.variable)), fmt::join(list, ", "));
}

std::string Printer::let_text(const Let& let) {
  const bool named = nest_.form != Form::kKernel;
  const std::string name = named ? local_name(let.local) : table_.claim(nest_.variable(let.local).name);
  std::string text = fmt::format("{}const {} {} = {};", unread(let.local), type_text(let.local), name,
                                 named ? assigned(let.value) : expr_.text(let.value));
  set_local(let.local, name);
  return text;
}

std::string Printer::assigned(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  const bool number = c != nullptr && e->type == ir::Scalar::kI64 && std::holds_alternative<std::int64_t>(c->value);
  return number ? expr_.subscript(e) : expr_.text(e);
}

PrintedNest Printer::finished(std::string text) {
  printed_.text = std::move(text);
  printed_.calls_library = expr_.calls_library();
  return printed_;
}

PrintedNest print_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) {
  return nest.form == Form::kRows ? Printer(nest, procedures).rows() : Printer(nest, procedures).function();
}

PrintedNest print_scalar_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures) {
  return Printer(nest, procedures).scalar_function();
}

PrintedNest print_task(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures,
                       const SourceLine& source_line) {
  return Printer(nest, procedures).task(source_line);
}

}  // namespace tdsl::nest
