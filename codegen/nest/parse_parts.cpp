#include "codegen/nest/parse_parts.h"

#include "ir/graph/expr_build.h"

namespace tdsl::nest {

ir::SourceRange PartParser::range() {
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

Bound PartParser::bound() {
  Bound b;
  cursor_.expect("in");
  b.extent = extent();
  b.what = cursor_.string();
  b.place = range();
  return b;
}

int PartParser::index_number() {
  const Expr e = expr();
  const std::int32_t index = e ? ir::bare_label(e) : -1;
  if (index < 0 || static_cast<std::size_t>(index) >= labels_.size()) cursor_.fail("expected an index");
  return index;
}

std::vector<int> PartParser::index_numbers() {
  std::vector<int> numbers;
  list("[", "]", [&] { numbers.push_back(index_number()); });
  return numbers;
}

ValueId PartParser::known_value() {
  const ValueId v = value();
  if (static_cast<std::size_t>(v.id) >= nest_.variables.size()) cursor_.fail("no variable has this number");
  return v;
}

Place PartParser::place() {
  Place p{known_value(), {}};
  if (cursor_.peek() == '[') p.subscripts = expr_list("[", "]");
  return p;
}

TaskRange PartParser::task_range() {
  cursor_.expect("task");
  return bounds();
}

TaskRange PartParser::bounds() {
  TaskRange r;
  if (cursor_.accept("from")) r.begin = known_value();
  if (cursor_.accept("to")) r.end = known_value();
  return r;
}

bool PartParser::more_fibres(Stored& stored) {
  if (stored.fibres.size() > 1) return cursor_.accept(name_of(stored.merge));
  for (const ir::Merge merge : {ir::Merge::kUnion, ir::Merge::kIntersection, ir::Merge::kFirst}) {
    if (!cursor_.accept(name_of(merge))) continue;
    stored.merge = merge;
    return true;
  }
  return false;
}

Walk PartParser::walk() {
  if (cursor_.accept("blocks")) {
    Blocks blocks;
    cursor_.expect("of");
    blocks.bytes = extent();
    blocks.products = cursor_.accept("products");
    if (cursor_.accept("codes")) blocks.codes = known_value();
    return blocks;
  }
  if (!cursor_.accept("stored")) return task_range();
  Stored stored;
  do {
    Fibre fibre{known_value(), {}};
    cursor_.expect("[");
    for (; !cursor_.accept("*"); cursor_.expect(",")) fibre.outer.push_back(index_number());
    cursor_.expect("]");
    stored.fibres.push_back(std::move(fibre));
  } while (more_fibres(stored));
  if (cursor_.accept("by")) {
    using enum ir::ByValue;
    stored.by = cursor_.accept("totals")   ? kTotals
                : cursor_.accept("counts") ? kCounts
                : cursor_.accept("passes") ? kPasses
                                           : kWeights;
    if (stored.by == kWeights) cursor_.expect("weights");
  }
  stored.within = bounds();
  while (cursor_.accept("ahead")) stored.ahead.push_back(place());
  while (cursor_.accept("sums")) stored.sums.push_back(known_value());
  return stored;
}

Range PartParser::extents() {
  Range r;
  r.begin = extent();
  cursor_.expect("..");
  r.end = extent();
  return r;
}

Let PartParser::let() {
  const ValueId local = known_value();
  cursor_.expect("=");
  return {local, expr()};
}

Expr PartParser::yield() {
  cursor_.expect("yield");
  Expr e = expr();
  cursor_.expect("}");
  return e;
}

}  // namespace tdsl::nest
