#include "passes/algebra/read_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

ReadBounds::ReadBounds(const Program& program) : facts_(program), known_(known_at_start(program)) {}

void ReadBounds::learn(const Check& check) {
  if (check.relation == Check::Relation::kAtMost && !check.guard) rooms_.push_back(check.right - check.left);
}

bool ReadBounds::is_known(const Extent& e) const {
  return std::ranges::all_of(e.values(), [this](ValueId v) { return known_.contains(v); });
}

/// True if the extent is not negative.
bool ReadBounds::is_room(const Extent& e) const {
  const auto holds = [](const Extent& rest) { return rest.constant().value_or(-1) >= 0; };
  return holds(e) || facts_.never_negative(e) ||
         std::ranges::any_of(rooms_, [&](const Extent& room) { return holds(e - room); });
}

/// The dimensions in which the subscript is not provably in bounds.
std::vector<std::size_t> ReadBounds::unproven(const Program& program, const Compute& c, const ElementRead& r) const {
  const Read& element = std::get<Read>(r.element->op);
  const Type& type = program.type(element.tensor);
  const std::vector<const Label*> labels = labels_of(c);
  const Subscripts subscripts(type, labels);
  std::vector<std::size_t> found;
  for (std::size_t d = 0; d < element.subscripts.size(); ++d) {
    const Extent& extent = type.shape[d];
    if (subscripts.inside(element.subscripts[d], extent)) continue;
    const auto range = subscript_range(c, element.subscripts[d]);
    const bool below =
        range && (facts_.same(range->most + Extent(1), extent) || is_room(extent - Extent(1) - range->most));
    if (!below || !is_room(range->least)) found.push_back(d);
  }
  return found;
}

bool ReadBounds::are_checkable(const Program& program, const Compute& c, const ElementRead& r) const {
  const std::vector<std::size_t> open = unproven(program, c, r);
  if (open.empty()) return true;
  const Read& element = std::get<Read>(r.element->op);
  const bool known =
      std::ranges::all_of(all_labels(c), [this](const Label& l) { return is_known(l.begin) && is_known(l.end); });
  return r.certain && known && std::ranges::all_of(open, [&](std::size_t d) {
           const auto range = subscript_range(c, element.subscripts[d]);
           return range && is_known(range->least) && is_known(range->most) &&
                  is_known(program.type(element.tensor).shape[d]);
         });
}

void ReadBounds::check(Program& program, const Compute& c, const ElementRead& r, std::vector<Node>& before) const {
  const std::vector<std::size_t> open = unproven(program, c, r);
  if (open.empty()) return;
  Expr filled;
  for (const Label& l : all_labels(c)) {
    const auto length = (l.end - l.begin).constant();
    if (length && *length <= 0) return;
    if (length) continue;
    filled = conjunction_of(filled, binary(BinaryOp::kLt, expr_of_polynomial(l.begin), expr_of_polynomial(l.end)));
  }
  const SourceRange place = r.element->range;
  std::optional<ValueId> guard;
  if (filled) {
    guard = program.new_value(Type{Scalar::kBool, {}, {}}, "", place);
    Compute some;
    some.bodies = {filled};
    before.push_back({place, {*guard}, std::move(some)});
  }
  const Read& element = std::get<Read>(r.element->op);
  const auto at_most = [&](const Extent& left, const Extent& right, std::string message) {
    if (!is_room(right - left))
      before.push_back({place, {}, Check{Check::Relation::kAtMost, left, right, std::move(message), guard}});
  };
  for (const std::size_t d : open) {
    const auto range = subscript_range(c, element.subscripts[d]);
    const std::string which =
        fmt::format("the subscript of dimension {} of {} is ", d, quoted(program, element.tensor, "a tensor"));
    at_most(0, range->least, which + "{right}: computed subscripts never count from the end");
    at_most(range->most, program.type(element.tensor).shape[d] - Extent(1),
            which + "{left} and out of bounds: the last element is {right}");
  }
}

}  // namespace tdsl::passes
