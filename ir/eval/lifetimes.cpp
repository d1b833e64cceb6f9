#include "ir/eval/lifetimes.h"

#include "ir/graph/clone.h"

namespace tdsl::ir::eval {

namespace {

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {}

  /// Every value used by the region's nodes or yields, at any depth.
  std::set<ValueId> region(const Region& r) {
    std::set<ValueId> own(r.arguments.begin(), r.arguments.end());
    for (const Node& n : r.nodes) own.insert(n.results.begin(), n.results.end());
    std::set<ValueId> used(r.yields.begin(), r.yields.end());
    for (auto node = r.nodes.rbegin(); node != r.nodes.rend(); ++node) {
      std::vector<ValueId>& last = lifetimes_.last[&*node];
      std::set<ValueId> mentioned = mentions(*node);
      mentioned.insert(node->results.begin(), node->results.end());
      for (const ValueId v : mentioned) {
        if (used.insert(v).second && own.contains(v)) last.push_back(v);
      }
    }
    return used;
  }

  Lifetimes take() { return std::move(lifetimes_); }

 private:
  std::set<ValueId> mentions(const Node& node) {
    std::set<ValueId> inside;
    for (const Region* r : regions_in(node)) inside.merge(region(*r));
    const std::vector<ValueId> operands = operands_of(program_, node);
    std::set<ValueId> all = inside;
    all.insert(operands.begin(), operands.end());
    if (!inside.empty()) lifetimes_.captured[&node] = std::move(inside);
    return all;
  }

  const Program& program_;
  Lifetimes lifetimes_;
};

}  // namespace

Lifetimes find_lifetimes(const Program& program) {
  Finder finder(program);
  finder.region(program.body);
  return finder.take();
}

}  // namespace tdsl::ir::eval
