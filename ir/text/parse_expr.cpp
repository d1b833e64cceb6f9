#include "ir/text/parse_expr.h"

#include <algorithm>
#include <limits>

#include "ir/graph/scalar.h"

namespace tdsl::ir {

namespace {

Expr make(Scalar type, ExprOp op) { return Expr(std::make_shared<const ExprNode>(ExprNode{{}, type, std::move(op)})); }

template <class Op>
std::optional<Op> op_named(const std::string& name, Op last) {
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    if (name == name_of(static_cast<Op>(k))) return static_cast<Op>(k);
  }
  return std::nullopt;
}

}  // namespace

ValueId ExprParser::value() {
  cursor_.expect("%");
  const std::int64_t id = cursor_.integer();
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) cursor_.fail("bad value number");
  return {static_cast<std::int32_t>(id)};
}

std::vector<ValueId> ExprParser::value_list(std::string_view open, std::string_view close) {
  std::vector<ValueId> values;
  list(open, close, [&] { values.push_back(value()); });
  return values;
}

Extent ExprParser::extent_factor() {
  if (cursor_.accept("-")) return Extent() - extent_factor();
  if (cursor_.accept("(")) {
    Extent e = extent();
    cursor_.expect(")");
    return e;
  }
  return cursor_.peek() == '%' ? Extent::of(value()) : Extent(magnitude());
}

std::int64_t ExprParser::magnitude() { return static_cast<std::int64_t>(cursor_.natural()); }

Extent ExprParser::extent_term() {
  Extent e = extent_factor();
  for (;;) {
    if (cursor_.accept("*")) {
      e = e * extent_factor();
    } else if (cursor_.accept("/")) {
      e = Extent::quotient(e, extent_factor());
    } else if (cursor_.accept("%")) {
      e = Extent::remainder(e, extent_factor());
    } else {
      return e;
    }
  }
}

Extent ExprParser::extent() {
  Extent e;
  // The leading sign applies to the whole first term.
  if (cursor_.accept("-")) {
    e = Extent() - extent_term();
  } else {
    e = extent_term();
  }
  for (;;) {
    if (cursor_.accept("+")) {
      e = e + extent_term();
    } else if (cursor_.accept("-")) {
      e = e - extent_term();
    } else {
      return e;
    }
  }
}

Type ExprParser::type() {
  Type t;
  t.scalar = cursor_.scalar();
  if (cursor_.peek() != '[') return t;
  list("[", "]", [&] {
    using Level = Format::Level;
    t.format.levels.push_back(cursor_.accept("sparse")       ? Level::kSparse
                              : cursor_.accept("compressed") ? Level::kCompressed
                              : cursor_.accept("coded")      ? Level::kCoded
                                                             : Level::kDense);
    t.shape.push_back(extent());
  });
  return t;
}

Expr ExprParser::typed_literal() {
  const Literal l = cursor_.literal();
  Scalar s = match(
      l, [](bool) { return Scalar::kBool; }, [](std::int64_t) { return Scalar::kI64; },
      [](double) { return Scalar::kF64; }, [](rt::Complex<double>) { return Scalar::kC128; });
  if (cursor_.accept(":")) s = cursor_.scalar();
  if (!holds(s, l)) cursor_.fail("the literal does not fit its type");
  return constant(s, l);
}

Expr ExprParser::element() {
  const ValueId v = value();
  if (static_cast<std::size_t>(v.id) >= program_.values.size()) cursor_.fail("the value is not defined before its use");
  std::vector<Expr> subscripts;
  if (cursor_.peek() == '[') subscripts = expr_list("[", "]");
  return make(program_.type(v).scalar, Read{v, std::move(subscripts)});
}

std::vector<Expr> ExprParser::expr_list(std::string_view open, std::string_view close) {
  std::vector<Expr> items;
  list(open, close, [&] { items.push_back(expr()); });
  return items;
}

Expr ExprParser::label_named(const std::string& name) {
  const auto found = std::ranges::find(labels_, name);
  if (found == labels_.end()) cursor_.fail("no index variable is called `" + name + "`");
  return index_ref(static_cast<std::int32_t>(found - labels_.begin()));
}

Expr ExprParser::call(const std::string& name) {
  const std::vector<Expr> operands = expr_list("(", ")");
  const std::size_t n = operands.size();
  if (std::ranges::any_of(operands, [](const Expr& e) { return !e; })) cursor_.fail("operand missing");
  if (name == "select" && n == 3) return make(operands[1]->type, Select{operands[0], operands[1], operands[2]});
  if (const auto to = rt::element_type_named(name); to && n == 1) return make(*to, Cast{operands[0]});
  if (const auto op = op_named(name, kLastUnaryOp); op && n == 1) {
    const auto t = result_type(*op, operands[0]->type);
    if (!t) cursor_.fail("`" + name + "` is not defined on this type");
    return make(*t, Unary{*op, operands[0]});
  }
  if (const auto op = op_named(name, kLastBinaryOp); op && n == 2) {
    const auto t = result_type(*op, operands[0]->type, operands[1]->type);
    if (!t) cursor_.fail("`" + name + "` is not defined on these types");
    return make(*t, Binary{*op, operands[0], operands[1]});
  }
  cursor_.fail("no operation `" + name + "` with " + std::to_string(n) + " operands");
}

Expr ExprParser::expr() {
  if (cursor_.peek() == '%') return element();
  if (cursor_.accept("#")) return index_ref(static_cast<std::int32_t>(cursor_.integer()));
  if (cursor_.accept("$")) {
    const auto position = static_cast<std::int32_t>(cursor_.integer());
    cursor_.expect(":");
    const Scalar s = cursor_.scalar();
    return argument(s, position);
  }
  if (cursor_.at_literal()) return typed_literal();
  if (cursor_.accept("apply")) return application();
  const std::string name = cursor_.word();
  return cursor_.peek() == '(' ? call(name) : label_named(name);
}

Monoid ExprParser::monoid() {
  Monoid m;
  m.kind = named_kind(cursor_, Monoid::Kind::kUser, "reduction");
  if (m.kind != Monoid::Kind::kUser) return m;
  cursor_.expect("(");
  m.name = cursor_.string();
  cursor_.expect(",");
  m.identity = expr();
  cursor_.expect(",");
  m.combine = expr();
  cursor_.expect(")");
  return m;
}

std::vector<Label> ExprParser::label_list() {
  std::vector<Label> labels;
  list("[", "]", [&] {
    Label l;
    l.name = cursor_.peek() == '"' ? cursor_.string() : cursor_.word();
    cursor_.expect("in");
    l.begin = extent();
    cursor_.expect("..");
    l.end = extent();
    labels_.push_back(l.name);
    labels.push_back(std::move(l));
  });
  return labels;
}

}  // namespace tdsl::ir
