// Inlines an element-wise producer into its only consumer in the same region if every element is still computed exactly
// once: the consumer reads it at a permutation of all its index variables. So element-wise chains and reductions over
// them become one Compute; operands of contractions, which are read many times, are kept.
//
//     %2 = compute [i in 0..%0] (exp(%1[i]))
//     %3 = compute [i in 0..%0] (mul(2.0, %2[i]))
// becomes
//     %3 = compute [i in 0..%0] (mul(2.0, exp(%1[i])))

#include "passes/passes.h"

#include <algorithm>

#include "ir/analysis/support.h"
#include "passes/fusion/inlining.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

class Fusion : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op); c != nullptr && c->bodies.size() == 1) absorb(node, *c, earlier);
    keep(std::move(node), earlier);
  }

  /// True if the producer reads a single element of a tensor that a node of the list, from `first` on, replaces: moving
  /// the read behind that node would extend the old tensor's lifetime.
  [[nodiscard]] bool replaced_meanwhile(const Compute& producer, const std::vector<Node>& list,
                                        std::size_t first) const {
    if (!producer.out.empty()) return false;
    const std::set<ValueId> read = values_read(producer);
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(),
                       [&](const Node& n) { return replaces_what_is_read(program_, n, read); });
  }

  /// Inlines producers among `earlier` into `c`, last to first, and removes them.
  void absorb(const Node& node, Compute& c, std::vector<Node>& earlier) {
    std::set<ValueId> read = values_read(c);
    for (std::size_t k = earlier.size(); k-- > 0;) {
      const auto* producer = std::get_if<Compute>(&earlier[k].op);
      // Cheap check first: the other conditions scan all nodes in between.
      if (producer == nullptr || !read.contains(earlier[k].results[0]) ||
          replaced_meanwhile(*producer, earlier, k + 1) || !fuse(earlier[k], node, c))
        continue;
      earlier.erase(earlier.begin() + static_cast<std::ptrdiff_t>(k));
      read = values_read(c);
    }
  }

  /// True if readers that compute the value themselves would have to visit all elements.
  [[nodiscard]] bool only_its_type_is_sparse(const Compute& c, ValueId v) const {
    return program_.type(v).has_sparse() && !carries_absence(support_of(program_, c));
  }

  bool fuse(const Node& source, const Node& node, Compute& c) {
    const auto* producer = std::get_if<Compute>(&source.op);
    if (producer == nullptr || constant_fill(*producer)) return false;
    const Expr element = element_of(*producer);
    if (!element) return false;
    const ValueId v = source.results[0];
    if (use_counts_[static_cast<std::size_t>(v.id)] != 1) return false;
    const auto subscripts = only_subscripts(c, v);
    if (!subscripts || needs_whole(program_, node, c, v) || only_its_type_is_sparse(*producer, v)) return false;
    if (!is_bijection(*subscripts, c, *producer)) {
      if (!producer->out.empty()) context_.refused(source.range, "not fused: its elements are read more than once");
      return false;
    }
    const Expr body = substitute_labels(element, *subscripts);
    if (node_count(body) + node_count(c.bodies[0]) > context_.options().expression_limit) return false;
    inline_reads(c, v, body);
    if (!producer->out.empty()) context_.applied(source.range, "fused into its only consumer");
    return true;
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program fusion(const Program& program, PassContext& context) { return Fusion(program, context).run(); }

}  // namespace tdsl::passes
