#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/expr_build.h"
#include "ir/graph/scalar.h"
#include "ir/text/parse_expr.h"

namespace tdsl::ir {

/// Recursive-descent parser of nodes and the values they define.
class NodeParser : protected ExprParser {
 protected:
  explicit NodeParser(std::string_view text) : ExprParser(text) {}

  std::uint32_t small() { return static_cast<std::uint32_t>(cursor_.natural()); }

  /// `@file:line:column-line:column` or `@-`.
  std::optional<SourceRange> place() {
    if (!cursor_.accept("@")) return std::nullopt;
    SourceRange r;
    if (cursor_.accept("-")) return r;
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

  /// `%7:f64[%0] "x" @…`. Without a location of its own the value gets the node's, which follows later in the text.
  ValueId definition() { return definition_of(value()); }
  /// After the value's number.
  ValueId definition_of(ValueId v) {
    if (program_.values.size() <= static_cast<std::size_t>(v.id)) {
      program_.values.resize(static_cast<std::size_t>(v.id) + 1);
    }
    cursor_.expect(":");
    ValueInfo info;
    info.type = type();
    if (cursor_.peek() == '"') info.name = cursor_.string();
    if (cursor_.accept("tile")) {
      cursor_.expect("(");
      do { info.tile.push_back(extent()); } while (cursor_.accept(","));
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
    for (const ValueId v : without_place_) program_.values[static_cast<std::size_t>(v.id)].range = range;
    without_place_.clear();
  }

  // Nodes.

  Compute compute() {
    Compute c;
    labels_.clear();
    if (cursor_.accept("in")) {
      cursor_.expect("any");
      cursor_.expect("order");
      c.in_any_order = true;
    } else if (cursor_.accept("by")) {
      cursor_.expect("search");
      c.by_search = true;
    } else {
      c.constant = cursor_.accept("constant");
    }
    c.out = label_list();
    if (cursor_.peek() != '(') {
      c.monoid = monoid();
      c.reduce = label_list();
    }
    c.bodies = expr_list("(", ")");
    if (cursor_.accept("where")) c.guard = expr();
    if (cursor_.accept("left")) c.left = expr_list("[", "]");
    if (cursor_.accept("base")) c.base = value();
    if (cursor_.accept("combine")) c.combine = monoid();
    if (cursor_.accept("fill")) c.fill = expr();
    if (cursor_.accept("stored")) c.iteration = iteration();
    return c;
  }

  /// `[i over %1[i, j] and %2[i, j], …] lookup [mask %3[i, j]] result ordered`: operands are numbered by their first
  /// occurrence.
  SparseIteration iteration() {
    SparseIteration result;
    const auto operand = [&] {
      StoredOperand o{value(), {}};
      for (const Expr& subscript : expr_list("[", "]")) o.labels.push_back(label(subscript));
      const auto known = std::ranges::find(result.operands, o);
      const auto number = static_cast<int>(known - result.operands.begin());
      if (known == result.operands.end()) result.operands.push_back(std::move(o));
      return number;
    };
    list("[", "]", [&] {
      StoredLoop loop;
      loop.label = label(expr());
      cursor_.expect("over");
      do { loop.over.push_back(operand()); } while (merges(loop));
      result.loops.push_back(std::move(loop));
    });
    if (cursor_.accept("lookup")) {
      list("[", "]", [&] {
        const bool masks = cursor_.accept("mask");
        const int number = operand();
        if (masks) result.masks.push_back(number);
      });
    }
    if (cursor_.accept("result"))
      result.result = named_kind(cursor_, SparseIteration::Result::kAssembled, "result of a sparse iteration");
    return result;
  }
  std::int32_t label(const Expr& e) {
    const std::int32_t found = bare_label(e);
    if (found < 0) cursor_.fail("expected an index variable");
    return found;
  }
  /// `or`, `and` or `with`, the same in all of a loop.
  bool merges(StoredLoop& loop) {
    for (const Merge merge : {Merge::kUnion, Merge::kIntersection, Merge::kFirst}) {
      if ((loop.over.size() > 1 && merge != loop.merge) || !cursor_.accept(name_of(merge))) continue;
      loop.merge = merge;
      return true;
    }
    return false;
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
    TextCursor next = cursor_;
    if (next.accept("foreign")) {
      r.kind = Routine::Kind::kForeign;
      r.foreign = parse_foreign(cursor_);
      r.operands = value_list("(", ")");
      return r;
    }
    r.kind = named_kind(cursor_, Routine::Kind::kLstsq, "routine");
    r.operands = value_list("(", ")");
    if (cursor_.accept("axis")) r.axis = cursor_.integer();
    if (cursor_.accept("scale")) r.scale = named_kind(cursor_, Routine::Scale::kWhole, "factor");
    using SolveKind = Routine::SolveKind;
    for (const SolveKind kind : {SolveKind::kLower, SolveKind::kUpper, SolveKind::kPositive}) {
      if (r.kind == Routine::Kind::kSolve && cursor_.accept(name_of(kind))) r.solves = kind;
    }
    return r;
  }

  Param param(const std::vector<ValueId>& results) {
    Param p{cursor_.string(), {}, {}, {}};
    if (!cursor_.accept("=")) return p;
    if (cursor_.peek() == '%') {
      p.computed_default = value();
      cursor_.expect("text");
      p.default_text = cursor_.string();
      return p;
    }
    p.default_value = cursor_.literal();
    if (results.size() != 1 || !holds(program_.type(results[0]).scalar, *p.default_value)) {
      cursor_.fail("the default does not fit the param's type");
    }
    return p;
  }

  void region_lines(Region& region) {
    while (!cursor_.at_end() && cursor_.peek() != '}') {
      if (cursor_.accept("yield")) {
        do { region.yields.push_back(value()); } while (cursor_.accept(","));
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
    f.serial = cursor_.accept("serial");
    cursor_.expect("with");
    f.inits = value_list("(", ")");
    node_place(n);
    cursor_.expect("do");
    f.body = region(n.range);
    return f;
  }

  While while_loop(Node& n) {
    While w;
    w.serial = cursor_.accept("serial");
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

  Chain chain() {
    Chain c;
    list("[", "]", [&] { c.sizes.push_back(extent()); });
    list("(", ")", [&] {
      const ValueId tensor = value();
      c.factors.push_back({tensor, cursor_.accept("'")});
    });
    return c;
  }

  Choose choose(Node& n) {
    Choose c;
    node_place(n);
    cursor_.expect("either");
    do {
      c.names.push_back(cursor_.string());
      c.regions.push_back(region(n.range));
    } while (cursor_.accept("or"));
    return c;
  }

  Fused fused(Node& n, bool epilogue) {
    Fused f;
    f.epilogue = epilogue;
    f.shared = label_list();
    cursor_.expect("at");
    list("(", ")", [&] {
      std::vector<std::int32_t>& of = f.labels.emplace_back();
      list("[", "]", [&] { of.push_back(static_cast<std::int32_t>(small())); });
    });
    node_place(n);
    f.body = region(n.range);
    return f;
  }

  Print print_items() {
    Print p;
    if (cursor_.peek() != '"' && cursor_.peek() != '%') return p;
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
    if (cursor_.accept("if")) c.guard = value();
    c.message = cursor_.string();
    return c;
  }

  Found found() {
    Found f;
    f.count = value();
    cursor_.expect("estimate");
    f.estimate = extent();
    f.name = cursor_.string();
    return f;
  }

  Op simple_op(const std::string& name, const std::vector<ValueId>& results) {
    if (name == "dimension") return Dimension{cursor_.string()};
    if (name == "found") return found();
    if (name == "param") return param(results);
    if (name == "input") return Input{cursor_.string()};
    if (name == "compute") return compute();
    if (name == "uniform") return random(Random::Kind::kUniform);
    if (name == "normal") return random(Random::Kind::kNormal);
    if (name == "sparse_uniform") return random(Random::Kind::kSparse);
    if (name == "routine") return routine();
    if (name == "chain") return chain();
    if (name == "print") return print_items();
    if (name == "check") return check();
    if (name == "assert") {
      const ValueId condition = value();
      std::string message = cursor_.string();
      return Assert{condition, std::move(message), cursor_.accept("implied")};
    }
    if (name == "gradient") {
      const ValueId loss = value();
      return Gradient{loss, value_list("(", ")")};
    }
    if (name == "output") {
      Output output{cursor_.string(), value()};
      if (cursor_.accept("record")) output.record = value();
      output.begins = cursor_.accept("begins");
      return output;
    }
    cursor_.fail("no node is called `" + name + "`");
  }

  Node node() {
    Node n;
    if (cursor_.peek() == '%') {
      do { n.results.push_back(definition()); } while (cursor_.accept(","));
      cursor_.expect("=");
    }
    const std::string name = cursor_.word();
    if (name == "for") {
      n.op = for_loop(n);
    } else if (name == "while") {
      n.op = while_loop(n);
    } else if (name == "if") {
      n.op = branch(n);
    } else if (name == "choose") {
      n.op = choose(n);
    } else if (name == "fused" || name == "epilogue") {
      n.op = fused(n, name == "epilogue");
    } else {
      n.op = simple_op(name, n.results);
      node_place(n);
    }
    return n;
  }

  std::vector<ValueId> without_place_;
};

}  // namespace tdsl::ir
