#include "ir/algebra/rules/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "ir/algebra/text/text.h"

namespace tdsl::ir::algebra {

namespace {

std::vector<Expr> with_results(const Program& program, std::span<const Expr> values) {
  std::vector<Expr> roots = program.roots();
  roots.insert(roots.end(), values.begin(), values.end());
  return roots;
}

/// The operator alone, then rekeys and kernels that were merged into it.
std::vector<Expr> unmerged(Pool& pool, const Node& node, std::vector<Expr> operands) {
  std::optional<KeyFunction> keys;
  Kernels then;
  Op alone = node.op;
  if (auto* join = std::get_if<Join>(&alone)) {
    const std::size_t arity = operands[0]->type.keys.arity() + operands[1]->type.keys.arity() - join->left.size();
    if (!join->keys.is_identity(arity)) keys = join->keys;
    join->keys = KeyFunction::identity(arity);
    then = std::exchange(join->then, {});
  } else if (auto* sum = std::get_if<Aggregate>(&alone)) {
    then = std::exchange(sum->then, {});
  } else if (const auto* map = std::get_if<Map>(&alone)) {
    std::vector<Expr> parts;
    Expr e = operands[0];
    if (!map->keys.is_identity(e->type.keys.arity())) parts.push_back(e = pool.rekey(e, map->keys));
    for (const Kernel& kernel : map->by) parts.push_back(e = pool.map(e, {kernel}));
    if (parts.empty()) parts.push_back(e);
    return parts;
  } else {
    return {pool.make(std::move(alone), std::move(operands))};
  }
  std::vector<Expr> parts{pool.make(std::move(alone), std::move(operands))};
  if (keys) parts.push_back(pool.rekey(parts.back(), *keys));
  for (const Kernel& kernel : then) parts.push_back(pool.map(parts.back(), {kernel}));
  return parts;
}

}  // namespace

Unmerged::Unmerged(Pool& pool, std::span<const Expr> roots) {
  for (const Expr& e : nodes_of(roots)) {
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(of(operand));
    std::vector<Expr>& parts = parts_[e->id];
    parts = unmerged(pool, *e, std::move(operands));
    made_.emplace(e->id, parts.back());
  }
}

namespace {

bool same(const Kernel& a, const Kernel& b) {
  return a.kind == b.kind && a.number == b.number && a.position == b.position && a.text == b.text;
}
bool same(const Kernels& a, const Kernels& b) {
  return std::ranges::equal(a, b, [](const Kernel& x, const Kernel& y) { return same(x, y); });
}

/// Equal but for block sizes.
class SameOperator {
 public:
  SameOperator(const Expr& a, const Expr& b, const std::set<std::string>& generated)
      : a_(a), b_(b), generated_(generated) {}

  [[nodiscard]] bool check() const {
    if (a_->op.index() != b_->op.index() || a_->operands.size() != b_->operands.size()) return false;
    return std::visit([this](const auto& op) { return same_as(op, std::get<std::decay_t<decltype(op)>>(b_->op)); },
                      a_->op);
  }

 private:
  /// `0..1000 by 250` without the block size.
  [[nodiscard]] static std::string_view size_of(std::string_view name) { return name.substr(0, name.find(" by ")); }
  [[nodiscard]] bool same_as(const Input& a, const Input& b) const {
    return a.name == b.name || (generated_.contains(b.name) && size_of(a.name) == size_of(b.name));
  }
  [[nodiscard]] static bool same_as(const Join& a, const Join& b) {
    return a.left == b.left && a.right == b.right && same(a.by, b.by) && a.keys == b.keys;
  }
  [[nodiscard]] static bool same_as(const Aggregate& a, const Aggregate& b) {
    return a.keep == b.keep && same(a.by, b.by);
  }
  [[nodiscard]] static bool same_as(const Map& a, const Map& b) { return a.keys == b.keys && same(a.by, b.by); }
  [[nodiscard]] bool same_as(const Filter&, const Filter&) const { return same_text(); }
  [[nodiscard]] bool same_as(const Tile&, const Tile&) const { return same_text(); }
  [[nodiscard]] bool same_as(const Concat&, const Concat&) const { return same_text(); }
  [[nodiscard]] bool same_as(const FlatMap&, const FlatMap&) const { return same_text(); }
  [[nodiscard]] static bool same_as(const Redistribute&, const Redistribute&) { return false; }
  [[nodiscard]] static bool same_as(const Opaque& a, const Opaque& b) { return a.name == b.name; }
  [[nodiscard]] bool same_text() const {
    return op_text(a_->op, a_->operands).parameters == op_text(b_->op, b_->operands).parameters;
  }

  const Expr& a_;
  const Expr& b_;
  const std::set<std::string>& generated_;
};

/// Aggregates moved pieces, and nothing else.
bool completes(const Expr& e) {
  const auto* sum = as<Aggregate>(e);
  return sum != nullptr && e->operands[0]->type.pieces && sum->keep == all_dims(e->operands[0]->type.keys.arity());
}

std::string spelled(const Expr& e) {
  const OpText text = op_text(e->op, e->operands);
  return text.parameters.empty() ? text.word : text.word + " " + text.parameters;
}

}  // namespace

Matching::Matching(Pool& pool, const Program& program, std::span<const Expr> values, const ProgramText& given,
                   const std::set<std::string>& generated)
    : generated_(generated), wanted_(pool, with_results(program, values)), given_(pool, given.program.roots()) {
  for (const Expr& e : nodes_of(given.program.roots())) {
    for (const Expr& part : given_.parts(e)) lines_.emplace(part->id, given.lines.at(e->id));
  }
  match_results(program, given.program);
}

void Matching::match_results(const Program& program, const Program& given) {
  if (given.results.empty()) throw std::runtime_error("line 1: it has no results");
  std::vector<Program::Result> open = given.results;
  for (const Program::Result& result : program.results) {
    const auto found = std::ranges::find(open, result.name, &Program::Result::name);
    if (found == open.end()) {
      const Expr last = given_.of(given.results.back().value);
      throw std::runtime_error(fmt::format("line {}: there is no result \"{}\"", line(last), result.name));
    }
    match(given_.of(found->value), wanted_.of(result.value));
    open.erase(found);
  }
  if (open.empty()) return;
  const Expr extra = given_.of(open.front().value);
  throw std::runtime_error(
      fmt::format("line {}: the program has no result \"{}\" like this", line(extra), open.front().name));
}

void Matching::match(const Expr& planned, const Expr& wanted) {
  if (!matched_.emplace(planned->id, wanted->id).second) return;
  standing_[wanted->id].push_back(planned);
  if (as<Redistribute>(planned) != nullptr) return match(planned->operands[0], wanted);
  if (completes(planned)) {
    const auto* sum = as<Aggregate>(wanted);
    if (sum == nullptr || !same(sum->by, as<Aggregate>(planned)->by)) refuse(planned, wanted);
    return match(planned->operands[0], wanted);
  }
  if (!SameOperator(planned, wanted, generated_).check()) refuse(planned, wanted);
  for (std::size_t k = 0; k < planned->operands.size(); ++k) {
    readers_[planned->operands[k]->id].push_back(wanted);
    match(planned->operands[k], wanted->operands[k]);
  }
}

void Matching::refuse(const Expr& planned, const Expr& wanted) const {
  throw std::runtime_error(
      fmt::format("line {}: the program has `{}` here, not `{}`", line(planned), spelled(wanted), spelled(planned)));
}

std::size_t Matching::line(const Expr& planned) const { return lines_.at(planned->id); }

const std::vector<Expr>& Matching::standing_for(const Expr& wanted) const {
  static const std::vector<Expr> none;
  const auto found = standing_.find(wanted_.of(wanted)->id);
  return found == standing_.end() ? none : found->second;
}

Expr Matching::computed(const Expr& wanted) const {
  Expr found;
  for (const Expr& e : standing_for(wanted)) {
    if (as<Redistribute>(e) != nullptr || completes(e)) continue;
    if (found && found != e)
      throw std::runtime_error(
          fmt::format("line {}: what line {} computes is computed again, at other sites; a plan "
                      "computes it once",
                      std::max(line(e), line(found)), std::min(line(e), line(found))));
    found = e;
  }
  return found;
}

Expr Matching::combined(const Expr& wanted) const {
  for (const Expr& e : standing_for(wanted)) {
    if (completes(e)) return e;
  }
  return {};
}

std::vector<Expr> Matching::moves(const Expr& wanted) const {
  std::vector<Expr> found;
  std::ranges::copy_if(standing_for(wanted), std::back_inserter(found),
                       [](const Expr& e) { return as<Redistribute>(e) != nullptr; });
  return found;
}

std::vector<Expr> Matching::readers(const Expr& planned) const {
  const auto found = readers_.find(planned->id);
  return found == readers_.end() ? std::vector<Expr>{} : found->second;
}

}  // namespace tdsl::ir::algebra
