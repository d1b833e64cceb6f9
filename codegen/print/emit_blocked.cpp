#include "codegen/print/emit_blocked.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "ir/analysis/combined.h"
#include "ir/analysis/vector_form.h"
#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

using ir::Monoid;

namespace {

/// Precedence that the right side of a sum needs to stand without parentheses (see spelling()).
constexpr int kFactorPrecedence = 7;

class BlockedEmitter {
 public:
  BlockedEmitter(ExprEmitter& expr, const ir::Compute& compute, const Expr& guard, ir::Scalar type,
                 const Blocking& blocks, const std::function<std::string(std::string_view)>& claim)
      : expr_(expr), compute_(compute), guard_(guard), type_(type), blocks_(blocks), claim_(claim) {}

  Statements run(const BlockedPlace& place) {
    const auto& labels = expr_.labels();
    const std::string x = values_function(blocks_.row, blocks_.x);
    const std::string y = values_function(blocks_.column, blocks_.y);
    const std::string parameters = name_values();
    const Statements combine = combination(false);
    const Statements of_numbers = blocks_.numbers ? combination(true) : Statements{};
    expr_.replace_nothing();
    const std::string type(cpp_type(type_));
    std::vector<std::string> names;
    for (const char* name : {"x_values", "y_values", "combine", "element"}) names.push_back(claim_(name));
    Statements result;
    result.push_back(simple(fmt::format("const auto {} = {};", names[0], x)));
    result.push_back(simple(fmt::format("const auto {} = {};", names[1], y)));
    result.push_back(block(fmt::format("const auto {} = [=]({})", names[2], parameters), combine, "};"));
    result.push_back(simple(fmt::format("const auto {} = [&](Index {}, Index {}) -> {}& {{ return {}; }};", names[3],
                                        labels[static_cast<std::size_t>(blocks_.row)],
                                        labels[static_cast<std::size_t>(blocks_.column)], type, place.element)));
    if (blocks_.numbers) {
      const std::string name = claim_("combine_numbers");
      result.push_back(block(fmt::format("const auto {} = [=]({})", name, parameters), of_numbers, "};"));
      names.insert(names.end(), {"rt::simd_level()", name});
    }
    result.push_back(simple(fmt::format("rt::blocked_reduction<{}>({}, {}, std::array{{{}}}, {});", type, place.rows,
                                        place.columns, fmt::join(place.reduce, ", "), fmt::join(names, ", "))));
    return result;
  }

 private:
  /// `[&](Index i, Index k) { return std::tuple(A(i, k)); }`
  std::string values_function(int label, const Blocking::Values& values) {
    std::string list;
    std::set<int> used;
    for (const std::vector<Expr>& places : values) {
      list += (list.empty() ? "" : ", ") + expr_.text(places.front());
      used.merge(ir::labels_in(places.front()));
    }
    const auto parameter = [&](int l) {
      return "Index" + (used.contains(l) ? " " + expr_.labels()[static_cast<std::size_t>(l)] : "");
    };
    std::string parameters = parameter(label);
    for (const int l : blocks_.reduce) parameters += ", " + parameter(l);
    return fmt::format("[&]({}) {{ return std::tuple({}); }}", parameters, list);
  }

  /// Names of the values of a row and of those of a column; returns the parameters of the scalar function between them
  /// and an element.
  std::string name_values() {
    std::string parameters = fmt::format("{} total", cpp_type(type_));
    const auto name_all = [&](const Blocking::Values& values, std::string_view stem) {
      for (const std::vector<Expr>& places : values) {
        const std::string name = claim_(stem);
        parameters += fmt::format(", {} {}", cpp_type(places.front()->type), name);
        for (const Expr& e : places) expr_.replace(e.id(), name);
      }
    };
    name_all(blocks_.x, "x");
    name_all(blocks_.y, "y");
    return parameters;
  }

  /// The body of the scalar function; `numbers`: of values that make no nan.
  Statements combination(bool numbers) {
    const Monoid& m = *compute_.monoid;
    Statements body;
    if (numbers) {
      const std::string_view function = m.kind == Monoid::Kind::kMin ? "min_number" : "max_number";
      body = {simple(fmt::format("total = scalar::{}(total, {});", function, expr_.text(compute_.bodies.front())))};
    } else if (const auto factors = added_product()) {
      body = {simple(
          fmt::format("total = std::fma({}, {}, total);", expr_.text(factors->first), expr_.text(factors->second)))};
    } else {
      body = accumulation(expr_, m, compute_.bodies.front(), type_, "total");
    }
    if (guard_) body = {block(fmt::format("if ({})", expr_.text(guard_)), std::move(body))};
    if (body.size() == 1 && !body.front().has_block) {
      body = {simple(returned(body.front().text))};
    } else {
      body.push_back(simple("return total;"));
    }
    return body;
  }

  /// Of a float sum of products or squares, the factors: they are added without a rounding in between.
  [[nodiscard]] std::optional<std::pair<Expr, Expr>> added_product() const {
    if (compute_.monoid->kind != Monoid::Kind::kSum || !ir::is_float(type_)) return std::nullopt;
    const auto* body = std::get_if<ir::Binary>(&compute_.bodies.front()->op);
    if (body == nullptr || compute_.bodies.front()->type != type_) return std::nullopt;
    if (ir::is_square(*body)) return std::pair{body->left, body->left};
    if (body->op == ir::BinaryOp::kMul) return std::pair{body->left, body->right};
    return std::nullopt;
  }

  /// `return total + x * y;` for `total += x * y;`
  [[nodiscard]] std::string returned(const std::string& assignment) {
    constexpr std::string_view kBecomes = "total = ";
    if (assignment.starts_with(kBecomes)) return "return " + assignment.substr(kBecomes.size());
    const bool adds = assignment.starts_with("total +=");
    return fmt::format("return total {} {};", adds ? "+" : "*",
                       expr_.text(compute_.bodies.front(), adds ? kFactorPrecedence : kFactorPrecedence + 1));
  }

  ExprEmitter& expr_;
  const ir::Compute& compute_;
  const Expr& guard_;
  ir::Scalar type_;
  const Blocking& blocks_;
  const std::function<std::string(std::string_view)>& claim_;
};

}  // namespace

Statements accumulation(ExprEmitter& expr, const Monoid& monoid, const Expr& body, ir::Scalar type,
                        const std::string& target, const std::string& argument) {
  const bool real = ir::is_float(type);
  const auto assign = [&](std::string_view function) {
    return Statements{simple(fmt::format("{0} = scalar::{1}({0}, {2});", target, function, expr.text(body)))};
  };
  switch (monoid.kind) {
    case Monoid::Kind::kSum:
      return real ? Statements{simple(fmt::format("{} += {};", target, expr.text(body)))} : assign("add");
    case Monoid::Kind::kProd:
      return real ? Statements{simple(fmt::format("{} *= {};", target, expr.text(body)))} : assign("multiply");
    case Monoid::Kind::kMin: return assign("least");
    case Monoid::Kind::kMax: return assign("greatest");
    // The element is evaluated in any case, as the sequential meaning says: it may report a fault.
    case Monoid::Kind::kAny: return {simple(fmt::format("{0} = {1} || {0};", target, expr.text(body, 3)))};
    case Monoid::Kind::kAll: return {simple(fmt::format("{0} = {1} && {0};", target, expr.text(body, 3)))};
    case Monoid::Kind::kUser: {
      expr.set_arguments(target, argument);
      const Expr both = ir::combined(monoid, ir::argument(type, 0), ir::argument(type, 1));
      return {simple(fmt::format("const {} {} = {};", cpp_type(type), argument, expr.text(body))),
              simple(fmt::format("{} = {};", target, expr.text(both)))};
    }
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: break;
  }
  TDSL_CHECK(false, "argmin and argmax have been lowered");
  return {};
}

Statements blocked_statements(ExprEmitter& expr, const ir::Compute& compute, const Expr& guard, ir::Scalar type,
                              const Blocking& blocks, const BlockedPlace& place,
                              const std::function<std::string(std::string_view)>& claim) {
  return BlockedEmitter(expr, compute, guard, type, blocks, claim).run(place);
}

}  // namespace tdsl::codegen
