#include "codegen/nest/parse_parts.h"

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
  const auto* r = e ? std::get_if<ir::IndexRef>(&e->op) : nullptr;
  if (r == nullptr || r->label < 0 || static_cast<std::size_t>(r->label) >= labels_.size()) cursor_.fail("expected an index");
  return r->label;
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
  TaskRange r;
  cursor_.expect("task");
  if (cursor_.accept("from")) r.begin = known_value();
  if (cursor_.accept("to")) r.end = known_value();
  return r;
}

Walk PartParser::walk() {
  if (cursor_.accept("rows")) {
    cursor_.expect("of");
    return StoredRows{known_value()};
  }
  if (!cursor_.accept("row")) return task_range();
  cursor_.expect("of");
  StoredRow row{known_value()};
  while (cursor_.accept("ahead")) row.ahead.push_back(place());
  return row;
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
