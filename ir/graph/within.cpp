#include "ir/graph/within.h"

#include <fmt/format.h>

#include <memory>

#include "ir/graph/procedure.h"

namespace tdsl::ir {

namespace {

Expr is_inside(const Expr& subscript, const Expr& extent) {
  return binary(BinaryOp::kAnd, binary(BinaryOp::kLe, constant_i64(0), subscript),
                binary(BinaryOp::kLt, subscript, extent));
}

/// `fn subscript_12(subscript, extent) { assert 0 <= subscript && subscript < extent, message; return subscript; }`
ProcedureRef check_of(const std::string& message, const SourceRange& place) {
  const Expr subscript = argument(Scalar::kI64, 0);
  Procedure p;
  // Procedures with equal text become one function of the emitted program, and the text has no locations.
  p.name = place.file == 0 ? fmt::format("subscript_{}", place.line)
                           : fmt::format("subscript_{}_{}", place.file, place.line);
  p.range = place;
  p.parameters = 2;
  p.variables = {{"subscript", Scalar::kI64}, {"extent", Scalar::kI64}};
  p.body.push_back({place, Procedure::Require{is_inside(subscript, argument(Scalar::kI64, 1)), message}});
  p.result = subscript;
  p.text = text_of(p);
  return std::make_shared<const Procedure>(std::move(p));
}

bool is_check(const Procedure& p) {
  if (p.foreign || p.parameters != 2 || p.variables.size() != 2 || p.body.size() != 1) return false;
  const auto* require = std::get_if<Procedure::Require>(&p.body.front().op);
  const Expr subscript = argument(Scalar::kI64, 0);
  return require != nullptr && equal(p.result, subscript) &&
         equal(require->condition, is_inside(subscript, argument(Scalar::kI64, 1)));
}

const Apply* check_in(const Expr& e) {
  const auto* apply = std::get_if<Apply>(&e->op);
  return apply != nullptr && is_check(*apply->procedure) ? apply : nullptr;
}

/// The call in the failing branch, possibly converted several times.
const Apply* refusal_of(const Select& s) {
  const Expr* e = &s.when_false;
  while (const auto* cast = std::get_if<Cast>(&(*e)->op)) e = &cast->operand;
  const Apply* refusal = check_in(*e);
  const bool same = refusal != nullptr && equal(s.condition, is_inside(refusal->arguments[0], refusal->arguments[1]));
  return same ? refusal : nullptr;
}

}  // namespace

Expr within(const Expr& subscript, const Expr& extent, const std::string& message, SourceRange place) {
  return application(check_of(message, place), {subscript, extent}, place);
}

Expr where_within(const Expr& value, const Expr& subscript, const Expr& extent, const std::string& message,
                  SourceRange place) {
  return select(is_inside(subscript, extent), value, cast(value->type, within(subscript, extent, message, place)),
                place);
}

std::optional<Within> within_of(const Expr& e) {
  const auto* select = std::get_if<Select>(&e->op);
  const Apply* apply = select != nullptr ? refusal_of(*select) : check_in(e);
  return apply == nullptr ? std::nullopt : std::optional(Within{apply->arguments[0], apply->arguments[1]});
}

Expr without_check(const Expr& e) {
  const auto* select = std::get_if<Select>(&e->op);
  return select != nullptr ? select->when_true : std::get<Apply>(e->op).arguments[0];
}

Expr without_checks(const Expr& e, const std::function<bool(const Within&)>& inside) {
  return rewrite(e, [&](const Expr& part) {
    const auto within = within_of(part);
    return within && inside(*within) ? without_check(part) : part;
  });
}

}  // namespace tdsl::ir
