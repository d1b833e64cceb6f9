#include "codegen/print/line_reduction.h"

#include <fmt/format.h>

namespace tdsl::codegen {

std::string line_reduction(ir::Monoid::Kind kind, std::string_view type, std::string_view range, std::string_view index,
                           std::string_view value, std::string_view lets) {
  const std::string_view function = kind == ir::Monoid::Kind::kSum    ? "sum"
                                    : kind == ir::Monoid::Kind::kProd ? "prod"
                                    : kind == ir::Monoid::Kind::kMin  ? "least"
                                                                      : "greatest";
  return fmt::format("rt::rows::{}<{}>({}, [&](Index {}) {{ {}return {}; }})", function, type, range, index, lets,
                     value);
}

}  // namespace tdsl::codegen
