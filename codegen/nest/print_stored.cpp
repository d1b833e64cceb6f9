#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "codegen/nest/printer.h"

// Loops over stored elements, and compressed results (runtime/kernels/stored.h).

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using Role = Variable::Role;

namespace {

bool is_index(const Expr& e, int index) {
  const auto* label = std::get_if<ir::IndexRef>(&e->op);
  return label != nullptr && label->label == index;
}

/// The columns of walks over an operand.
std::set<int> columns_in(const Nest& nest, const Body& body, int number) {
  std::set<int> columns;
  for_each_statement(body, [&](const Statement& s) {
    const auto* f = std::get_if<For>(&s.op);
    const auto* row = f == nullptr ? nullptr : std::get_if<StoredRow>(&f->over);
    if (row != nullptr && nest.variable(row->operand).number == number) columns.insert(f->index);
  });
  return columns;
}

/// Whether the body needs the index by name, other than to say which element of the walked operand is meant.
class Mentions {
 public:
  Mentions(const Nest& nest, int number, int row, std::set<int> columns) : nest_(nest), number_(number), row_(row), columns_(std::move(columns)) {}

  [[nodiscard]] bool any(const Body& body, int index) const {
    bool found = false;
    for_each_statement(body, [&](const Statement& s) {
      for_each_expr(s, [&](const Expr& e) { found = found || in(e, index); });
      const auto* f = std::get_if<For>(&s.op);
      const auto* row = f == nullptr ? nullptr : std::get_if<StoredRow>(&f->over);
      if (row == nullptr) return;
      for (const Place& p : row->ahead) {
        for (const Expr& e : p.subscripts) found = found || (index != f->index && in(e, index));
      }
    });
    return found;
  }

 private:
  [[nodiscard]] bool in(const Expr& e, int index) const {
    if (is_index(e, index)) return true;
    if (const auto* r = std::get_if<ir::Read>(&e->op); r != nullptr && is_element(*r)) return false;
    return std::ranges::any_of(ir::children(*e), [&](const Expr& part) { return in(part, index); });
  }
  [[nodiscard]] bool is_element(const ir::Read& r) const {
    const Variable& v = nest_.variable(r.tensor);
    return v.compressed && v.number == number_ && is_index(r.subscripts[0], row_) && std::ranges::any_of(columns_, [&](int c) { return is_index(r.subscripts[1], c); });
  }

  const Nest& nest_;
  int number_;
  int row_;
  std::set<int> columns_;
};

/// `a` of A, else `value`.
std::string element_name(const std::string& tensor) {
  if (tensor.size() != 1 || std::isupper(static_cast<unsigned char>(tensor.front())) == 0) return "value";
  return std::string(1, static_cast<char>(std::tolower(static_cast<unsigned char>(tensor.front()))));
}

}  // namespace

std::string Printer::stored_declaration(int number, const std::string& name) const {
  const ir::Type& type = operand(number).type;
  return fmt::format("const auto {} = rt::stored_in<{}, {}>(t, {});", name, cpp_type(type.scalar), type.rank(), number);
}

std::string Printer::stored_element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
  const auto& r = std::get<ir::Read>(node.op);
  const Variable& variable = nest_.variable(r.tensor);
  const auto found = walks_.find(variable.number);
  if (found != walks_.end() && found->second.column >= 0 && is_index(r.subscripts[0], found->second.row) && is_index(r.subscripts[1], found->second.column)) {
    found->second.read = true;
    return found->second.element;
  }
  return fmt::format("{}.locate({})", view_name(variable), fmt::join(subscripts, ", "));
}

Statements Printer::stored_rows(const For& f, const StoredRows& rows) {
  const Variable& operand = nest_.variable(rows.operand);
  const std::string tensor = view_name(operand);
  const std::string range = range_name(f.index);
  const std::string row = table_.claim("row");
  walks_[operand.number] = {f.index, -1, row, {}};
  Statements inner = statements(f.body);
  if (result().compressed) inner.insert(inner.begin(), simple(fmt::format("{}.row({});", out_name(), put_subscript(0, index_name(f.index)))));
  if (result().compressed || Mentions(nest_, operand.number, f.index, columns_in(nest_, f.body, operand.number)).any(f.body, f.index)) inner.insert(inner.begin(), simple(fmt::format("const Index {} = {}.index();", index_name(f.index), row)));
  walks_.erase(operand.number);
  table_.release(row);
  return {block(fmt::format("{}.rows({}, [&](const auto& {})", tensor, range, row), std::move(inner), "});")};
}

Statements Printer::stored_row(const For& f, const StoredRow& row) {
  const Variable& operand = nest_.variable(row.operand);
  Walked& walk = walks_.at(operand.number);
  walk.column = f.index;
  walk.element = table_.claim(element_name(operand.name));
  Statements inner = statements(f.body);
  const Index& index = nest_.index(f.index);
  const std::string& j = index_name(f.index);
  const bool whole = index.begin == Extent(0) && index.end == operand.type.shape[1];
  if (!whole) inner = {block(fmt::format("if ({0}.lo <= {1} && {1} < {0}.hi)", range_name(f.index), j), std::move(inner))};
  const bool named = !whole || Mentions(nest_, operand.number, walk.row, {f.index}).any(f.body, f.index);
  std::string head = fmt::format("{}.each({}[&](Index{}, {}{})", walk.name, ahead_text(row, j), named ? " " + j : "", cpp_type(operand.type.scalar),
                                 walk.read ? " " + walk.element : "");
  table_.release(walk.element);
  walk.column = -1;
  walk.read = false;
  return {block(std::move(head), std::move(inner), "});")};
}

/// `[&](Index j) { rt::fetch_ahead(x(j)); }, `
std::string Printer::ahead_text(const StoredRow& row, const std::string& j) {
  std::string text;
  for (const Place& p : row.ahead) {
    std::vector<std::string> list;
    for (const Expr& s : p.subscripts) list.push_back(expr_.subscript(s));
    const Variable& v = nest_.variable(p.variable);
    const std::string element = v.role == Role::kResult ? place_text(p) : fmt::format("{}({})", view_name(v), fmt::join(list, ", "));
    text += fmt::format("rt::fetch_ahead({}); ", element);
  }
  return text.empty() ? text : fmt::format("[&](Index {}) {{ {}}}, ", j, text);
}

/// Of a compressed result: from its tile's tensor's first element.
std::string Printer::put_subscript(std::size_t dimension, const std::string& index) {
  const std::vector<Extent>& origin = result().origin;
  if (dimension >= origin.size() || origin[dimension] == Extent(0)) return index;
  return fmt::format("{} - {}", index, expr_.text(origin[dimension], 7));
}

std::string Printer::put(const Store& s) {
  const auto& column = std::get<ir::IndexRef>(s.to.subscripts[1]->op);
  return fmt::format("{}.put({}, {});", out_name(), put_subscript(1, index_name(column.label)), expr_.text(s.value));
}

}  // namespace tdsl::nest
