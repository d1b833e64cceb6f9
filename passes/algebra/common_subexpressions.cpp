#include "passes/algebra/common_subexpressions.h"

#include <unordered_map>

#include "ir/text/print.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// A text that is equal exactly for equal computations.
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
    for (const bool sparse : t.sparse) text_ += sparse ? 's' : 'd';
  }

  const Program& program_;
  std::string text_;
};

class CommonSubexpressions {
 public:
  CommonSubexpressions(Program program, PassContext& context) : program_(std::move(program)), context_(context) {}

  Program run() {
    visit(program_.body);
    rename_everywhere(program_, renames_);
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    scopes_.emplace_back();
    std::vector<Node> kept;
    for (Node& node : region.nodes) {
      rename_operands(node, renames_);
      if (const auto* c = std::get_if<Compute>(&node.op); c != nullptr && is_repeated(node, *c)) continue;
      for (Region* inner : regions_of(node)) visit(*inner);
      kept.push_back(std::move(node));
    }
    region.nodes = std::move(kept);
    scopes_.pop_back();
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

  Program program_;
  PassContext& context_;
  std::vector<std::unordered_map<std::string, std::vector<ValueId>>> scopes_;
  ValueMap renames_;
};

}  // namespace

Program common_subexpressions(const Program& program, PassContext& context) {
  return CommonSubexpressions(program, context).run();
}

}  // namespace tdsl::passes
