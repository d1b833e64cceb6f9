#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/nest/printer.h"
#include "ir/check.h"

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

/// A level of an operand that a loop over the index walks.
struct OpenFibre {
  int number = 0;
  std::vector<int> outer;
  int index = 0;

  /// Whether the subscripts are those of the element where the walk is.
  [[nodiscard]] bool is_element(const std::vector<Expr>& subscripts) const {
    if (subscripts.size() != outer.size() + 1) return false;
    for (std::size_t d = 0; d < outer.size(); ++d) {
      if (!is_index(subscripts[d], outer[d])) return false;
    }
    return is_index(subscripts.back(), index);
  }
  /// Whether the fibre lies below the element of this one where its walk is.
  [[nodiscard]] bool is_above(const OpenFibre& below) const {
    return number == below.number && below.outer.size() == outer.size() + 1 && below.outer.back() == index && std::equal(outer.begin(), outer.end(), below.outer.begin());
  }
};

/// Whether a body needs an index by name, other than to say which element of a walked operand is meant.
class Mentions {
 public:
  Mentions(const Nest& nest, std::vector<OpenFibre> open) : nest_(nest), open_(std::move(open)) {}

  [[nodiscard]] bool any(const Body& body, int index) {
    return std::ranges::any_of(body, [&](const Statement& s) { return in(s, index); });
  }

 private:
  [[nodiscard]] bool in(const Statement& s, int index) {
    bool found = false;
    for_each_expr(s, [&](const Expr& e) { found = found || in(e, index); });
    if (const auto* branch = std::get_if<If>(&s.op)) return found || any(branch->body, index) || any(branch->otherwise, index);
    const auto* f = std::get_if<For>(&s.op);
    if (f == nullptr || found) return found;
    const auto* stored = std::get_if<Stored>(&f->over);
    if (stored == nullptr) return any(f->body, index);
    for (const Place& p : stored->ahead) {
      for (const Expr& e : p.subscripts) found = found || (index != f->index && in(e, index));
    }
    const std::size_t before = open_.size();
    for (const Fibre& fibre : stored->fibres) {
      const OpenFibre walked{nest_.variable(fibre.operand).number, fibre.outer, f->index};
      const bool below = std::ranges::any_of(open_, [&](const OpenFibre& open) { return open.is_above(walked); });
      found = found || (!below && std::ranges::find(fibre.outer, index) != fibre.outer.end());
      open_.push_back(walked);
    }
    found = found || any(f->body, index);
    open_.resize(before);
    return found;
  }
  [[nodiscard]] bool in(const Expr& e, int index) const {
    if (is_index(e, index)) return true;
    if (const auto* r = std::get_if<ir::Read>(&e->op); r != nullptr && is_walked(*r)) return false;
    return std::ranges::any_of(ir::children(*e), [&](const Expr& part) { return in(part, index); });
  }
  [[nodiscard]] bool is_walked(const ir::Read& r) const {
    const Variable& v = nest_.variable(r.tensor);
    return v.compressed && std::ranges::any_of(open_, [&](const OpenFibre& open) { return open.number == v.number && open.is_element(r.subscripts); });
  }

  const Nest& nest_;
  std::vector<OpenFibre> open_;
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
  for (Walked& walk : walks_) {
    if (walk.number != variable.number || !OpenFibre{walk.number, walk.outer, walk.index}.is_element(r.subscripts)) continue;
    walk.read = true;
    return walk.name;
  }
  return fmt::format("{}.locate({})", view_name(variable), fmt::join(subscripts, ", "));
}

/// Whether the body needs the loop's index by name.
bool Printer::mentions_index(const For& f) const {
  std::vector<OpenFibre> open;
  for (const Walked& walk : walks_) open.push_back({walk.number, walk.outer, walk.index});
  return Mentions(nest_, std::move(open)).any(f.body, f.index);
}

Statements Printer::stored(const For& f, const Stored& over) {
  const Fibre& fibre = over.fibres.front();
  const std::size_t rank = nest_.variable(fibre.operand).type.rank();
  TDSL_CHECK(rank == 2, "loops over the levels of matrices are printed");
  return fibre.outer.empty() ? stored_rows(f, over) : stored_row(f, over);
}

/// `A`, or `rt::either(A, B)`.
std::string Printer::rows_text(const Stored& over) {
  using Meet = ir::StoredLoop::Meet;
  std::vector<std::string> tensors;
  for (const Fibre& fibre : over.fibres) tensors.push_back(view_name(nest_.variable(fibre.operand)));
  if (tensors.size() == 1) return tensors.front();
  return fmt::format("rt::{}({})", over.meet == Meet::kAny ? "either" : over.meet == Meet::kAll ? "both" : "along", fmt::join(tensors, ", "));
}

Statements Printer::stored_rows(const For& f, const Stored& over) {
  const std::string tensor = rows_text(over);
  const std::string range = range_name(f.index);
  const std::string row = table_.claim("row");
  const bool begins_row = walks_.empty() && result().compressed;
  const std::size_t before = walks_.size();
  for (const Fibre& fibre : over.fibres) walks_.push_back({nest_.variable(fibre.operand).number, {}, f.index, row});
  Statements inner = statements(f.body);
  if (begins_row) inner.insert(inner.begin(), simple(fmt::format("{}.row({});", out_name(), put_subscript(0, index_name(f.index)))));
  if (begins_row || mentions_index(f)) inner.insert(inner.begin(), simple(fmt::format("const Index {} = {}.index();", index_name(f.index), row)));
  walks_.resize(before);
  table_.release(row);
  return {block(fmt::format("{}.rows({}, [&](const auto& {})", tensor, range, row), std::move(inner), "});")};
}

Statements Printer::stored_row(const For& f, const Stored& over) {
  const std::string row = row_text(over.fibres.front());
  const std::size_t before = walks_.size();
  for (const Fibre& fibre : over.fibres) {
    const Variable& operand = nest_.variable(fibre.operand);
    walks_.push_back({operand.number, fibre.outer, f.index, table_.claim(element_name(operand.name))});
  }
  Statements inner = statements(f.body);
  const Index& index = nest_.index(f.index);
  const std::string& j = index_name(f.index);
  const bool whole = index.begin == Extent(0) && index.end == nest_.variable(over.fibres.front().operand).type.shape[1];
  if (!whole) inner = {block(fmt::format("if ({0}.lo <= {1} && {1} < {0}.hi)", range_name(f.index), j), std::move(inner))};
  const bool named = !whole || mentions_index(f);
  std::string elements;
  for (std::size_t k = 0; k < over.fibres.size(); ++k) {
    const Walked& walk = walks_[before + k];
    elements += fmt::format(", {}{}", cpp_type(nest_.variable(over.fibres[k].operand).type.scalar), walk.read ? " " + walk.name : "");
    table_.release(walk.name);
  }
  std::string head = fmt::format("{}.each({}[&](Index{}{})", row, ahead_text(over.ahead, j), named ? " " + j : "", elements);
  walks_.resize(before);
  return {block(std::move(head), std::move(inner), "});")};
}

/// The row where a walk over rows is, or any row: `B_row(k)`.
std::string Printer::row_text(const Fibre& fibre) {
  const Variable& operand = nest_.variable(fibre.operand);
  const auto above = std::ranges::find_if(walks_, [&](const Walked& walk) { return walk.number == operand.number && walk.outer.empty() && walk.index == fibre.outer.front(); });
  TDSL_CHECK(above != walks_.end(), "a row is below a walk over rows");
  return above->name;
}

/// `[&](Index j) { rt::fetch_ahead(x(j)); }, `
std::string Printer::ahead_text(const std::vector<Place>& ahead, const std::string& j) {
  std::string text;
  for (const Place& p : ahead) {
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
