#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "codegen/nest/facts.h"
#include "codegen/print/nests/printer.h"
#include "ir/analysis/by_value.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

// Loops over stored elements that run once per distinct value of a column (runtime/kernels/coded.h).

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;

namespace {

auto place_of(const For& rows, const For& elements) {
  return std::ranges::find_if(rows.body, [&](const Statement& s) { return std::get_if<For>(&s.op) == &elements; });
}
/// The statements before the loop over elements, and those after it.
Body before(const For& rows, const For& elements) { return {rows.body.begin(), place_of(rows, elements)}; }
Body after(const For& rows, const For& elements) { return {place_of(rows, elements) + 1, rows.body.end()}; }

}  // namespace

Statements Printer::by_value(const For& f, const Stored& over) {
  if (over.by == ir::ByValue::kPasses) return by_passes(f, over);
  printed_.needs.add(codegen::Header::kCoded);
  const Fibre& rows = over.fibres.front();
  const Variable& x = nest_.variable(rows.operand);
  const For* const elements = loop_over_elements(f);
  TDSL_CHECK(elements != nullptr, "a loop by value has elements inside");
  const std::string head = fmt::format("({}, {}, ", view_name(x), range_name(f.index));
  const std::size_t outside = walks_.size();
  walks_.push_back({x.number, {}, f.index, "row"});
  walks_.push_back({x.number, {f.index}, elements->index, table_.claim(element_name(x.name))});
  Statements result = over.by == ir::ByValue::kTotals   ? row_totals(f, *elements, head)
                      : over.by == ir::ByValue::kCounts ? each_value(*elements, head)
                                                        : weighted_values(f, *elements, head);
  table_.release(walks_.back().name);
  walks_.resize(outside);
  return result;
}

namespace {

/// True if the expression differs between the rows of a matrix, apart from its elements: it depends on the index or on
/// these locals.
bool varies(const Expr& e, int row, ValueId matrix, const std::set<ValueId>& locals) {
  if (ir::is_label(e, row)) return true;
  if (const auto* r = std::get_if<ir::Read>(&e->op)) {
    if (r->tensor == matrix) return false;
    if (locals.contains(r->tensor)) return true;
  }
  return std::ranges::any_of(ir::children(*e), [&](const Expr& part) { return varies(part, row, matrix, locals); });
}

bool reads(const Expr& e, ValueId local) {
  bool found = false;
  ir::for_each_read(e, [&](const ir::Read& r) { found = found || r.tensor == local; });
  return found;
}

}  // namespace

/// `if (X.has_codes()) { … } else { … }`: the updates one after the other, each once per distinct value, or the loop.
Statements Printer::by_passes(const For& f, const Stored& over) {
  const ValueId matrix = over.fibres.front().operand;
  std::set<ValueId> of_row;  // locals
  Body lets;                 // those that are constants
  std::map<ValueId, std::string> names;
  Statements coded;
  const auto add = [&](Statements more) { std::ranges::move(more, std::back_inserter(coded)); };
  for (const Statement& s : f.body) {
    if (const auto* let = std::get_if<Let>(&s.op)) {
      if (!varies(let->value, f.index, matrix, of_row)) {
        add(statements({s}));
        continue;
      }
      of_row.insert(let->local);
      lets.push_back(s);
    } else if (const auto* var = std::get_if<Var>(&s.op)) {
      of_row.insert(var->local);
      names[var->local] = local_name(var->local);
    } else if (const auto* elements = std::get_if<For>(&s.op)) {
      for (const Statement& update : elements->body) add(by_value_alone(f, *elements, update, lets, of_row));
    }
  }
  for (const auto& [local, name] : names) set_local(local, name);
  For plain = f;
  std::get<Stored>(plain.over).by = ir::ByValue::kNone;
  codegen::Statement result =
      block(fmt::format("if ({}.has_codes())", view_name(nest_.variable(matrix))), std::move(coded));
  result.otherwise = stored(plain, std::get<Stored>(plain.over));
  return {std::move(result)};
}

/// One update of a loop by passes in loops of its own. A value of the row is then read where it is stored.
Statements Printer::by_value_alone(const For& f, const For& elements, const Statement& update, const Body& lets,
                                   const std::set<ValueId>& of_row) {
  const Update& u = *update_in(update);
  For alone{f.index, f.over, f.order, {}};
  auto& over = std::get<Stored>(alone.over);
  const Statement inner{For{elements.index, elements.over, elements.order, {update}}};
  if (of_row.contains(u.to.variable)) {
    over.by = ir::ByValue::kTotals;
    const Statement* const store = store_of(f, u.to.variable);
    for (const Statement& s : f.body) {
      if (const auto* var = std::get_if<Var>(&s.op); var != nullptr && var->local == u.to.variable)
        alone.body.push_back(s);
    }
    alone.body.push_back(inner);
    alone.body.push_back(*store);
    Statements result = by_value(alone, over);
    set_local(u.to.variable, place_text(std::get<Store>(store->op).to));
    return result;
  }
  over.by = ir::ByValue::kCounts;
  if (varies(u.value, f.index, over.fibres.front().operand, of_row)) {
    over.by = ir::ByValue::kWeights;
    std::ranges::copy_if(lets, std::back_inserter(alone.body),
                         [&](const Statement& s) { return reads(u.value, std::get<Let>(s.op).local); });
  }
  alone.body.push_back(inner);
  return by_value(alone, over);
}

codegen::Statement Printer::of_element(const For& elements, Statements body, const std::string& head,
                                       const std::string& more, const std::string& tail) {
  const Fibre& fibre = std::get<Stored>(elements.over).fibres.front();
  const bool whole = is_whole(elements, fibre);
  if (!whole) body = inside_range(elements.index, std::move(body));
  const std::string index = !whole || mentions_index(elements) ? " " + index_name(elements.index) : "";
  const Walked& walk = walks_.back();
  const std::string element = walk.read ? " " + walk.name : "";
  return block(fmt::format("{}[&](Index{}, {}{}, {})", head, index, cpp_type(nest_.variable(fibre.operand).type.scalar),
                           element, more),
               std::move(body), tail);
}

/// `rt::row_totals<Combine::kSum>(X, range_i, 0.0, [&](Index j, double x, double& total) { … }, [&](Index i, double
/// total) { … });`
Statements Printer::row_totals(const For& f, const For& elements, const std::string& head) {
  const Var* total = nullptr;
  for (const Statement& s : f.body) {
    if (const auto* var = std::get_if<Var>(&s.op)) total = var;
  }
  const Update* update = nullptr;
  for_each_statement(elements.body, [&](const Statement& s) {
    if (const auto* u = std::get_if<Update>(&s.op)) update = u;
  });
  TDSL_CHECK(total != nullptr && update != nullptr, "totals of rows are locals");
  const Variable& local = nest_.variable(total->local);
  const std::string identity = assigned(total->value);
  set_local(total->local, local.name);
  const std::string_view type = cpp_type(local.type.scalar);
  Statements body = statements(elements.body);
  std::string first =
      fmt::format("rt::row_totals<Combine::{}>{}{}({}), ",
                  combine_name(update->with.kind, local.type.scalar == ir::Scalar::kBool), head, type, identity);
  Statements result{of_element(elements, std::move(body), first, fmt::format("{}& {}", type, local.name), "},")};
  For rest{f.index, f.over, f.order, after(f, elements)};
  Statements put = statements(rest.body);
  const std::string index = mentions_index(rest) ? " " + index_name(f.index) : "";
  result.push_back(
      block(fmt::format("[&](Index{}, {} {})", index, type, local_name(total->local)), std::move(put), "});"));
  return result;
}

/// `rt::each_value(X, range_i, [&](Index j, double x, Index count) { … });`
Statements Printer::each_value(const For& elements, const std::string& head) {
  count_ = table_.claim("count");
  Statements body = statements(elements.body);
  bool adds = false;
  for_each_statement(elements.body, [&](const Statement& s) {
    const auto* u = std::get_if<Update>(&s.op);
    adds = adds || (u != nullptr && u->with.kind == ir::Monoid::Kind::kSum);
  });
  const std::string more = adds ? "Index " + count_ : "Index";
  table_.release(count_);
  count_.clear();
  return {of_element(elements, std::move(body), "rt::each_value" + head, more, "});")};
}

/// `rt::weighted_values(X, range_i, [&](Index i) { return w(i); }, [&](Index j, double x, double weight) { z(j) += x *
/// weight; });`
Statements Printer::weighted_values(const For& f, const For& elements, const std::string& head) {
  const auto& update = std::get<Update>(elements.body.front().op);
  const auto type_of = [this](ValueId v) -> const ir::Type& { return nest_.variable(v).type; };
  const Expr of_row = ir::weight_of(update.value, type_of);
  TDSL_CHECK(of_row, "a loop by weights adds products");
  Statements weigh = statements(before(f, elements));
  weigh.push_back(simple(fmt::format("return {};", expr_.text(of_row))));
  const std::string weight = table_.claim("weight");
  const std::string_view type = cpp_type(update.value->type);
  Walked& element = walks_.back();
  element.read = true;
  Statements body{simple(fmt::format("{} += {} * {};", place_text(update.to), element.name, weight))};
  Statements result{
      block(fmt::format("rt::weighted_values{}[&](Index {})", head, index_name(f.index)), std::move(weigh), "},")};
  result.push_back(of_element(elements, std::move(body), "", fmt::format("{} {}", type, weight), "});"));
  table_.release(weight);
  return result;
}

}  // namespace tdsl::nest
