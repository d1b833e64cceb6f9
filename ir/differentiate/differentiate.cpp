#include "ir/differentiate/differentiate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "ir/differentiate/regions.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

class Expander {
 public:
  Expander(Program program, std::vector<NotDifferentiable>& problems)
      : program_(std::move(program)), facts_(program_), problems_(problems) {}

  Program run() {
    visit(program_.body);
    return std::move(program_);
  }

 private:
  /// A region around the Gradient, and how many of its nodes come before it.
  struct Level {
    Region* region = nullptr;
    std::size_t count = 0;
  };

  static bool holds_gradient(const Region& region) {
    bool found = false;
    for_each_node(region, [&](const Node& n) { found = found || std::holds_alternative<Gradient>(n.op); });
    return found;
  }

  // The nodes of enclosing regions stay where they are until their own visit ends: preludes wait in `preludes_`.
  void visit(Region& region) {
    if (!holds_gradient(region)) return;
    const std::size_t own = levels_.size();
    levels_.push_back({&region, 0});
    preludes_.emplace_back();
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      levels_[own].count = k;
      for (Region* inner : regions_in(region.nodes[k])) visit(*inner);
      if (!std::holds_alternative<Gradient>(region.nodes[k].op)) continue;
      const Node gradient = region.nodes[k];
      std::vector<Node> nodes = expanded(gradient);
      region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(k));
      region.nodes.insert(region.nodes.begin() + static_cast<std::ptrdiff_t>(k), std::make_move_iterator(nodes.begin()),
                          std::make_move_iterator(nodes.end()));
      k += nodes.size() - 1;
    }
    insert_preludes(region);
    levels_.pop_back();
  }

  /// What loops of this region need in front of them, by the loop's first result.
  void insert_preludes(Region& region) {
    std::map<ValueId, std::vector<Node>> waiting = std::move(preludes_.back());
    preludes_.pop_back();
    std::vector<Prelude> preludes;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      const std::vector<ValueId>& results = region.nodes[k].results;
      const auto found = results.empty() ? waiting.end() : waiting.find(results[0]);
      if (found != waiting.end()) preludes.push_back({k, std::move(found->second)});
    }
    insert(region, std::move(preludes));
  }

  std::vector<Node> expanded(const Node& node) {
    const auto& gradient = std::get<Gradient>(node.op);
    std::vector<Node> nodes;
    try {
      expand(node, gradient, nodes);
    } catch (const NotDifferentiable& problem) {
      problems_.push_back(problem);
      problems_.back().gradient = node.range;
      nodes.clear();
    }
    return nodes;
  }

  void expand(const Node& node, const Gradient& gradient, std::vector<Node>& nodes) {
    Activity activity = activity_of(gradient);
    const GradientContext context{program_, facts_, activity};
    ReverseWalk walk(context, nodes);
    Adjoints& adjoints = walk.adjoints();
    for (std::size_t k = 0; k < gradient.wrt.size(); ++k) {
      if (first_place(gradient, k) == k && !program_.type(node.results[k]).has_sparse())
        adjoints.define(gradient.wrt[k], node.results[k]);
    }
    if (activity.contains(gradient.loss)) {
      const Scalar type = program_.type(gradient.loss).scalar;
      adjoints.add(gradient.loss, Adjoint{{}, float_constant(type, 1.0)}, node.range);
      for (std::size_t level = levels_.size(); level-- > 0;) {
        Region& region = *levels_[level].region;
        for (Prelude& p : walk.walk(region, levels_[level].count)) {
          std::vector<Node>& waiting = preludes_[level][region.nodes[p.position].results[0]];
          std::ranges::move(p.nodes, std::back_inserter(waiting));
        }
        refuse_earlier_iterations(region, node.range, adjoints);
      }
    }
    NodeWriter writer(program_, nodes);
    for (std::size_t k = 0; k < gradient.wrt.size(); ++k) {
      const std::size_t first = first_place(gradient, k);
      const Type type = program_.type(node.results[k]);
      const ValueId adjoint = first == k ? adjoints.tensor(gradient.wrt[k]) : node.results[first];
      if (first == k && !type.has_sparse()) continue;
      const Expr copy = read(type.scalar, adjoint, plain_subscripts(type.rank()));
      writer.filled(type, copy, "", node.range, node.results[k]);
    }
  }

  static std::size_t first_place(const Gradient& gradient, std::size_t k) {
    return static_cast<std::size_t>(std::ranges::find(gradient.wrt, gradient.wrt[k]) - gradient.wrt.begin());
  }

  /// What depends on the variables where the loss is computed. What a loop carries from earlier iterations counts if it
  /// depends on variables of outside.
  Activity activity_of(const Gradient& gradient) {
    Activity activity(program_);
    carried_.clear();
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const Level& l = levels_[level];
      if (level > 0) add_carried(*levels_[level - 1].region, levels_[level - 1].count, *l.region, activity);
      for (const ValueId v : gradient.wrt) {
        if (defines(l, v)) activity.add(v);
      }
      for (std::size_t k = 0; k < l.count; ++k) activity.add(l.region->nodes[k]);
    }
    return activity;
  }

  /// The arguments of `inner`, a region of the outer region's node number `position`.
  void add_carried(const Region& outer, std::size_t position, const Region& inner, Activity& activity) {
    Activity whole = activity;
    whole.add(outer.nodes[position]);
    for (const ValueId v : inner.arguments) {
      if (!whole.contains(v)) continue;
      activity.add(v);
      carried_.insert(v);
    }
  }

  static bool defines(const Level& level, ValueId v) {
    if (std::ranges::find(level.region->arguments, v) != level.region->arguments.end()) return true;
    for (std::size_t k = 0; k < level.count; ++k) {
      const std::vector<ValueId>& results = level.region->nodes[k].results;
      if (std::ranges::find(results, v) != results.end()) return true;
    }
    return false;
  }

  void refuse_earlier_iterations(const Region& region, const SourceRange& range, const Adjoints& adjoints) const {
    for (const ValueId v : region.arguments) {
      if (!adjoints.has(v) || !carried_.contains(v)) continue;
      throw NotDifferentiable{range,
                              "a loss that depends on a variable through `" + program_.info(v).name +
                                  "` of earlier iterations cannot be differentiated inside the loop",
                              {}};
    }
  }

  Program program_;
  ExtentFacts facts_;
  std::vector<NotDifferentiable>& problems_;
  std::vector<Level> levels_;
  std::set<ValueId> carried_;  ///< depend on a variable of outside through earlier iterations
  std::vector<std::map<ValueId, std::vector<Node>>> preludes_;  ///< per level
};

}  // namespace

Program differentiate(Program program, std::vector<NotDifferentiable>& problems) {
  return Expander(std::move(program), problems).run();
}

}  // namespace tdsl::ir
