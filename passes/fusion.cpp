#include "passes/fusion.h"

#include <algorithm>

#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The subscripts of the reads of `v`; nothing if two reads differ or there is none.
std::optional<std::vector<Expr>> only_subscripts(const Compute& c, ValueId v) {
  std::optional<std::vector<Expr>> found;
  bool unique = true;
  const auto scan = [&](const Expr& e) {
    if (!e)
      return;
    for_each_node(e, [&](const ExprNode& n) {
      const auto* r = std::get_if<Read>(&n.op);
      if (r == nullptr || r->tensor != v)
        return;
      if (!found)
        found = r->subscripts;
      unique =
          unique && std::ranges::equal(*found, r->subscripts, [](const Expr& a, const Expr& b) { return equal(a, b); });
    });
  };
  scan(c.bodies[0]);
  scan(c.guard);
  for (const Expr& e : c.left)
    scan(e);
  return unique ? found : std::nullopt;
}

/// Whether the subscripts are all labels of the consumer, each once, over exactly the producer's ranges.
bool is_bijection(const std::vector<Expr>& subscripts, const Compute& consumer, const Compute& producer) {
  std::vector<const Label*> labels;
  for (const Label& l : consumer.out)
    labels.push_back(&l);
  for (const Label& l : consumer.reduce)
    labels.push_back(&l);
  if (subscripts.size() != labels.size())
    return false;
  std::vector<bool> seen(labels.size(), false);
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const std::int32_t label = bare_label(subscripts[d]);
    if (label < 0 || seen[static_cast<std::size_t>(label)])
      return false;
    seen[static_cast<std::size_t>(label)] = true;
    const Label& l = *labels[static_cast<std::size_t>(label)];
    // Subscripts count from 0, so the producer's own range must too.
    if (!(producer.out[d].begin == Extent(0)) || !(l.begin == Extent(0)) || !(l.end == producer.out[d].end))
      return false;
  }
  return true;
}

/// Whether the consumer needs `v` other than through reads in its expressions.
bool needs_whole(const Program& program, const Node& node, const Compute& c, ValueId v) {
  Compute without = c;
  without.bodies.clear();
  without.guard = Expr();
  without.left.clear();
  const Node shell{node.range, node.results, without};
  const std::vector<ValueId> operands = operands_of(program, shell);
  return std::ranges::find(operands, v) != operands.end();
}

/// The value of one element as an expression; null if the node is not element-wise. A guard becomes a choice.
Expr element_of(const Compute& c) {
  if (is_elementwise(c))
    return c.bodies[0];
  Compute unguarded = c;
  unguarded.guard = Expr();
  if (!is_elementwise(unguarded))
    return {};
  const Scalar s = c.bodies[0]->type;
  const Expr zero = s == Scalar::kBool ? constant(s, false) : identity_of({Monoid::Kind::kSum, {}, {}, {}}, s);
  return select(c.guard, c.bodies[0], c.fill ? c.fill : zero);
}

class Fusion {
 public:
  Fusion(Program program, PassContext& context)
      : program_(std::move(program)), context_(context), uses_(use_counts(program_)) {}

  Program run() {
    for_each_region(program_, [this](Region& region) { visit(region); });
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    std::vector<Node> kept;
    for (Node& node : region.nodes) {
      if (auto* c = std::get_if<Compute>(&node.op); c != nullptr && c->bodies.size() == 1)
        absorb(node, *c, kept);
      kept.push_back(std::move(node));
    }
    region.nodes = std::move(kept);
  }

  /// Whether a node of the list from number `first` on replaces a tensor whose single element the producer reads: moved
  /// behind it, the read would keep the old tensor alive.
  [[nodiscard]] bool replaced_meanwhile(const Compute& producer, const std::vector<Node>& list, std::size_t first) const {
    if (!producer.out.empty())
      return false;
    const std::set<ValueId> read = values_read(producer);
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), [&](const Node& n) {
      const auto* c = std::get_if<Compute>(&n.op);
      if (c != nullptr)
        return c->base && program_.type(*c->base).rank() > 0 && read.contains(*c->base);
      return std::ranges::any_of(operands_of(program_, n), [&](ValueId v) { return read.contains(v); });
    });
  }

  /// Inlines producers among `earlier` into `c`, the latest first, and removes them.
  void absorb(const Node& node, Compute& c, std::vector<Node>& earlier) {
    for (std::size_t k = earlier.size(); k-- > 0;) {
      const auto* producer = std::get_if<Compute>(&earlier[k].op);
      if (producer == nullptr || replaced_meanwhile(*producer, earlier, k + 1) || !fuse(earlier[k], node, c))
        continue;
      earlier.erase(earlier.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  bool fuse(const Node& source, const Node& node, Compute& c) {
    const auto* producer = std::get_if<Compute>(&source.op);
    if (producer == nullptr || constant_fill(*producer))
      return false;
    const Expr element = element_of(*producer);
    if (!element)
      return false;
    const ValueId v = source.results[0];
    if (uses_[static_cast<std::size_t>(v.id)] != 1)
      return false;
    const auto subscripts = only_subscripts(c, v);
    if (!subscripts || needs_whole(program_, node, c, v) || program_.type(v).has_sparse())
      return false;
    if (!is_bijection(*subscripts, c, *producer)) {
      if (!producer->out.empty())
        context_.refused(source.range, "not fused: its elements are read more than once");
      return false;
    }
    const Expr body = substitute_labels(element, *subscripts);
    if (node_count(body) + node_count(c.bodies[0]) > context_.options().expression_limit)
      return false;
    rewrite_expressions(c, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const auto* r = std::get_if<Read>(&x->op);
        return r != nullptr && r->tensor == v ? body : x;
      });
    });
    if (!producer->out.empty())
      context_.applied(source.range, "fused into its only consumer");
    return true;
  }

  Program program_;
  PassContext& context_;
  std::vector<int> uses_;
};

}  // namespace

Program fusion(const Program& program, PassContext& context) {
  return Fusion(program, context).run();
}

}  // namespace tdsl::passes
