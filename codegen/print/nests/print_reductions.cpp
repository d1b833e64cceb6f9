#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "codegen/print/nests/named_joins.h"
#include "codegen/print/nests/printer.h"
#include "ir/analysis/combined.h"
#include "ir/analysis/vector_form.h"
#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"

namespace tdsl::nest {

using codegen::block;
using codegen::cpp_type;
using codegen::simple;
using codegen::Statements;
using ir::Monoid;

namespace {

/// Precedence of the right operand of a sum above which it needs no parentheses (see spelling()).
constexpr int kFactorPrecedence = 7;

/// `x` for `x(i, j)` with these arguments; else empty.
std::string called_with(const std::string& text, const std::string& arguments) {
  const std::string function = text.substr(0, text.find('('));
  return text == fmt::format("{}({})", function, arguments) ? function : "";
}

/// The names of a reduction with a mask in rt::lanes, and of its operator.
std::pair<std::string_view, std::string_view> masked_names(Monoid::Kind kind) {
  if (kind == Monoid::Kind::kMin) return {"least", "least"};
  if (kind == Monoid::Kind::kMax) return {"greatest", "greatest"};
  return kind == Monoid::Kind::kProd ? std::pair{"product", "multiply"} : std::pair{"sum", "add"};
}

/// The factors of a float sum of products or squares, for fused multiply-adds.
std::optional<std::pair<Expr, Expr>> added_product(const BlockedReduction& b, ir::Scalar type) {
  if (b.with.kind != Monoid::Kind::kSum || !ir::is_real(type) || b.value->type != type) return std::nullopt;
  const auto* body = std::get_if<ir::Binary>(&b.value->op);
  if (body == nullptr) return std::nullopt;
  if (ir::is_square(*body)) return std::pair{body->left, body->left};
  if (body->op == ir::BinaryOp::kMul) return std::pair{body->left, body->right};
  return std::nullopt;
}

}  // namespace

Statements Printer::accumulation(const Monoid& monoid, const Expr& body, ir::Scalar type, const std::string& target,
                                 const std::string& argument) {
  const bool real = ir::is_float(type);
  const auto assign = [&](std::string_view function) {
    return Statements{simple(fmt::format("{0} = scalar::{1}({0}, {2});", target, function, expr_.text(body)))};
  };
  switch (monoid.kind) {
    case Monoid::Kind::kSum:
      return real ? Statements{simple(fmt::format("{} += {};", target, expr_.text(body)))} : assign("add");
    case Monoid::Kind::kProd:
      return real ? Statements{simple(fmt::format("{} *= {};", target, expr_.text(body)))} : assign("multiply");
    case Monoid::Kind::kMin: return assign("least");
    case Monoid::Kind::kMax: return assign("greatest");
    // The element is always evaluated, as in sequential execution: it may report a fault.
    case Monoid::Kind::kAny: return {simple(fmt::format("{0} = {1} || {0};", target, expr_.text(body, 3)))};
    case Monoid::Kind::kAll: return {simple(fmt::format("{0} = {1} && {0};", target, expr_.text(body, 3)))};
    case Monoid::Kind::kUser: {
      expr_.set_arguments(target, argument);
      const Expr both = ir::combined(monoid, ir::argument(type, 0), ir::argument(type, 1));
      return {simple(fmt::format("const {} {} = {};", cpp_type(type), argument, expr_.text(body))),
              simple(fmt::format("{} = {};", target, expr_.text(both)))};
    }
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: break;
  }
  TDSL_CHECK(false, "argmin and argmax have been lowered");
  return {};
}

std::string Printer::search(const LineReduction& l) {
  const auto& b = std::get<ir::Binary>(l.mask->op);
  return fmt::format("{0} = scalar::add({0}, rt::{1}({2}, {3}, [&](Index {4}) {{ return {5}; }}));",
                     local_name(l.local), b.op == ir::BinaryOp::kLt ? "count_below" : "count_up_to",
                     range_text(l.index, l.over), expr_.text(b.right), index_name(l.index), expr_.text(b.left));
}

std::string Printer::masked_line(const LineReduction& l) {
  if (l.masks == LineReduction::Mask::kFirst) return search(l);
  const std::string total = local_name(l.local), index = index_name(l.index);
  const std::string type(cpp_type(nest_.variable(l.local).type.scalar));
  expr_.avoid_branches(true);
  const std::string mask = expr_.text(l.mask);
  expr_.avoid_branches(false);
  std::string value;
  for (const Let& let : l.lets) value += let_text(let) + " ";
  value += fmt::format("return {};", expr_.text(l.value));
  const auto function = [&](const Expr& e, const std::string& text) {
    return fmt::format("[&](Index{}) {{ {} }}", !l.lets.empty() || ir::mentions_label(e, l.index) ? " " + index : "",
                       text);
  };
  const auto [name, combine] = masked_names(l.kind);
  const bool members = l.masks == LineReduction::Mask::kOnly;
  printed_.vectors = true;
  printed_.masks = printed_.masks || !members;
  const std::string sum = fmt::format("rt::lanes::{}_where<{}{}>({}, {}, {})", name, type,
                                      members ? ", rt::lanes::kMembers" : "", range_text(l.index, l.over),
                                      function(l.mask, fmt::format("return {};", mask)), function(l.value, value));
  const bool real = ir::is_float(nest_.variable(l.local).type.scalar);
  if (real && l.kind == Monoid::Kind::kSum) return fmt::format("{} += {};", total, sum);
  if (real && l.kind == Monoid::Kind::kProd) return fmt::format("{} *= {};", total, sum);
  return fmt::format("{0} = scalar::{1}({0}, {2});", total, combine, sum);
}

std::string Printer::line(const LineReduction& l) {
  if (l.mask) return masked_line(l);
  const std::string total = local_name(l.local);
  std::string arguments = range_text(l.index, l.over), parameter;
  if (l.parts) {
    arguments += ", " + inner_text(*l.parts);
    parameter = "auto " + set_local(*l.parts->inside, table_.claim(nest_.variable(*l.parts->inside).name)) + ", ";
    printed_.needs.add(codegen::Header::kParts);
  }
  std::string body;
  for (const Let& let : l.lets) body += let_text(let) + " ";
  body += fmt::format("return {};", expr_.text(l.value));
  if (l.parts) table_.release(local_name(*l.parts->inside));
  const bool sum = l.kind == ir::Monoid::Kind::kSum;
  printed_.vectors = true;
  return fmt::format("{} {}= rt::{}{}<{}>({}, [&]({}Index {}) {{ {} }});", total, sum ? "+" : "*",
                     l.parts ? "inner_" : "lanes::", sum ? "sum" : "product",
                     cpp_type(nest_.variable(l.local).type.scalar), arguments, parameter, index_name(l.index), body);
}

Statements Printer::blocked(const BlockedReduction& b) {
  const auto interval = [this](int index) {
    return nest_.form == Form::kRows ? range_text(index, {}) : fmt::format("t.labels[{}]", index);
  };
  const std::string rows = interval(b.row), columns = interval(b.column), element = place_text(b.to);
  std::vector<std::string> along;
  for (const int k : b.along) along.push_back(interval(k));
  const ir::Scalar scalar = nest_.variable(b.to.variable).type.scalar;
  const std::string type(cpp_type(scalar));
  Statements result;
  std::vector<std::string> names;
  const auto add = [&](int index, const std::vector<Let>& values, const char* name) {
    names.push_back(view_of(b, index, values));
    if (!names.back().empty()) return;
    names.back() = table_.claim(name);
    result.push_back(simple(fmt::format("const auto {} = {};", names.back(), values_text(b, index, values))));
  };
  add(b.row, b.x, "x_values");
  add(b.column, b.y, "y_values");
  const std::string known = named_join(b, scalar);
  printed_.needs.add(known.empty() ? codegen::Header::kBlockedReduction : codegen::Header::kJoins);
  std::string numbers;
  if (known.empty()) {
    names.push_back(add_combine(b, scalar, result, numbers));
  } else {
    names.push_back(fmt::format("rt::joins::{}<{}>", known, type));
  }
  names.push_back(called_with(element, index_name(b.row) + ", " + index_name(b.column)));
  if (names.back().empty()) {
    names.back() = table_.claim("element");
    result.push_back(simple(fmt::format("const auto {} = [&](Index {}, Index {}) -> {}& {{ return {}; }};",
                                        names.back(), index_name(b.row), index_name(b.column), type, element)));
  }
  if (b.points) names.back() = fmt::format("rt::blocked::Where({}{})", names.back(), conditions(b));
  if (!numbers.empty()) names.insert(names.end(), {"rt::simd_level()", numbers});
  result.push_back(simple(fmt::format("rt::blocked_reduction<{}>({}, {}, std::array{{{}}}, {});", type, rows, columns,
                                      fmt::join(along, ", "), fmt::join(names, ", "))));
  return result;
}

std::string Printer::add_combine(const BlockedReduction& b, ir::Scalar type, Statements& to, std::string& numbers) {
  std::string parameters = fmt::format("{} total", cpp_type(type));
  for (const std::vector<Let>* lets : {&b.x, &b.y}) {
    for (const Let& let : *lets)
      parameters += fmt::format(", {} {}", type_text(let.local),
                                set_local(let.local, table_.claim(nest_.variable(let.local).name)));
  }
  const auto add = [&](const char* wanted, bool of_numbers) {
    const std::string name = table_.claim(wanted);
    to.push_back(
        block(fmt::format("const auto {} = [=]({})", name, parameters), combination(b, type, of_numbers), "};"));
    return name;
  };
  std::string name = add("combine", false);
  if (b.numbers) numbers = add("combine_numbers", true);
  return name;
}

std::string Printer::conditions(const BlockedReduction& b) {
  std::string result;
  for (const Expr& part : ir::conjuncts(b.points)) {
    const std::set<int> used = ir::labels_in(part);
    const auto declared = [&](int k) { return "Index" + (used.contains(k) ? " " + index_name(k) : ""); };
    result += fmt::format(", [&]({}, {}) {{ return {}; }}", declared(b.row), declared(b.column), expr_.text(part));
  }
  return result;
}

std::string Printer::view_of(const BlockedReduction& b, int index, const std::vector<Let>& values) {
  if (values.size() != 1 || !std::holds_alternative<ir::Read>(values.front().value->op)) return "";
  std::string labels = index_name(index);
  for (const int k : b.along) labels += ", " + index_name(k);
  return called_with(expr_.text(values.front().value), labels);
}

std::string Printer::values_text(const BlockedReduction& b, int index, const std::vector<Let>& values) {
  std::string list;
  std::set<int> used;
  for (const Let& let : values) {
    list += (list.empty() ? "" : ", ") + expr_.text(let.value);
    used.merge(ir::labels_in(let.value));
  }
  const auto declared = [&](int k) { return "Index" + (used.contains(k) ? " " + index_name(k) : ""); };
  std::string parameters = declared(index);
  for (const int k : b.along) parameters += ", " + declared(k);
  return fmt::format("[&]({}) {{ return {}; }}", parameters,
                     values.size() == 1 ? list : fmt::format("std::tuple({})", list));
}

Statements Printer::combination(const BlockedReduction& b, ir::Scalar type, bool numbers) {
  Statements body;
  if (numbers) {
    const std::string_view function = b.with.kind == Monoid::Kind::kMin ? "min_number" : "max_number";
    body = {simple(fmt::format("total = scalar::{}(total, {});", function, expr_.text(b.value)))};
  } else if (const auto factors = added_product(b, type)) {
    body = {simple(
        fmt::format("total = std::fma({}, {}, total);", expr_.text(factors->first), expr_.text(factors->second)))};
  } else {
    body = accumulation(b.with, b.value, type, "total", "next");
  }
  if (b.guard) body = {block(fmt::format("if ({})", expr_.text(b.guard)), std::move(body))};
  const bool returns = body.size() == 1 && !body.front().has_block;
  if (returns) body = {simple(returned(body.front().text, b.value))};
  if (!returns) body.push_back(simple("return total;"));
  return body;
}

std::string Printer::returned(const std::string& assignment, const Expr& value) {
  constexpr std::string_view kBecomes = "total = ";
  if (assignment.starts_with(kBecomes)) return "return " + assignment.substr(kBecomes.size());
  const bool adds = assignment.starts_with("total +=");
  return fmt::format("return total {} {};", adds ? "+" : "*",
                     expr_.text(value, adds ? kFactorPrecedence : kFactorPrecedence + 1));
}

}  // namespace tdsl::nest
