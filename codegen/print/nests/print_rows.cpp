#include <fmt/format.h>

#include <map>
#include <utility>

#include "codegen/print/nests/printer.h"

// Nests of rows: fused operators on blocks of rows (runtime/kernels/rows.h).

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::Statements;
using Role = Variable::Role;

PrintedNest Printer::rows() {
  const Statements loops = statements(nest_.body);
  if (declarations_.empty()) declarations_ = row_declarations();
  codegen::Writer w;
  w.indent();
  w.raw(declarations_);
  for (const auto& [line, name] : faults_) w.line("scalar::Faults {};", name);
  write(w, loops);
  if (!faults_.empty()) printed_.needs.add(codegen::Helper::kPlace);
  printed_.needs.add(codegen::Header::kRows);
  for (const auto& [line, name] : faults_) w.line("if ({0}.any()) rt::stop(place({1}), {0}.message());", name, line);
  std::string signature = fmt::format("void {}(const TaskArgs& t", nest_.name);
  for (const ValueId v : printed_.captures) signature += ", " + parameter(v);
  return finished(fmt::format("{}) {{\n{}}}\n", signature, w.text()));
}

Statements Printer::blocks(const For& f, const Blocks& over) {
  Statements body = statements(f.body);
  declarations_ = row_declarations();
  std::string locals;
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    const ValueId v{static_cast<std::int32_t>(k)};
    if (nest_.variables[k].role == Role::kLocal && nest_.variables[k].type.rank() > 0) locals += ", " + local_name(v);
  }
  std::string work = fmt::format("rt::rows::Work::{}", over.products ? "kProducts" : "kLines");
  if (over.codes)
    work = fmt::format("{}.has_codes() ? rt::rows::Work::kCodes : {}", view_name(nest_.variable(*over.codes)), work);
  return {block(fmt::format("for (const Interval {} : rt::rows::Blocks({}, {}, {}{}))", index_name(f.index),
                            range_name(f.index), work, expr_.text(over.bytes), locals),
                std::move(body))};
}

std::string Printer::row_declarations() {
  codegen::Writer w;
  w.indent();
  std::map<ValueId, std::string> first;
  for (const Statement& s : nest_.fresh) {
    const auto& fill = std::get<Fill>(s.op);
    first[fill.result] = expr_.text(fill.value);
  }
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    const Variable& v = nest_.variables[k];
    if (v.role == Role::kOperand && v.type.is_compressed()) {
      printed_.needs.add(codegen::Header::kStored);
      declare_view(w, view_name(v), "rt::stored_in", v.type, fmt::format("t, {}", v.number));
    } else if (v.role == Role::kOperand) {
      declare_view(w, view_name(v), "t.in", v.type, std::to_string(v.number));
    }
    if (v.role != Role::kResult) continue;
    const ValueId result{static_cast<std::int32_t>(k)};
    if (v.place) {
      declare_view(
          w, local_name(result), "rt::rows::piece_from", v.type,
          fmt::format("t, {}, {}, {}", expr_.text(*v.place), extents_text(spelling_, result), first.at(result)));
    } else {
      declare_out(w, local_name(result), v.type, first.contains(result) ? first.at(result) : "");
    }
  }
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    const Variable& v = nest_.variables[k];
    if (v.role != Role::kLocal || v.type.rank() == 0) continue;
    std::string extents;
    for (std::size_t d = 1; d < v.type.rank(); ++d) extents += (d == 1 ? "" : ", ") + expr_.text(v.type.shape[d]);
    w.declare(fmt::format("rt::rows::Local<{}, {}>", cpp_type(v.type.scalar), v.type.rank()),
              local_name({static_cast<std::int32_t>(k)}) + (extents.empty() ? "" : fmt::format("({{{}}})", extents)));
  }
  return w.text();
}

std::string Printer::part_text(const Place& place) {
  const Variable& v = nest_.variable(place.variable);
  std::string view = v.role == Role::kOperand ? view_name(v) : local_name(place.variable);
  for (const Expr& s : place.subscripts) view = fmt::format("rt::rows::at({}, {})", view, expr_.subscript(s));
  return view;
}

std::string Printer::row_products(const RowProducts& p) {
  using Kind = RowProducts::Kind;
  const std::string_view type = cpp_type(nest_.variable(p.to.variable).type.scalar);
  const std::string_view function = p.kind == Kind::kRows    ? "product"
                                    : p.kind == Kind::kSums  ? "add_product"
                                    : p.kind == Kind::kUpper ? "add_upper_product"
                                    : p.kind == Kind::kDot   ? "dot"
                                                             : "add_scaled";
  std::string y = part_text(p.y);
  if (p.transposed) y = fmt::format("rt::rows::transposed<const {}>({})", type, y);
  std::string along;
  for (const int k : p.along) along += ", " + range_text(k, {});
  return fmt::format("rt::rows::{}<{}>({}, {}, {}, {}{});", function, type, part_text(p.to), part_text(p.x),
                     index_name(p.block), y, along);
}

std::string Printer::fill_rows(const FillRows& f) {
  const Variable& v = nest_.variable(f.to.variable);
  std::string lines;
  for (std::size_t d = f.to.subscripts.size() + 1; d < v.type.rank(); ++d)
    lines += (lines.empty() ? "" : ", ") + fmt::format("Interval{{0, {}}}", expr_.text(v.type.shape[d]));
  return fmt::format("rt::rows::fill<{}, {}>({}, {}, {{{}}}, {});", cpp_type(v.type.scalar),
                     v.type.rank() - f.to.subscripts.size(), part_text(f.to), index_name(f.block), lines,
                     expr_.text(f.value));
}

}  // namespace tdsl::nest
