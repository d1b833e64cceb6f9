#include <algorithm>

#include "codegen/nest/parse_parts.h"
#include "codegen/nest/text.h"

namespace tdsl::nest {

namespace {

class NestParser : PartParser {
 public:
  explicit NestParser(std::string_view text) : PartParser(text) {}

  Nest run() {
    if (cursor_.accept("function")) {
      nest_.form = Form::kFunction;
    } else if (cursor_.accept("task")) {
      nest_.form = Form::kTask;
    } else if (cursor_.accept("rows")) {
      nest_.form = Form::kRows;
    } else {
      cursor_.expect("nest");
    }
    nest_.name = cursor_.string();
    nest_.place = range();
    while (cursor_.peek() == '%') variable();
    while (cursor_.accept("index")) index();
    if (cursor_.accept("fresh")) nest_.fresh = body();
    cursor_.expect("body");
    nest_.only_hit = cursor_.accept("hit");
    nest_.body = body();
    if (!cursor_.at_end()) cursor_.fail("expected the end");
    return std::move(nest_);
  }

 private:
  void variable() {
    const ValueId v = value();
    if (static_cast<std::size_t>(v.id) != nest_.variables.size()) cursor_.fail("variables are numbered in order");
    cursor_.expect(":");
    Variable variable;
    variable.type = type();
    variable.name = cursor_.string();
    using Role = Variable::Role;
    if (cursor_.accept("capture")) {
      variable.role = Role::kCapture;
      variable.size = cursor_.accept("size");
      if (cursor_.accept("few")) variable.turn = Variable::Turn::kFew;
      if (cursor_.accept("most")) variable.turn = Variable::Turn::kAllButFew;
    } else if (cursor_.accept("parameter")) {
      variable.role = Role::kParameter;
    } else if (cursor_.accept("local")) {
      variable.role = Role::kLocal;
      variable.resized = cursor_.accept("resized");
    } else if (cursor_.accept("position")) {
      variable.role = Role::kPosition;
    } else if (cursor_.accept("view")) {
      variable.role = Role::kView;
      cursor_.expect("of");
      variable.of = known_value();
      bounds(variable);
    } else if (cursor_.accept("operand")) {
      variable.role = Role::kOperand;
      variable.number = static_cast<int>(cursor_.natural());
      bounds(variable);
    } else {
      cursor_.expect("result");
      variable.role = Role::kResult;
      if (nest_.form == Form::kTask) variable.number = static_cast<int>(cursor_.natural());
      variable.continued = cursor_.accept("continued");
      variable.assembled = cursor_.accept("assembled");
      if (cursor_.accept("at")) list("[", "]", [&] { variable.place = extent(); });
      if (cursor_.accept("from")) list("[", "]", [&] { variable.origin.push_back(extent()); });
    }
    ir::ValueInfo info;
    info.name = variable.name;
    info.type = variable.type;
    program_.values.push_back(std::move(info));
    nest_.variables.push_back(std::move(variable));
  }

  void bounds(Variable& variable) {
    while (cursor_.accept("check")) {
      const int dimension = static_cast<int>(cursor_.natural());
      variable.bounds.push_back(bound());
      variable.bounds.back().dimension = dimension;
    }
  }

  void index() {
    Index i;
    i.name = cursor_.string();
    i.of_task = cursor_.accept("in");
    if (i.of_task || cursor_.accept("of")) {
      i.begin = extent();
      cursor_.expect("..");
      i.end = extent();
    }
    i.whole = cursor_.accept("whole");
    if (cursor_.accept("block")) i.block = static_cast<int>(cursor_.natural());
    labels_.push_back(i.name);
    nest_.indices.push_back(std::move(i));
  }

  Body body() {
    Body result;
    cursor_.expect("{");
    while (!cursor_.accept("}")) {
      const ir::SourceRange place = range();
      result.push_back(statement());
      result.back().place = place;
    }
    return result;
  }

  Statement statement() {
    if (cursor_.accept("var")) return made(var());
    if (cursor_.accept("count")) return made(count());
    if (cursor_.accept("repeat")) return made(repeat());
    if (cursor_.accept("while")) return made(loop_of({}));
    if (cursor_.accept("require")) return made(require());
    if (cursor_.accept("return")) return made(Return{expr()});
    if (cursor_.accept("for")) return made(loop());
    if (cursor_.accept("let")) return made(let());
    if (cursor_.accept("start")) return made(start());
    if (cursor_.accept("narrow")) return made(narrow());
    if (cursor_.accept("check")) return made(check());
    if (cursor_.accept("if")) return made(branch());
    if (cursor_.accept("lanes")) return made(line());
    if (cursor_.accept("blocked")) return made(blocked());
    if (cursor_.accept("fill")) {
      const ValueId v = known_value();
      return made(Fill{v, expr()});
    }
    if (nest_.form == Form::kTask || nest_.form == Form::kRows) {
      if (std::optional<Statement> s = of_task()) return *s;
    }
    Place to = place();
    if (cursor_.accept("combine")) {
      ir::Monoid with = monoid();
      cursor_.expect("=");
      return made(Update{std::move(to), std::move(with), expr()});
    }
    cursor_.expect("=");
    return made(Store{std::move(to), expr()});
  }

  For loop() {
    For f;
    f.index = index_number();
    if (cursor_.accept("in")) {
      f.over = extents();
    } else {
      cursor_.expect("over");
      f.over = walk();
    }
    if (cursor_.accept("simd")) f.order = Order::kSimd;
    f.parts = parts();
    f.body = body();
    return f;
  }

  std::optional<Parts> parts() {
    Parts p;
    while (cursor_.accept("side")) {
      Side& side = p.sides.emplace_back();
      side.local = known_value();
      const bool until = cursor_.accept("until");
      if (!until) cursor_.expect("if");
      (until ? side.until : side.condition) = expr();
    }
    if (!cursor_.accept("inside")) return p.sides.empty() ? std::nullopt : std::optional(std::move(p));
    p.inside = known_value();
    while (cursor_.accept("from")) p.from.push_back(expr());
    while (cursor_.accept("to")) p.to.push_back(expr());
    if (cursor_.accept("where")) p.where = expr();
    return p;
  }

  Var var() {
    const ValueId local = known_value();
    return {local, cursor_.accept("=") ? expr() : Expr()};
  }

  Count count() {
    Count c;
    c.local = known_value();
    cursor_.expect("from");
    c.begin = expr();
    cursor_.expect("to");
    c.end = expr();
    cursor_.expect("by");
    c.step = cursor_.integer();
    c.body = body();
    return c;
  }

  While repeat() {
    Body before = body();
    cursor_.expect("while");
    return loop_of(std::move(before));
  }
  While loop_of(Body before) {
    While w;
    w.before = std::move(before);
    w.condition = expr();
    w.body = body();
    return w;
  }

  Require require() {
    Require r;
    r.condition = expr();
    r.message = cursor_.string();
    return r;
  }

  Start start() {
    Start s;
    s.local = known_value();
    cursor_.expect("from");
    s.from = place();
    if (cursor_.accept("fresh")) s.fresh = expr();
    return s;
  }

  Narrow narrow() {
    Narrow n;
    n.local = known_value();
    cursor_.expect("=");
    n.begins = cursor_.accept("begin");
    if (!n.begins) cursor_.expect("end");
    cursor_.expect("of");
    n.index = index_number();
    cursor_.expect("over");
    n.within = task_range();
    cursor_.expect("by");
    n.value = expr();
    n.past = cursor_.accept("past");
    n.safe = !cursor_.accept("unsafe");
    return n;
  }

  Check check() {
    Check c;
    c.index = index_number();
    cursor_.expect("=");
    c.value = expr();
    c.bound = bound();
    return c;
  }

  If branch() {
    If i;
    if (cursor_.accept("points")) {
      i.condition = HasPoints{index_numbers()};
    } else if (cursor_.accept("mine")) {
      IsMine mine;
      list("[", "]", [&] {
        IsMine::Member member{index_number()};
        if (cursor_.accept("of")) member.dimension = static_cast<int>(cursor_.natural());
        mine.members.push_back(member);
      });
      i.condition = std::move(mine);
    } else if (cursor_.accept("nonempty")) {
      Nonempty n;
      list("[", "]", [&] { n.ranges.push_back(extents()); });
      i.condition = std::move(n);
    } else if (cursor_.accept("within")) {
      Within w;
      w.index = index_number();
      cursor_.expect("=");
      w.value = expr();
      i.condition = std::move(w);
    } else {
      i.condition = expr();
    }
    i.body = body();
    if (cursor_.accept("else")) i.otherwise = body();
    return i;
  }

  LineReduction line() {
    LineReduction l;
    l.kind = ir::named_kind(cursor_, ir::Monoid::Kind::kUser, "reduction");
    l.local = known_value();
    cursor_.expect("along");
    l.index = index_number();
    cursor_.expect("over");
    l.over = task_range();
    l.parts = parts();
    cursor_.expect("{");
    using Mask = LineReduction::Mask;
    l.masks = cursor_.accept("only") ? Mask::kOnly : cursor_.accept("first") ? Mask::kFirst : Mask::kAll;
    if (l.masks != Mask::kAll) cursor_.expect("where");
    if (l.masks != Mask::kAll || cursor_.accept("where")) l.mask = expr();
    while (cursor_.accept("let")) l.lets.push_back(let());
    l.value = yield();
    return l;
  }

  BlockedReduction blocked() {
    BlockedReduction b;
    b.with = monoid();
    b.to = place();
    cursor_.expect("rows");
    b.row = index_number();
    cursor_.expect("columns");
    b.column = index_number();
    cursor_.expect("along");
    b.along = index_numbers();
    b.numbers = cursor_.accept("numbers");
    cursor_.expect("{");
    if (cursor_.accept("at")) b.points = expr();
    lets("x", b.x);
    lets("y", b.y);
    if (cursor_.accept("where")) b.guard = expr();
    b.value = yield();
    return b;
  }
  void lets(std::string_view head, std::vector<Let>& into) {
    while (cursor_.accept(head)) {
      cursor_.expect("let");
      into.push_back(let());
    }
  }
};

}  // namespace

Nest parse(std::string_view text) { return NestParser(text).run(); }

}  // namespace tdsl::nest
