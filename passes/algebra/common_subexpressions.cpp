// Merges equal computations. Two Computes are equal if they are structurally equal up to label names; the first one
// must be visible at the second (same region or an enclosing one).
//
//     %2 = compute [i in 0..%0] (exp(%1[i]))
//     %3 = compute [j in 0..%0] (exp(%1[j]))
//     %4 = compute [i in 0..%0] (add(%2[i], %3[i]))
// becomes
//     %2 = compute [i in 0..%0] (exp(%1[i]))
//     %4 = compute [i in 0..%0] (add(%2[i], %2[i]))

#include "passes/passes.h"

#include <unordered_map>

#include "ir/text/print.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Text key: equal if and only if the computations are equal.
class Key {
 public:
  explicit Key(const Program& program) : program_(program) {}

  std::string of(const Node& node, const Compute& c) {
    labels(c.out);
    labels(c.reduce);
    for (const Expr& body : c.bodies) add(body);
    add(c.guard);
    add(c.monoid);
    for (const Expr& e : c.left) add(e);
    text_ += c.base ? "base" + std::to_string(c.base->id) : "";
    add(c.combine);
    add(c.fill);
    for (const ValueId v : node.results) add(program_.type(v));
    return std::move(text_);
  }

 private:
  void labels(const std::vector<Label>& list) {
    text_ += '[';
    for (const Label& l : list) {
      add(l.begin);
      add(l.end);
    }
    text_ += ']';
  }
  void add(const Extent& e) {
    text_ += e.to_string([](ValueId v) { return "%" + std::to_string(v.id); });
    text_ += ';';
  }
  void add(const Expr& e) { text_ += e ? print(program_, e, {}) + ";" : std::string("-;"); }
  void add(const std::optional<Monoid>& m) {
    if (!m) return;
    text_ += name_of(m->kind);
    text_ += m->name;
    add(m->identity);
    add(m->combine);
  }
  void add(const Type& t) {
    text_ += name_of(t.scalar);
    for (const Extent& e : t.shape) add(e);
    for (std::size_t d = 0; d < t.rank(); ++d) text_ += t.format.is_sparse(d) ? 's' : 'd';
  }

  const Program& program_;
  std::string text_;
};

class CommonSubexpressions : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    scopes_.emplace_back();
    RegionRewriter::rewrite_region(region);
    scopes_.pop_back();
  }

  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    rename_operands(node, renames_);
    if (const auto* c = std::get_if<Compute>(&node.op); c == nullptr || !is_repeated(node, *c))
      keep(std::move(node), earlier);
  }

  bool is_repeated(const Node& node, const Compute& c) {
    const std::string key = Key(program_).of(node, c);
    for (const auto& scope : scopes_) {
      const auto found = scope.find(key);
      if (found == scope.end()) continue;
      for (std::size_t k = 0; k < node.results.size(); ++k) renames_.insert({node.results[k], found->second[k]});
      if (!c.out.empty()) context_.applied(node.range, "computed before: the earlier result is used again");
      return true;
    }
    scopes_.back().insert({key, node.results});
    return false;
  }

  std::vector<std::unordered_map<std::string, std::vector<ValueId>>> scopes_;
};

}  // namespace

Program common_subexpressions(const Program& program, PassContext& context) {
  return CommonSubexpressions(program, context).run();
}

}  // namespace tdsl::passes
