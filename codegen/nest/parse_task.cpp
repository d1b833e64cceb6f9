#include "codegen/nest/parse_parts.h"

namespace tdsl::nest {

std::optional<Statement> PartParser::of_task() {
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
    l.of = cursor_.scalar();
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
  if (cursor_.accept("routine")) return made(small_routine());
  if (cursor_.accept("multiply")) return made(row_products());
  if (cursor_.accept("clear")) {
    FillRows f;
    f.to = place();
    f.block = block();
    f.value = expr();
    return made(std::move(f));
  }
  if (cursor_.accept("mirror")) {
    Mirror m{known_value()};
    cursor_.expect("over");
    m.along = index_number();
    return made(m);
  }
  return std::nullopt;
}

CheckLine PartParser::check_line() {
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

RowReduction PartParser::row_reduction() {
  RowReduction r;
  r.kind = ir::named_kind(cursor_, ir::Monoid::Kind::kUser, "reduction");
  r.dot = cursor_.accept("dot");
  r.local = known_value();
  cursor_.expect("along");
  r.index = index_number();
  if (cursor_.accept("over")) {
    r.over = task_range();
  } else {
    cursor_.expect("in");
    r.over = extents();
  }
  cursor_.expect("{");
  while (cursor_.accept("let")) r.lets.push_back(let());
  r.value = yield();
  return r;
}

AddProducts PartParser::add_products() {
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

int PartParser::block() {
  cursor_.expect("block");
  return static_cast<int>(cursor_.natural());
}

RowProducts PartParser::row_products() {
  using Kind = RowProducts::Kind;
  RowProducts p;
  for (const Kind kind : {Kind::kSums, Kind::kUpper, Kind::kDot, Kind::kScaled}) {
    if (p.kind == Kind::kRows && cursor_.accept(name_of(kind))) p.kind = kind;
  }
  if (p.kind == Kind::kRows) cursor_.expect("rows");
  p.to = place();
  cursor_.expect("by");
  p.x = place();
  cursor_.expect("with");
  p.y = place();
  p.transposed = cursor_.accept("transposed");
  p.block = block();
  cursor_.expect("over");
  p.along = index_numbers();
  return p;
}

Draw PartParser::draw() {
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

RequireSizes PartParser::sizes() {
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

SmallRoutine PartParser::small_routine() {
  SmallRoutine r;
  r.kind = ir::named_kind(cursor_, ir::Routine::Kind::kLstsq, "routine");
  using SolveKind = ir::Routine::SolveKind;
  for (const SolveKind kind : {SolveKind::kLower, SolveKind::kUpper, SolveKind::kPositive}) {
    if (cursor_.accept(name_of(kind))) r.solves = kind;
  }
  list("[", "]", [&] { r.operands.push_back(known_value()); });
  cursor_.expect("to");
  list("[", "]", [&] { r.results.push_back(known_value()); });
  return r;
}

}  // namespace tdsl::nest
