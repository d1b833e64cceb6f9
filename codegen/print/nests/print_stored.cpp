#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "codegen/print/nests/printer.h"
#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"

// Loops over stored elements, and compressed results (runtime/kernels/stored.h).

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using Role = Variable::Role;

namespace {

/// A level of an operand over which the loop of an index iterates.
struct OpenFibre {
  int number = 0;
  std::vector<int> outer;
  int index = 0;

  /// True if the subscripts denote the current element.
  [[nodiscard]] bool is_element(const std::vector<Expr>& subscripts) const {
    if (subscripts.size() != outer.size() + 1) return false;
    for (std::size_t d = 0; d < outer.size(); ++d) {
      if (!ir::is_label(subscripts[d], outer[d])) return false;
    }
    return ir::is_label(subscripts.back(), index);
  }
  /// True if `below` is the fibre under the current element of this one.
  [[nodiscard]] bool is_above(const OpenFibre& below) const {
    return number == below.number && below.outer.size() == outer.size() + 1 && below.outer.back() == index &&
           std::equal(outer.begin(), outer.end(), below.outer.begin());
  }
};

/// Finds out if a body needs an index by name, other than in reads of the current elements of iterated operands.
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
    if (const auto* branch = std::get_if<If>(&s.op))
      return found || any(branch->body, index) || any(branch->otherwise, index);
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
    if (ir::is_label(e, index)) return true;
    if (const auto* r = std::get_if<ir::Read>(&e->op); r != nullptr && is_walked(*r)) return false;
    return std::ranges::any_of(ir::children(*e), [&](const Expr& part) { return in(part, index); });
  }
  [[nodiscard]] bool is_walked(const ir::Read& r) const {
    const Variable& v = nest_.variable(r.tensor);
    return v.type.is_compressed() && std::ranges::any_of(open_, [&](const OpenFibre& open) {
             return open.number == v.number && open.is_element(r.subscripts);
           });
  }

  const Nest& nest_;
  std::vector<OpenFibre> open_;
};

bool updates_result(const Nest& nest, const Body& body) {
  bool found = false;
  for_each_statement(body, [&](const Statement& s) {
    const auto* u = std::get_if<Update>(&s.op);
    found = found || (u != nullptr && nest.variable(u->to.variable).type.is_compressed());
  });
  return found;
}

/// The fibre that the loop over the index iterates over, if it is a single one.
const Fibre* found_walk(const Body& body, int index) {
  const Fibre* found = nullptr;
  for_each_statement(body, [&](const Statement& s) {
    const auto* f = std::get_if<For>(&s.op);
    const auto* stored = f == nullptr || f->index != index ? nullptr : std::get_if<Stored>(&f->over);
    if (stored != nullptr && stored->fibres.size() == 1) found = &stored->fibres.front();
  });
  return found;
}

/// True if recomputing it costs nothing: elements and arithmetic on them.
bool is_light(const Expr& e) {
  const bool part = std::holds_alternative<ir::Binary>(e->op) || std::holds_alternative<ir::Read>(e->op) ||
                    std::holds_alternative<ir::Constant>(e->op) || std::holds_alternative<ir::IndexRef>(e->op);
  return part && std::ranges::all_of(ir::children(*e), is_light);
}

/// True if a body takes long to compile, and runs long enough for a few more instructions.
bool has_loops(const Body& body) {
  bool found = false;
  for_each_statement(body, [&](const Statement& s) {
    found = found || std::holds_alternative<For>(s.op) || std::holds_alternative<LineReduction>(s.op) ||
            std::holds_alternative<RowReduction>(s.op);
  });
  return found;
}

/// The update of one row of a dense result by a loop over elements: a loop along the row that contains the sum.
struct RowSum {
  const For* along = nullptr;
  const Update* update = nullptr;
};
std::optional<RowSum> row_sum(const Nest& nest, const For& f, const Stored& over) {
  if (over.fibres.size() != 1 || over.fibres.front().outer.empty() || f.body.size() != 1) return std::nullopt;
  const auto* along = std::get_if<For>(&f.body.front().op);
  const auto* range = along == nullptr ? nullptr : std::get_if<TaskRange>(&along->over);
  if (range == nullptr || range->begin || range->end || along->parts || along->order != Order::kSimd ||
      along->body.size() != 1)
    return std::nullopt;
  const auto* update = std::get_if<Update>(&along->body.front().op);
  if (update == nullptr || update->with.kind != ir::Monoid::Kind::kSum || update->to.subscripts.empty())
    return std::nullopt;
  const Variable& to = nest.variable(update->to.variable);
  const std::vector<Expr>& place = update->to.subscripts;
  const bool stays =
      ir::is_label(place.back(), along->index) &&
      std::ranges::none_of(place, [&](const Expr& e) { return ir::mentions_label(e, f.index); }) &&
      std::none_of(place.begin(), place.end() - 1, [&](const Expr& e) { return ir::mentions_label(e, along->index); });
  if (to.type.is_compressed() || !ir::is_real(to.type.scalar) || update->value->type != to.type.scalar || !stays ||
      !is_light(update->value))
    return std::nullopt;
  return RowSum{along, update};
}

}  // namespace

std::string element_name(const std::string& tensor) {
  if (tensor.size() != 1 || std::isupper(static_cast<unsigned char>(tensor.front())) == 0) return "value";
  return std::string(1, static_cast<char>(std::tolower(static_cast<unsigned char>(tensor.front()))));
}

std::string Printer::stored_element(const ir::ExprNode& node, const std::vector<std::string>& subscripts) {
  const auto& r = std::get<ir::Read>(node.op);
  const Variable& variable = nest_.variable(r.tensor);
  for (Walked& walk : walks_) {
    if (walk.number != variable.number || !OpenFibre{walk.number, walk.outer, walk.index}.is_element(r.subscripts))
      continue;
    walk.read = true;
    return walk.name;
  }
  if (!stays(r.subscripts)) return fmt::format("{}.locate({})", view_name(variable), fmt::join(subscripts, ", "));
  std::string& row = marked_[{variable.number, std::get<ir::IndexRef>(r.subscripts.front()->op).label}];
  if (row.empty()) row = table_.claim(view_name(variable) + "_row");
  return fmt::format("{}({})", row, subscripts.back());
}

/// True for a lookup in a matrix row that does not change during a loop between those of row and column.
bool Printer::stays(const std::vector<Expr>& subscripts) const {
  if (subscripts.size() != 2) return false;
  const auto depth_of = [&](const Expr& e) {
    return std::ranges::find_if(walks_, [&](const Walked& walk) { return ir::is_label(e, walk.index); }) -
           walks_.begin();
  };
  const auto row = static_cast<std::size_t>(depth_of(subscripts[0]));
  const auto column = static_cast<std::size_t>(depth_of(subscripts[1]));
  if (column >= walks_.size() || row >= column) return false;
  return std::any_of(walks_.begin() + static_cast<std::ptrdiff_t>(row),
                     walks_.begin() + static_cast<std::ptrdiff_t>(column),
                     [&](const Walked& walk) { return walk.index != walks_[row].index; });
}

/// At the beginning of the index's loop, marks the rows in which inner loops look up elements.
void Printer::add_marks(const For& f, Statements& body) const {
  for (const auto& [key, name] : marked_) {
    if (key.second == f.index)
      body.insert(body.begin(), simple(fmt::format("{}.mark({});", name, index_name(f.index))));
  }
}

/// True if the body needs the loop's index by name.
bool Printer::mentions_index(const For& f) const {
  std::vector<OpenFibre> open;
  for (const Walked& walk : walks_) open.push_back({walk.number, walk.outer, walk.index});
  return Mentions(nest_, std::move(open)).any(f.body, f.index);
}

Statements Printer::stored(const For& f, const Stored& over) {
  if (over.by != ir::ByValue::kNone) return by_value(f, over);
  const Fibre& fibre = over.fibres.front();
  const std::size_t rank = nest_.variable(fibre.operand).type.rank();
  return fibre.outer.size() + 1 == rank ? stored_row(f, over) : stored_rows(f, over);
}

/// True if the loop runs over all rows of a compressed result.
bool Printer::runs_over_rows(const For& f) const {
  if (nest_.form != Form::kKernel || !result().type.is_compressed() || result().assembled ||
      !std::holds_alternative<TaskRange>(f.over))
    return false;
  return std::ranges::any_of(nest_.body, [&](const Statement& s) { return std::get_if<For>(&s.op) == &f; });
}

/// `A`, or `rt::either(A, B)`.
std::string Printer::rows_text(const Stored& over) {
  std::vector<std::string> tensors;
  for (const Fibre& fibre : over.fibres) tensors.push_back(view_name(nest_.variable(fibre.operand)));
  if (tensors.size() == 1) return tensors.front();
  return fmt::format("rt::{}({})",
                     over.merge == ir::Merge::kUnion          ? "either"
                     : over.merge == ir::Merge::kIntersection ? "both"
                                                              : "along",
                     fmt::join(tensors, ", "));
}

/// A level with others below: `A.rows(range_i, [&](const auto& row)` of a matrix, `A.walk(range_i, [&](const auto&
/// row)` and `row.walk([&](const auto& fibre)` of tensors with more dimensions.
Statements Printer::stored_rows(const For& f, const Stored& over) {
  const Fibre& fibre = over.fibres.front();
  const bool outermost = fibre.outer.empty();
  const bool matrix = nest_.variable(fibre.operand).type.rank() == 2;
  const std::string head =
      outermost ? fmt::format("{}.{}({}, ", rows_text(over), matrix ? "rows" : "walk", range_name(f.index))
                : row_text(fibre) + ".walk(";
  const std::string row = table_.claim(outermost ? "row" : "fibre");
  const bool begins_row = result().type.is_compressed() && fibre.outer.size() + 1 < result().type.rank();
  const std::size_t before = walks_.size();
  for (const Fibre& walked : over.fibres)
    walks_.push_back({nest_.variable(walked.operand).number, walked.outer, f.index, row});
  const bool combines = begins_row && updates_result(nest_, f.body);
  if (combines) sums_ = table_.claim("sums");
  Statements inner = statements(f.body);
  if (combines) {
    inner = accumulated_row(f, std::move(inner));
  } else if (begins_row) {
    const std::size_t level = fibre.outer.size();
    const std::string index = put_subscript(level, index_name(f.index));
    inner.insert(inner.begin(),
                 simple(result().type.rank() == 2 ? fmt::format("{}.row({});", out_name(), index)
                                                  : fmt::format("{}.at({}, {});", out_name(), level, index)));
  }
  add_marks(f, inner);
  if (begins_row || mentions_index(f))
    inner.insert(inner.begin(), simple(fmt::format("const Index {} = {}.index();", index_name(f.index), row)));
  walks_.resize(before);
  table_.release(row);
  return {block(fmt::format("{}[&](const auto& {})", head, row), std::move(inner), "});")};
}

Statements Printer::stored_row(const For& f, const Stored& over) {
  const Fibre& first = over.fibres.front();
  const bool vector = first.outer.empty();
  const std::string row = vector ? rows_text(over) : row_text(first);
  const std::size_t before = walks_.size();
  for (const Fibre& fibre : over.fibres) {
    const Variable& operand = nest_.variable(fibre.operand);
    walks_.push_back({operand.number, fibre.outer, f.index, table_.claim(element_name(operand.name))});
  }
  const std::optional<RowSum> sum = row_sum(nest_, f, over);
  std::string sums, along, place;
  Statements inner;
  if (sum) {
    sums = table_.claim("sums");
    along = index_name(sum->along->index);
    place = place_text(sum->update->to);
    inner = {
        simple(fmt::format("{}.add([&](Index {}) {{ return {}; }});", sums, along, expr_.text(sum->update->value)))};
    printed_.vectors = true;
  } else {
    inner = statements(f.body);
  }
  add_marks(f, inner);
  const std::string& j = index_name(f.index);
  const bool part = over.within.begin || over.within.end;
  const bool whole = vector || part || is_whole(f, first);
  if (!whole) inner = inside_range(f.index, std::move(inner));
  const bool named = !whole || mentions_index(f);
  std::string elements;
  for (std::size_t k = 0; k < over.fibres.size(); ++k) {
    const Walked& walk = walks_[before + k];
    elements += fmt::format(", {}{}", cpp_type(nest_.variable(over.fibres[k].operand).type.scalar),
                            walk.read ? " " + walk.name : "");
    table_.release(walk.name);
  }
  std::string totals;
  for (const ValueId v : over.sums) {
    elements += fmt::format(", {}& {}", cpp_type(nest_.variable(v).type.scalar), local_name(v));
    totals += ", " + local_name(v);
  }
  const std::string range = part || vector ? range_text(f.index, over.within) + ", " : "";
  const bool once = !sum && !vector && over.fibres.size() == 1 && has_loops(f.body);
  std::string head = fmt::format("{}.{}({}{}[&](Index{}{})", row,
                                 !over.sums.empty() ? "sums"
                                 : once             ? "each_long"
                                                    : "each",
                                 range, ahead_text(over.ahead, f.index), named ? " " + j : "", elements);
  walks_.resize(before);
  Statements loop{block(std::move(head), std::move(inner), fmt::format("}}{});", totals))};
  if (!sum) return loop;
  table_.release(sums);
  const std::string_view type = cpp_type(nest_.variable(sum->update->to.variable).type.scalar);
  return {block(fmt::format("rt::row_panels<{0}>({1}, [&](Index {2}) -> {0}& {{ return {3}; }}, [&](auto& {4})", type,
                            range_text(sum->along->index, {}), along, place, sums),
                std::move(loop), "});")};
}

/// True if the index has the whole range of the level.
bool Printer::is_whole(const For& f, const Fibre& fibre) const {
  const Index& index = nest_.index(f.index);
  return index.begin == Extent(0) && index.end == nest_.variable(fibre.operand).type.shape[fibre.outer.size()];
}

Statements Printer::inside_range(int index, Statements body) {
  const auto [begin, end] = bounds(index, {});
  return {block(fmt::format("if ({0} <= {1} && {1} < {2})", begin, index_name(index), end), std::move(body))};
}

/// The current row of an iteration over rows, or any row: `B_row(k)`.
std::string Printer::row_text(const Fibre& fibre) {
  const Variable& operand = nest_.variable(fibre.operand);
  const auto above = std::ranges::find_if(walks_, [&](const Walked& walk) {
    return OpenFibre{walk.number, walk.outer, walk.index}.is_above({operand.number, fibre.outer, -1});
  });
  if (above != walks_.end()) return above->name;
  TDSL_CHECK(operand.type.rank() == 2, "rows of matrices are located");
  const int row = fibre.outer.front();
  return fmt::format("{}({})", finder(operand.number, row), index_name(row));
}

/// The name of the object that locates rows of an operand in any order.
const std::string& Printer::finder(int number, int outer) {
  std::string& name = finders_[{number, outer}];
  if (name.empty()) name = table_.claim(view_name(operand(number)) + "_rows");
  return name;
}

/// `C.row(i, B_rows.stored(row), [&](auto& sums) { … });`
Statements Printer::accumulated_row(const For& f, Statements body) {
  std::string elements;
  const int number = std::ranges::find(walks_, f.index, &Walked::index)->number;
  for (const auto& [key, name] : finders_) {
    const auto* walked = found_walk(f.body, key.second);
    const bool below = walked != nullptr && walked->outer == std::vector<int>{f.index} &&
                       nest_.variable(walked->operand).number == number;
    if (!below || !elements.empty()) continue;
    const bool last = nest_.variable(walked->operand).type.rank() == walked->outer.size() + 1;
    elements = fmt::format("{}.{}({}), ", name, last ? "stored" : "stored_below", walks_.back().name);
  }
  table_.release(sums_);
  return {block(
      fmt::format("{}.row({}, {}[&](auto& {})", out_name(), put_subscript(0, index_name(f.index)), elements, sums_),
      std::move(body), "});")};
}

/// `rt::elements_ahead<double>(range_j.size()), [&](Index j) { rt::fetch_ahead(x(j)); }, `; of rows
/// `rt::rows_ahead<double>(range_f.size(), range_j.size()), [&](Index j) { rt::fetch_ahead(&B(j, range_f.lo),
/// range_f.size()); }, `
std::string Printer::ahead_text(const std::vector<Place>& ahead, int index) {
  std::string text, distance;
  bool rows = false, located = false;
  const std::string& j = index_name(index);
  for (const Place& p : ahead) {
    const Variable& v = nest_.variable(p.variable);
    const auto* last = std::get_if<ir::IndexRef>(&p.subscripts.back()->op);
    const bool row =
        last != nullptr && std::ranges::none_of(walks_, [&](const Walked& walk) { return walk.index == last->label; });
    std::vector<std::string> list;
    for (const Expr& s : p.subscripts) list.push_back(expr_.subscript(s));
    if (v.type.is_compressed()) {
      located = true;
      text += fmt::format("{}.fetch_ahead({}); ",
                          finder(v.number, std::get<ir::IndexRef>(p.subscripts.front()->op).label), list.front());
      continue;
    }
    if (row) list.back() = range_text(last->label, {}) + ".lo";
    for (std::size_t d = 0; d < list.size() && v.role == Role::kResult; ++d) list[d] = put_subscript(d, list[d]);
    const std::string element =
        v.role == Role::kResult && nest_.form == Form::kRows
            ? place_text(p)
            : fmt::format("{}({})", v.role == Role::kResult ? out_name() : view_name(v), fmt::join(list, ", "));
    text += row ? fmt::format("rt::fetch_ahead(&{}, {}.size()); ", element, range_text(last->label, {}))
                : fmt::format("rt::fetch_ahead({}); ", element);
    const std::string_view type = cpp_type(v.type.scalar);
    if (row && !rows) {
      rows = true;
      distance = fmt::format("rt::rows_ahead<{}>({}.size(), {}.size()), ", type, range_text(last->label, {}),
                             range_text(index, {}));
    } else if (distance.empty()) {
      distance = fmt::format("rt::elements_ahead<{}>({}.size()), ", type, range_text(index, {}));
    }
  }
  if (text.empty()) return text;
  return fmt::format("{}[&](Index {}) {{ {}}}, ", located && !rows ? "" : distance, j, text);
}

/// A subscript of a compressed result, relative to the tensor's first element.
std::string Printer::put_subscript(std::size_t dimension, const std::string& index) {
  const std::vector<Extent>& origin = result().origin;
  if (dimension >= origin.size() || origin[dimension] == Extent(0)) return index;
  return fmt::format("{} - {}", index, expr_.text(origin[dimension], 7));
}

std::string Printer::add_element(const Update& u) {
  const auto& column = std::get<ir::IndexRef>(u.to.subscripts[1]->op);
  return fmt::format("{}.add({}, {});", sums_, put_subscript(1, index_name(column.label)), expr_.text(u.value));
}

std::string Printer::put(const Store& s) {
  const std::size_t last = s.to.subscripts.size() - 1;
  const auto& column = std::get<ir::IndexRef>(s.to.subscripts[last]->op);
  return fmt::format("{}.put({}, {});", out_name(), put_subscript(last, index_name(column.label)), expr_.text(s.value));
}

std::string Printer::put_entry(const Place& to, const Expr& value) {
  std::vector<std::string> at;
  for (const Expr& s : to.subscripts) at.push_back(expr_.subscript(s));
  return fmt::format("{}.put({{{}}}, {});", out_name(), fmt::join(at, ", "), expr_.text(value));
}

std::string_view combine_name(ir::Monoid::Kind kind, bool of_bools) {
  using Kind = ir::Monoid::Kind;
  switch (kind) {
    case Kind::kSum: return "kSum";
    case Kind::kProd: return of_bools ? "kAll" : "kProd";
    case Kind::kMin: return of_bools ? "kAll" : "kMin";
    case Kind::kMax: return of_bools ? "kAny" : "kMax";
    case Kind::kAny: return "kAny";
    case Kind::kAll: return "kAll";
    default: return "kNone";
  }
}

std::string Printer::assembled_finish() {
  const Update* update = nullptr;
  for_each_statement(nest_.body, [&](const Statement& s) {
    if (const auto* u = std::get_if<Update>(&s.op)) update = u;
  });
  if (update != nullptr)
    return fmt::format("finish(Combine::{})",
                       combine_name(update->with.kind, result().type.scalar == ir::Scalar::kBool));
  printed_.needs.add(codegen::Helper::kPlace);
  const std::string message = fmt::format("an element of `{}` is written twice by `=` [assertion]", result().name);
  return fmt::format("finish_once(place({}), {})", line_of(nest_.place), codegen::string_literal(message));
}

}  // namespace tdsl::nest
