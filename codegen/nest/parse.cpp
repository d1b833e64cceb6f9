#include <algorithm>

#include "codegen/nest/text.h"
#include "ir/parse_expr.h"

namespace tdsl::nest {

namespace {

Statement made(decltype(Statement::op) op) { return {std::move(op)}; }

class NestParser : ir::ExprParser {
 public:
  explicit NestParser(std::string_view text) : ExprParser(text) {}

  Nest run() {
    if (cursor_.accept("function")) {
      nest_.form = Form::kFunction;
    } else if (cursor_.accept("task")) {
      nest_.form = Form::kTask;
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
  std::uint32_t number() { return static_cast<std::uint32_t>(cursor_.natural()); }

  ir::SourceRange range() {
    ir::SourceRange r;
    if (!cursor_.accept("@")) return r;
    r.file = number();
    cursor_.expect(":");
    r.line = number();
    cursor_.expect(":");
    r.column = number();
    cursor_.expect("-");
    r.end_line = number();
    cursor_.expect(":");
    r.end_column = number();
    return r;
  }

  Bound bound() {
    Bound b;
    cursor_.expect("in");
    b.extent = extent();
    b.what = cursor_.string();
    b.place = range();
    return b;
  }

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
    if (i.of_task) {
      i.begin = extent();
      cursor_.expect("..");
      i.end = extent();
    }
    labels_.push_back(i.name);
    nest_.indices.push_back(std::move(i));
  }

  int index_number() {
    const Expr e = expr();
    const auto* r = e ? std::get_if<ir::IndexRef>(&e->op) : nullptr;
    if (r == nullptr || r->label < 0 || static_cast<std::size_t>(r->label) >= labels_.size()) cursor_.fail("expected an index");
    return r->label;
  }
  std::vector<int> index_numbers() {
    std::vector<int> numbers;
    list("[", "]", [&] { numbers.push_back(index_number()); });
    return numbers;
  }

  ValueId known_value() {
    const ValueId v = value();
    if (static_cast<std::size_t>(v.id) >= nest_.variables.size()) cursor_.fail("no variable has this number");
    return v;
  }
  Place place() {
    Place p{known_value(), {}};
    if (cursor_.peek() == '[') p.subscripts = expr_list("[", "]");
    return p;
  }
  TaskRange task_range() {
    TaskRange r;
    cursor_.expect("task");
    if (cursor_.accept("from")) r.begin = known_value();
    if (cursor_.accept("to")) r.end = known_value();
    return r;
  }
  Range extents() {
    Range r;
    r.begin = extent();
    cursor_.expect("..");
    r.end = extent();
    return r;
  }
  /// Behind the word.
  Let let() {
    const ValueId local = known_value();
    cursor_.expect("=");
    return {local, expr()};
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
    if (nest_.form == Form::kTask) {
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
      f.over = task_range();
    }
    if (cursor_.accept("simd")) f.order = Order::kSimd;
    f.parts = parts();
    f.body = body();
    return f;
  }

  std::optional<Statement> of_task() {
    if (cursor_.accept("copy")) {
      const ValueId from = known_value();
      cursor_.expect("to");
      return made(Copy{from, known_value()});
    }
    if (cursor_.accept("keep")) {
      const ValueId local = known_value();
      cursor_.expect("=");
      return made(Keep{local, known_value()});
    }
    if (cursor_.accept("resize")) return made(Resize{known_value()});
    if (cursor_.accept("inside")) return made(check_line());
    if (cursor_.accept("lines")) return made(row_reduction());
    if (cursor_.accept("products")) return made(add_products());
    if (cursor_.accept("locate")) {
      Locate l;
      l.kind = ir::named_kind(cursor_, ir::Monoid::Kind::kUser, "reduction");
      l.local = known_value();
      cursor_.expect("of");
      l.of = scalar();
      return made(l);
    }
    if (cursor_.accept("offer")) {
      Offer o{known_value(), expr()};
      cursor_.expect("at");
      o.index = index_number();
      return made(std::move(o));
    }
    if (cursor_.accept("draw")) return made(draw());
    if (cursor_.accept("sizes")) return made(sizes());
    return std::nullopt;
  }

  CheckLine check_line() {
    CheckLine c;
    c.first = extent();
    cursor_.expect("step");
    c.step = cursor_.integer();
    cursor_.expect("count");
    c.count = extent();
    cursor_.expect("of");
    c.tensor = known_value();
    cursor_.expect("dimension");
    const int dimension = static_cast<int>(cursor_.natural());
    c.bound = bound();
    c.bound.dimension = dimension;
    return c;
  }

  RowReduction row_reduction() {
    RowReduction r;
    r.kind = ir::named_kind(cursor_, ir::Monoid::Kind::kUser, "reduction");
    r.dot = cursor_.accept("dot");
    r.local = known_value();
    cursor_.expect("along");
    r.index = index_number();
    cursor_.expect("in");
    r.over = extents();
    cursor_.expect("{");
    r.value = yield();
    return r;
  }

  AddProducts add_products() {
    AddProducts p;
    p.to = place();
    cursor_.expect("along");
    p.index = index_number();
    cursor_.expect("in");
    p.over = extents();
    cursor_.expect("line");
    p.along = index_number();
    cursor_.expect("in");
    p.line = extents();
    cursor_.expect("{");
    cursor_.expect("scale");
    p.scale = expr();
    p.value = yield();
    return p;
  }

  Draw draw() {
    Draw d;
    d.local = known_value();
    if (!cursor_.accept("uniform")) {
      cursor_.expect("normal");
      d.kind = ir::Random::Kind::kNormal;
    }
    d.site = cursor_.natural();
    d.iterations = expr_list("[", "]");
    return d;
  }

  RequireSizes sizes() {
    RequireSizes r;
    r.left = extent();
    if (!cursor_.accept("equal")) {
      cursor_.expect("atmost");
      r.relation = ir::Check::Relation::kAtMost;
    }
    r.right = extent();
    if (cursor_.accept("where")) r.guard = expr();
    r.message = cursor_.string();
    return r;
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
    cursor_.expect("{");
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
  Expr yield() {
    cursor_.expect("yield");
    Expr e = expr();
    cursor_.expect("}");
    return e;
  }

  Nest nest_;
};

}  // namespace

Nest parse(std::string_view text) { return NestParser(text).run(); }

}  // namespace tdsl::nest
