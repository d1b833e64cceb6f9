#include <algorithm>
#include <array>
#include <limits>

#include "ir/infer.h"
#include "ir/print.h"
#include "ir/text_cursor.h"

namespace tdsl::ir {

namespace {

Expr make(Scalar type, ExprOp op) {
  return Expr(std::make_shared<const ExprNode>(ExprNode{{}, type, std::move(op)}));
}

/// Recursive descent over the text form. Nodes are built exactly as written, without folding.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : cursor_(text) {}

  Program run() {
    cursor_.expect("program");
    program_.name = cursor_.string();
    while (cursor_.accept("file"))
      program_.files.push_back(cursor_.string());
    region_lines(program_.body);
    if (!cursor_.at_end())
      cursor_.fail("expected a node");
    return std::move(program_);
  }

 private:
  template <class F>
  void list(std::string_view open, std::string_view close, const F& item) {
    cursor_.expect(open);
    if (cursor_.accept(close))
      return;
    do {
      item();
    } while (cursor_.accept(","));
    cursor_.expect(close);
  }

  // Values, types and extents.

  ValueId value() {
    cursor_.expect("%");
    const std::int64_t id = cursor_.integer();
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
      cursor_.fail("bad value number");
    return {static_cast<std::int32_t>(id)};
  }

  std::vector<ValueId> value_list(std::string_view open, std::string_view close) {
    std::vector<ValueId> values;
    list(open, close, [&] { values.push_back(value()); });
    return values;
  }

  std::optional<Scalar> scalar_named(const std::string& name) const {
    for (const Scalar s : {Scalar::kBool, Scalar::kI32, Scalar::kI64, Scalar::kF32, Scalar::kF64}) {
      if (name == name_of(s))
        return s;
    }
    return std::nullopt;
  }

  Scalar scalar() {
    const auto s = scalar_named(cursor_.word());
    if (!s)
      cursor_.fail("expected an element type");
    return *s;
  }

  Extent extent_factor() {
    if (cursor_.accept("-"))
      return Extent() - extent_factor();
    if (cursor_.accept("(")) {
      Extent e = extent();
      cursor_.expect(")");
      return e;
    }
    return cursor_.peek() == '%' ? Extent::of(value()) : Extent(magnitude());
  }

  /// Up to 2^63, whose negation is the smallest i64.
  std::int64_t magnitude() { return static_cast<std::int64_t>(cursor_.natural()); }

  Extent extent_term() {
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

  Extent extent() {
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

  Type type() {
    Type t;
    t.scalar = scalar();
    if (cursor_.peek() != '[')
      return t;
    bool any_sparse = false;
    std::vector<bool> sparse;
    list("[", "]", [&] {
      sparse.push_back(cursor_.accept("sparse"));
      any_sparse = any_sparse || sparse.back();
      t.shape.push_back(extent());
    });
    if (any_sparse)
      t.sparse = std::move(sparse);
    return t;
  }

  std::uint32_t small() { return static_cast<std::uint32_t>(cursor_.natural()); }

  /// `@file:line:column-line:column` or `@-`.
  std::optional<SourceRange> place() {
    if (!cursor_.accept("@"))
      return std::nullopt;
    SourceRange r;
    if (cursor_.accept("-"))
      return r;
    r.file = small();
    cursor_.expect(":");
    r.line = small();
    cursor_.expect(":");
    r.column = small();
    cursor_.expect("-");
    r.end_line = small();
    cursor_.expect(":");
    r.end_column = small();
    return r;
  }

  /// `%7:f64[%0] "x" @…`. Without a place of its own the value gets the node's, which comes later in the text.
  ValueId definition() {
    const ValueId v = value();
    if (program_.values.size() <= static_cast<std::size_t>(v.id)) {
      program_.values.resize(static_cast<std::size_t>(v.id) + 1);
    }
    cursor_.expect(":");
    ValueInfo info;
    info.type = type();
    if (cursor_.peek() == '"')
      info.name = cursor_.string();
    if (cursor_.accept("tile")) {
      cursor_.expect("(");
      do {
        info.tile.push_back(extent());
      } while (cursor_.accept(","));
      cursor_.expect(")");
    }
    if (const auto r = place()) {
      info.range = *r;
    } else {
      without_place_.push_back(v);
    }
    program_.values[static_cast<std::size_t>(v.id)] = std::move(info);
    return v;
  }

  void node_place(Node& node) {
    node.range = place().value_or(SourceRange{});
    settle_places(node.range);
  }
  void settle_places(const SourceRange& range) {
    for (const ValueId v : without_place_)
      program_.values[static_cast<std::size_t>(v.id)].range = range;
    without_place_.clear();
  }

  // Expressions.

  Expr typed_literal() {
    const Literal l = cursor_.literal();
    Scalar s = match(
        l, [](bool) { return Scalar::kBool; }, [](std::int64_t) { return Scalar::kI64; },
        [](double) { return Scalar::kF64; });
    if (cursor_.accept(":"))
      s = scalar();
    if (!holds(s, l))
      cursor_.fail("the literal does not fit its type");
    return constant(s, l);
  }

  Expr element() {
    const ValueId v = value();
    if (static_cast<std::size_t>(v.id) >= program_.values.size())
      cursor_.fail("the value is not defined before its use");
    std::vector<Expr> subscripts;
    if (cursor_.peek() == '[')
      subscripts = expr_list("[", "]");
    return make(program_.type(v).scalar, Read{v, std::move(subscripts)});
  }

  std::vector<Expr> expr_list(std::string_view open, std::string_view close) {
    std::vector<Expr> items;
    list(open, close, [&] { items.push_back(expr()); });
    return items;
  }

  Expr label_named(const std::string& name) {
    const auto found = std::ranges::find(labels_, name);
    if (found == labels_.end())
      cursor_.fail("no index variable is called '" + name + "'");
    return index_ref(static_cast<std::int32_t>(found - labels_.begin()));
  }

  template <class Op>
  static std::optional<Op> op_named(const std::string& name, Op last) {
    for (int k = 0; k <= static_cast<int>(last); ++k) {
      if (name == name_of(static_cast<Op>(k)))
        return static_cast<Op>(k);
    }
    return std::nullopt;
  }

  Expr call(const std::string& name) {
    const std::vector<Expr> operands = expr_list("(", ")");
    const std::size_t n = operands.size();
    if (std::ranges::any_of(operands, [](const Expr& e) { return !e; }))
      cursor_.fail("operand missing");
    if (name == "select" && n == 3)
      return make(operands[1]->type, Select{operands[0], operands[1], operands[2]});
    if (const auto to = scalar_named(name); to && n == 1)
      return make(*to, Cast{operands[0]});
    if (const auto op = op_named(name, UnaryOp::kRelu); op && n == 1) {
      const auto t = result_type(*op, operands[0]->type);
      if (!t)
        cursor_.fail("'" + name + "' is not defined on this type");
      return make(*t, Unary{*op, operands[0]});
    }
    if (const auto op = op_named(name, BinaryOp::kOr); op && n == 2) {
      const auto t = result_type(*op, operands[0]->type, operands[1]->type);
      if (!t)
        cursor_.fail("'" + name + "' is not defined on these types");
      return make(*t, Binary{*op, operands[0], operands[1]});
    }
    cursor_.fail("no operation '" + name + "' with " + std::to_string(n) + " operands");
  }

  Expr expr() {
    if (cursor_.peek() == '%')
      return element();
    if (cursor_.accept("#"))
      return index_ref(static_cast<std::int32_t>(cursor_.integer()));
    if (cursor_.accept("$")) {
      const auto position = static_cast<std::int32_t>(cursor_.integer());
      cursor_.expect(":");
      const Scalar s = scalar();
      return argument(s, position);
    }
    if (cursor_.at_literal())
      return typed_literal();
    const std::string name = cursor_.word();
    return cursor_.peek() == '(' ? call(name) : label_named(name);
  }

  // Nodes.

  Monoid monoid() {
    Monoid m;
    const std::string name = cursor_.word();
    for (int k = 0; k <= static_cast<int>(Monoid::Kind::kUser); ++k) {
      m.kind = static_cast<Monoid::Kind>(k);
      if (name == name_of(m.kind))
        break;
      if (m.kind == Monoid::Kind::kUser)
        cursor_.fail("no reduction is called '" + name + "'");
    }
    if (m.kind != Monoid::Kind::kUser)
      return m;
    cursor_.expect("(");
    m.name = cursor_.string();
    cursor_.expect(",");
    m.identity = expr();
    cursor_.expect(",");
    m.combine = expr();
    cursor_.expect(")");
    return m;
  }

  std::vector<Label> label_list() {
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

  Compute compute() {
    Compute c;
    labels_.clear();
    c.out = label_list();
    if (cursor_.peek() != '(') {
      c.monoid = monoid();
      c.reduce = label_list();
    }
    c.bodies = expr_list("(", ")");
    if (cursor_.accept("where"))
      c.guard = expr();
    if (cursor_.accept("left"))
      c.left = expr_list("[", "]");
    if (cursor_.accept("base"))
      c.base = value();
    if (cursor_.accept("combine"))
      c.combine = monoid();
    if (cursor_.accept("fill"))
      c.fill = expr();
    return c;
  }

  Random random(Random::Kind kind) {
    Random r{kind, 0, {}};
    cursor_.expect("site");
    r.site = cursor_.natural();
    r.iterations = value_list("[", "]");
    return r;
  }

  Routine routine() {
    Routine r;
    const std::string name = cursor_.word();
    for (int k = 0; k <= static_cast<int>(Routine::Kind::kLstsq); ++k) {
      r.kind = static_cast<Routine::Kind>(k);
      if (name == name_of(r.kind))
        break;
      if (r.kind == Routine::Kind::kLstsq)
        cursor_.fail("no routine is called '" + name + "'");
    }
    r.operands = value_list("(", ")");
    if (cursor_.accept("axis"))
      r.axis = cursor_.integer();
    return r;
  }

  Param param(const std::vector<ValueId>& results) {
    Param p{cursor_.string(), std::nullopt};
    if (!cursor_.accept("="))
      return p;
    p.default_value = cursor_.literal();
    if (results.size() != 1 || !holds(program_.type(results[0]).scalar, *p.default_value)) {
      cursor_.fail("the default does not fit the param's type");
    }
    return p;
  }

  void region_lines(Region& region) {
    while (!cursor_.at_end() && cursor_.peek() != '}') {
      if (cursor_.accept("yield")) {
        do {
          region.yields.push_back(value());
        } while (cursor_.accept(","));
        return;
      }
      region.nodes.push_back(node());
    }
  }

  /// `(arguments) {` … `}`
  Region region(const SourceRange& range) {
    Region r;
    list("(", ")", [&] { r.arguments.push_back(definition()); });
    settle_places(range);
    cursor_.expect("{");
    region_lines(r);
    cursor_.expect("}");
    return r;
  }

  For for_loop(Node& n) {
    For f;
    f.begin = value();
    cursor_.expect("..");
    f.end = value();
    cursor_.expect("by");
    f.step = cursor_.integer();
    cursor_.expect("with");
    f.inits = value_list("(", ")");
    node_place(n);
    cursor_.expect("do");
    f.body = region(n.range);
    return f;
  }

  While while_loop(Node& n) {
    While w;
    cursor_.expect("with");
    w.inits = value_list("(", ")");
    node_place(n);
    cursor_.expect("do");
    w.condition = region(n.range);
    cursor_.expect("do");
    w.body = region(n.range);
    return w;
  }

  If branch(Node& n) {
    If i;
    i.condition = value();
    node_place(n);
    cursor_.expect("then");
    i.then_region = region(n.range);
    cursor_.expect("else");
    i.else_region = region(n.range);
    return i;
  }

  Print print_items() {
    Print p;
    if (cursor_.peek() != '"' && cursor_.peek() != '%')
      return p;
    do {
      if (cursor_.peek() == '"') {
        p.items.emplace_back(cursor_.string());
      } else {
        p.items.emplace_back(value());
      }
    } while (cursor_.accept(","));
    return p;
  }

  Check check() {
    Check c;
    c.left = extent();
    if (cursor_.accept("<=")) {
      c.relation = Check::Relation::kAtMost;
    } else {
      cursor_.expect("==");
    }
    c.right = extent();
    if (cursor_.accept("if"))
      c.guard = value();
    c.message = cursor_.string();
    return c;
  }

  Op simple_op(const std::string& name, const std::vector<ValueId>& results) {
    if (name == "dimension")
      return Dimension{cursor_.string()};
    if (name == "param")
      return param(results);
    if (name == "input")
      return Input{cursor_.string()};
    if (name == "compute")
      return compute();
    if (name == "uniform")
      return random(Random::Kind::kUniform);
    if (name == "normal")
      return random(Random::Kind::kNormal);
    if (name == "routine")
      return routine();
    if (name == "print")
      return print_items();
    if (name == "check")
      return check();
    if (name == "assert") {
      const ValueId condition = value();
      return Assert{condition, cursor_.string()};
    }
    if (name == "gradient") {
      const ValueId loss = value();
      return Gradient{loss, value_list("(", ")")};
    }
    if (name == "output") {
      std::string output_name = cursor_.string();
      return Output{std::move(output_name), value()};
    }
    cursor_.fail("no node is called '" + name + "'");
  }

  Node node() {
    Node n;
    if (cursor_.peek() == '%') {
      do {
        n.results.push_back(definition());
      } while (cursor_.accept(","));
      cursor_.expect("=");
    }
    const std::string name = cursor_.word();
    if (name == "for") {
      n.op = for_loop(n);
    } else if (name == "while") {
      n.op = while_loop(n);
    } else if (name == "if") {
      n.op = branch(n);
    } else {
      n.op = simple_op(name, n.results);
      node_place(n);
    }
    return n;
  }

  TextCursor cursor_;
  Program program_;
  std::vector<std::string> labels_;
  std::vector<ValueId> without_place_;
};

}  // namespace

Program parse(std::string_view text) {
  return TextParser(text).run();
}

}  // namespace tdsl::ir
