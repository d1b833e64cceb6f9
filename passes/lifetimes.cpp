#include "passes/lifetimes.h"

#include <set>

#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

const std::vector<ValueId> kNone;

class LifetimeTable {
 public:
  explicit LifetimeTable(const Program& program) : program_(program) {}

  Lifetimes run() {
    visit(program_.body);
    return std::move(table_);
  }

 private:
  void visit(const Region& region) {
    std::set<ValueId> pending(region.arguments.begin(), region.arguments.end());
    for (const Node& node : region.nodes) pending.insert(node.results.begin(), node.results.end());
    for (const ValueId v : region.yields) pending.erase(v);
    for (auto it = region.nodes.rbegin(); it != region.nodes.rend(); ++it) {
      std::set<ValueId> used(it->results.begin(), it->results.end());
      collect_uses(*it, used);
      for (const ValueId v : used) {
        if (pending.erase(v) > 0) table_.dead_after[&*it].push_back(v);
      }
      for (const Region* inner : regions_in(*it)) visit(*inner);
    }
    if (!pending.empty()) table_.dead_on_entry[&region].assign(pending.begin(), pending.end());
  }

  void collect_uses(const Node& node, std::set<ValueId>& into) const {
    const std::vector<ValueId> operands = operands_of(program_, node);
    for (const ValueId v : operands) {
      into.insert(v);
      // A live tensor keeps its extents alive.
      for (const Extent& e : program_.type(v).shape) {
        for (const ValueId mentioned : e.values()) into.insert(mentioned);
      }
    }
    for (const Region* inner : regions_in(node)) {
      for (const Node& n : inner->nodes) collect_uses(n, into);
      into.insert(inner->yields.begin(), inner->yields.end());
    }
  }

  const Program& program_;
  Lifetimes table_;
};

}  // namespace

const std::vector<ValueId>& Lifetimes::after(const Node& node) const {
  const auto found = dead_after.find(&node);
  return found == dead_after.end() ? kNone : found->second;
}

const std::vector<ValueId>& Lifetimes::on_entry(const Region& region) const {
  const auto found = dead_on_entry.find(&region);
  return found == dead_on_entry.end() ? kNone : found->second;
}

Lifetimes lifetimes(const Program& program) { return LifetimeTable(program).run(); }

}  // namespace tdsl::passes
