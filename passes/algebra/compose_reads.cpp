// Computes maps and reductions at the elements that are read, in the order and shape of their use: a diagonal, a row, a
// slice or a stride of a named map or product. Counts elements, not readers: several readers of a few elements each
// still read fewer than all.
//
//     %4 = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))
//     %5 = compute [i in 0..%0] (%4[i, i])
// becomes
//     %5 = compute [i in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, i]))
//
// A reader with other index variables, or one that does more to elements of a reduction than copying them, reads a
// tensor of these elements, computed in front of it. A sum of a sum becomes one sum if it reads the elements of the
// inner one at all of its index variables (`trace(X @ Y)`), or if its factors can then be summed ahead (pushed_sums.h):
//
//     %4 = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j]))
//     %5 = compute [] sum[i in 0..%0, j in 0..%0] (%4[i, j])
// becomes
//     %6 = compute [k in 0..%1] sum[i in 0..%0] (%2[i, k])
//     %7 = compute [k in 0..%1] sum[j in 0..%0] (%3[k, j])
//     %5 = compute [] sum[k in 0..%1] (mul(%6[k], %7[k]))
//
// Leaves whole element-wise operands to `fusion`, and tensors that anything but a Compute of the same region uses.
// Tensors that more elements would be computed of than they have stay; that is decided for all sizes from kSmallSize
// on. Subscripts that may be out of bounds are checked in front, since the new expression may not contain them.
//
// This also exposes products between reshapes as products.

#include "passes/passes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/extent_facts.h"
#include "passes/algebra/costs.h"
#include "passes/algebra/element_reads.h"
#include "passes/algebra/parts.h"
#include "passes/algebra/product_chain.h"
#include "passes/algebra/pushed_sums.h"
#include "passes/algebra/read_bounds.h"
#include "passes/fusion/inlining.h"
#include "passes/fusion/row_nests.h"
#include "passes/loops/subscripts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

bool is_reduction(const Compute& c) { return c.monoid && c.left.empty() && !c.base && !c.combine; }

/// True if the Compute only copies the element.
bool copies(const Compute& c, const ElementRead& r) { return is_elementwise(c) && equal(c.bodies[0], r.element); }

/// True if the read is a factor of the expression, once.
bool is_factor(const Expr& e, const Expr& element) {
  if (equal(e, element)) return true;
  if (const auto* u = std::get_if<Unary>(&e->op)) return u->op == UnaryOp::kNeg && is_factor(u->operand, element);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || (b->op != BinaryOp::kMul && b->op != BinaryOp::kDiv)) return false;
  const ValueId v = std::get<Read>(element->op).tensor;
  if (reads(b->right, v)) return b->op == BinaryOp::kMul && !reads(b->left, v) && is_factor(b->right, element);
  return is_factor(b->left, element);
}

/// The number of elements of the result.
std::optional<Extent> elements_of(const Compute& c) {
  return points_of(c, running_labels(c) & ((LabelSet{1} << c.out.size()) - 1));
}

Expr with_part(const Expr& e, const Expr& part, const Expr& by) {
  return rewrite(e, [&](const Expr& x) { return equal(x, part) ? by : x; });
}

class ComposeReads : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  /// A reader of a value, by its position in the region.
  struct Reader {
    std::size_t at = 0;
    std::vector<ElementRead> reads;
  };

  void rewrite_region(Region& region) override {
    const std::size_t outside = bounds_.checks();
    for (Node& node : region.nodes) {
      rewrite_inside(node);
      if (const auto* check = std::get_if<Check>(&node.op)) bounds_.learn(*check);
    }
    // Backwards, so that the readers of a value are final when it is considered.
    for (std::size_t k = region.nodes.size(); k-- > 0;) compose(region, k + push(region, k));
    bounds_.forget(outside);
  }

  // --- uses

  void count(const Node& node, int by) {
    uses_.resize(std::max(uses_.size(), program_.values.size()), 0);
    for (const ValueId v : operands_of(program_, node)) uses_[static_cast<std::size_t>(v.id)] += by;
  }

  /// Inserts nodes in front of node `at` and counts their operands as used.
  void insert(Region& region, std::size_t at, std::vector<Node> nodes) {
    for (const Node& node : nodes) count(node, 1);
    region.nodes.insert(region.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::make_move_iterator(nodes.begin()),
                        std::make_move_iterator(nodes.end()));
  }

  // --- sums

  /// Sums factors of node `k` ahead; the number of nodes inserted in front of it.
  std::size_t push(Region& region, std::size_t k) {
    Node& node = region.nodes[k];
    auto* c = std::get_if<Compute>(&node.op);
    const auto sums = c == nullptr ? std::nullopt : pushed_sums(program_, *c);
    if (!sums) return 0;
    std::vector<Node> before;
    count(node, -1);
    push_sums(program_, *c, *sums, node.range, before);
    count(node, 1);
    context_.applied(node.range, "factors are summed ahead, each over the index variables that no other factor has");
    const std::size_t added = before.size();
    insert(region, k, std::move(before));
    return added;
  }

  // --- decision

  /// The node's Compute if its elements can be computed elsewhere.
  [[nodiscard]] const Compute* producer_at(const Region& region, std::size_t k) const {
    const Node& node = region.nodes[k];
    const auto* c = std::get_if<Compute>(&node.op);
    if (c == nullptr || node.results.size() != 1 || c->bodies.size() != 1 || c->out.empty() || c->in_any_order)
      return nullptr;
    const ValueId v = node.results[0];
    if (program_.type(v).has_sparse() || !program_.info(v).tile.empty()) return nullptr;
    const bool map = !constant_fill(*c) && element_of(*c);
    return map || is_reduction(*c) ? c : nullptr;
  }

  /// The readers of the value; nothing if it has other uses, or if which elements they read is unknown.
  [[nodiscard]] std::optional<std::vector<Reader>> sites_of(const Region& region, std::size_t k) const {
    const ValueId v = region.nodes[k].results[0];
    const int uses = uses_[static_cast<std::size_t>(v.id)];
    std::vector<Reader> sites;
    for (std::size_t q = k + 1; q < region.nodes.size() && static_cast<int>(sites.size()) < uses; ++q) {
      const auto* c = std::get_if<Compute>(&region.nodes[q].op);
      if (c == nullptr || !values_read(*c).contains(v)) continue;
      auto reads =
          needs_whole(program_, region.nodes[q], *c, v) ? std::nullopt : element_reads(program_, facts_, *c, v);
      if (!reads) return std::nullopt;
      sites.push_back({q, std::move(*reads)});
    }
    return static_cast<int>(sites.size()) == uses ? std::optional(std::move(sites)) : std::nullopt;
  }

  /// True if readers compute no more elements than the value has; nothing if that depends on sizes. Several reads of a
  /// reduction would each read its operands, so they must be far fewer.
  [[nodiscard]] static std::optional<bool> reads_few(const Compute& producer, const std::vector<Reader>& sites) {
    const auto elements = elements_of(producer);
    if (!elements) return false;
    if (sites.size() == 1 && sites[0].reads.size() == 1 && sites[0].reads[0].each_once) return true;
    Extent read;
    for (const Reader& site : sites) {
      for (const ElementRead& r : site.reads) read = read + r.points;
    }
    const auto fewer = sign_of(*elements - read, kSmallSize);
    if (!is_reduction(producer)) return fewer.value_or(-1) >= 0;
    if (const auto far = sign_of(*elements - Extent(kLeastGain) * read, kLargeSize)) return *far >= 0;
    return fewer.value_or(1) > 0 ? std::nullopt : std::optional(false);
  }

  void compose(Region& region, std::size_t k) {
    const Compute* producer = producer_at(region, k);
    const auto sites = producer == nullptr ? std::nullopt : sites_of(region, k);
    if (!sites || sites->empty()) return;
    const bool alone = sites->size() == 1 && sites->front().reads.size() == 1;
    if (alone && joins_sums(region, k, sites->front())) return join_sums(region, k, sites->front());
    const bool some_whole = std::ranges::any_of(*sites, [](const Reader& site) {
      return std::ranges::any_of(site.reads, [](const ElementRead& r) { return r.whole; });
    });
    if (some_whole && !(alone && is_reduction(*producer) && takes(region, *producer, sites->front()))) return;
    if (!std::ranges::all_of(*sites, [&](const Reader& site) { return fits(region, k, site); })) return;
    const SourceRange range = region.nodes[k].range;
    const auto few = reads_few(*producer, *sites);
    if (!few && is_ready(region, k, *sites)) return defer(region, k, *sites);
    if (!few.value_or(false)) {
      context_.refused(range, "computed whole: its readers may read more elements than it has");
      return;
    }
    const bool reshaped = alone && takes(region, *producer, sites->front()) && is_of_all(*producer, sites->front());
    if (reshaped && !is_reduction(*producer)) return;  // `fusion` decides
    const Node source = region.nodes[k];
    for (auto site = sites->rbegin(); site != sites->rend(); ++site) apply(region, source, *site);
    count(source, -1);
    region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(k));
    context_.applied(range, reshaped ? "computed in the order and shape in which it is used"
                                     : "computed only at the elements that are read");
  }

  /// True if the only read covers as many points as the value has elements.
  [[nodiscard]] static bool is_of_all(const Compute& producer, const Reader& site) {
    const auto elements = elements_of(producer);
    return elements && *elements == site.reads.front().points;
  }

  /// True if the reader itself can compute all elements that it reads.
  [[nodiscard]] bool takes(const Region& region, const Compute& producer, const Reader& site) const {
    const Node& node = region.nodes[site.at];
    const auto& c = std::get<Compute>(node.op);
    const bool covers =
        std::ranges::all_of(site.reads, [&](const ElementRead& r) { return r.labels == running_labels(c); });
    if (!covers) return false;
    if (is_reduction(producer)) {
      const ElementRead& r = site.reads.front();
      const Type& result = program_.type(node.results[0]);
      return copies(c, r) && !result.has_sparse() && result.scalar == program_.type(tensor_of(r)).scalar &&
             c.out.size() + producer.reduce.size() <= kMostLabels;
    }
    const int reads = static_cast<int>(site.reads.size());
    return c.bodies.size() == 1 &&
           node_count(c.bodies[0]) + reads * node_count(element_of(producer)) <= context_.options().expression_limit;
  }

  [[nodiscard]] static ValueId tensor_of(const ElementRead& r) { return std::get<Read>(r.element->op).tensor; }

  /// True if the producer may be computed at the reader's place.
  [[nodiscard]] bool may_move(const Region& region, std::size_t k, const Reader& site) const {
    const auto& producer = std::get<Compute>(region.nodes[k].op);
    return !can_fail(program_, producer) && !replaced_between(values_read(producer), region, k + 1, site.at);
  }

  /// The same for the elements that it reads.
  [[nodiscard]] bool fits(const Region& region, std::size_t k, const Reader& site) const {
    const auto& producer = std::get<Compute>(region.nodes[k].op);
    const auto& c = std::get<Compute>(region.nodes[site.at].op);
    if (!may_move(region, k, site)) return false;
    const bool taken = takes(region, producer, site);
    const auto elements = elements_of(producer);
    return std::ranges::all_of(site.reads, [&](const ElementRead& r) {
      // A tensor of as many elements would only have another shape.
      if (!taken && elements && *elements == r.points) return false;
      if (is_reduction(producer) &&
          (!r.ascending || static_cast<std::size_t>(std::popcount(r.labels)) + producer.reduce.size() > kMostLabels))
        return false;
      return bounds_.are_checkable(program_, c, r) && keeps_sparse_reads(producer, c, r) &&
             !divides_more(producer, c, r);
    });
  }

  /// True if elements of sparse tensors remain elements at index variables, each in one dimension.
  [[nodiscard]] bool keeps_sparse_reads(const Compute& producer, const Compute& c, const ElementRead& r) const {
    const std::vector<Expr> all = replacements(producer, c, r);
    return std::ranges::none_of(std::vector{producer.bodies[0], producer.guard}, [&](const Expr& e) {
      return e && any_read(substitute_labels(e, all), [&](const Read& element) {
               return program_.type(element.tensor).has_sparse() && !bare_labels(element);
             });
    });
  }

  /// True if subscripts would be divided that are not.
  [[nodiscard]] bool divides_more(const Compute& producer, const Compute& c, const ElementRead& r) const {
    if (!divides_labels(producer.bodies[0])) return false;
    std::vector<const Label*> labels = labels_of(c);
    for (const Label& l : producer.reduce) labels.push_back(&l);
    return divides_labels(
        with_settled_subscripts(program_, substitute_labels(producer.bodies[0], replacements(producer, c, r)), labels));
  }

  // --- rewriting

  /// What replaces the producer's index variables in the reader.
  static std::vector<Expr> replacements(const Compute& producer, const Compute& c, const ElementRead& r) {
    const std::vector<Expr>& subscripts = std::get<Read>(r.element->op).subscripts;
    std::vector<Expr> all;
    for (std::size_t d = 0; d < producer.out.size(); ++d) {
      const Extent& begin = producer.out[d].begin;
      all.push_back(begin == Extent(0) ? subscripts[d]
                                       : binary(BinaryOp::kAdd, subscripts[d], expr_of_polynomial(begin)));
    }
    for (std::size_t k = 0; k < producer.reduce.size(); ++k)
      all.push_back(index_ref(static_cast<std::int32_t>(c.out.size() + c.reduce.size() + k)));
    return all;
  }

  /// The reader with the producer's expression in place of its element, summed with the producer's index variables,
  /// too.
  [[nodiscard]] Compute joined(const Compute& producer, const Compute& c, const ElementRead& r) const {
    Compute to = c;
    const std::vector<Expr> all = replacements(producer, c, r);
    const std::vector<Label> inner = renamed_apart(producer.reduce, all_labels(c));
    to.reduce.insert(to.reduce.end(), inner.begin(), inner.end());
    const std::vector<const Label*> labels = labels_of(to);
    const auto placed = [&](const Expr& e) {
      return e ? with_settled_subscripts(program_, substitute_labels(e, all), labels) : e;
    };
    if (!is_reduction(producer)) {
      const Expr element = placed(element_of(producer));
      rewrite_expressions(to, [&](const Expr& e) { return with_part(e, r.element, element); });
      return to;
    }
    to.bodies = {with_part(c.bodies[0], r.element, placed(producer.bodies[0]))};
    if (!c.monoid) {
      to.monoid = producer.monoid;
      to.guard = placed(producer.guard);
      to.fill = producer.fill;
    }
    return to;
  }

  /// Turns a node that copies the elements of the read into one that computes them.
  void compose_part(const Compute& producer, Node& part, const ElementRead& r) const {
    auto& elements = std::get<Compute>(part.op);
    ElementRead own = r;
    own.element = elements.bodies[0];
    elements = joined(producer, elements, own);
  }

  /// Computes the elements that the site reads, in the reader or in front of it.
  void apply(Region& region, const Node& source, const Reader& site) {
    const auto& producer = std::get<Compute>(source.op);
    const bool taken = takes(region, producer, site);
    Node& reader = region.nodes[site.at];
    auto& c = std::get<Compute>(reader.op);
    count(reader, -1);
    std::vector<Node> before;
    for (const ElementRead& r : site.reads) {
      bounds_.check(program_, c, r, before);
      if (taken) {
        c = joined(producer, c, r);
        continue;
      }
      AheadPart part = part_ahead(program_, c, r.element, 0, source.range);
      compose_part(producer, part.node, r);
      before.push_back(std::move(part.node));
      rewrite_expressions(c, [&](const Expr& e) { return with_part(e, r.element, part.element); });
    }
    if (taken && is_reduction(producer)) {
      name_after(source.results[0], reader.results[0]);
      reader.range = source.range;
    }
    count(reader, 1);
    insert(region, site.at, std::move(before));
  }

  // --- choices at the start of the run

  /// True if the sizes and scalars in the subscripts are known where the value is computed.
  [[nodiscard]] bool is_ready(const Region& region, std::size_t k, const std::vector<Reader>& sites) const {
    std::set<ValueId> used;
    for (const Reader& site : sites) {
      for (const Label& l : all_labels(std::get<Compute>(region.nodes[site.at].op))) {
        for (const Extent* bound : {&l.begin, &l.end}) {
          for (const ValueId v : bound->values()) used.insert(v);
        }
      }
      for (const ElementRead& r : site.reads) {
        for_each_read(r.element, [&](const Read& x) { used.insert(x.tensor); });
      }
    }
    used.erase(region.nodes[k].results[0]);
    return std::none_of(region.nodes.begin() + static_cast<std::ptrdiff_t>(k), region.nodes.end(), [&](const Node& n) {
      return std::ranges::any_of(n.results, [&](ValueId v) { return used.contains(v); });
    });
  }

  /// Replaces node `k` by a choice between the whole value and the elements that are read.
  void defer(Region& region, std::size_t k, const std::vector<Reader>& sites) {
    const Node source = region.nodes[k];
    const auto& producer = std::get<Compute>(source.op);
    Renaming names;
    Region whole, parts;
    whole.nodes.push_back(copied(program_, source, names));
    std::vector<ValueId> results;
    std::vector<Node> checks;
    for (const Reader& site : sites) {
      Node& reader = region.nodes[site.at];
      auto& c = std::get<Compute>(reader.op);
      count(reader, -1);
      for (const ElementRead& r : site.reads) {
        bounds_.check(program_, c, r, checks);
        AheadPart part = part_ahead(program_, c, r.element, 0, source.range);
        results.push_back(part.node.results[0]);
        whole.nodes.push_back(copied(program_, part.node, names));
        whole.yields.push_back(whole.nodes.back().results[0]);
        compose_part(producer, part.node, r);
        Renaming fresh;
        parts.nodes.push_back(copied(program_, part.node, fresh));
        parts.yields.push_back(parts.nodes.back().results[0]);
        rewrite_expressions(c, [&](const Expr& e) { return with_part(e, r.element, part.element); });
      }
      count(reader, 1);
    }
    count(source, -1);
    for (const Region* form : {&whole, &parts}) {
      for (const Node& node : form->nodes) count(node, 1);
      for (const ValueId v : form->yields) ++uses_[static_cast<std::size_t>(v.id)];
    }
    Choose choose{{}, {"whole", "at the elements that are read"}};
    choose.regions.push_back(std::move(whole));
    choose.regions.push_back(std::move(parts));
    region.nodes[k] = Node{source.range, std::move(results), std::move(choose)};
    insert(region, k, std::move(checks));
    context_.applied(source.range,
                     "whether it is computed whole or at the elements that are read is chosen when the program starts");
  }

  void name_after(ValueId from, ValueId to) {
    std::string& name = program_.values[static_cast<std::size_t>(to.id)].name;
    if (name.empty()) name = program_.info(from).name;
  }

  // --- sums of sums

  /// True if the reader, a reduction of the producer's elements, can combine the producer's terms, with fewer
  /// operations or fewer tensors.
  [[nodiscard]] bool joins_sums(const Region& region, std::size_t k, const Reader& site) const {
    const auto& producer = std::get<Compute>(region.nodes[k].op);
    const auto& c = std::get<Compute>(region.nodes[site.at].op);
    const ElementRead& r = site.reads.front();
    if (!is_reduction(producer) || !is_reduction(c) || producer.guard || c.guard || c.bodies.size() != 1 ||
        c.in_any_order || !combines_freely(*c.monoid) || !equal(*c.monoid, *producer.monoid) ||
        all_labels(c).size() + producer.reduce.size() > kMostLabels)
      return false;
    const Scalar type = c.bodies[0]->type;
    const bool same = producer.bodies[0]->type == type && program_.type(tensor_of(r)).scalar == type &&
                      program_.type(region.nodes[site.at].results[0]).scalar == type;
    if (!same || program_.type(region.nodes[site.at].results[0]).has_sparse()) return false;
    if (r.whole) {
      const bool sums = c.monoid->kind == Monoid::Kind::kSum && is_real(type) && is_factor(c.bodies[0], r.element);
      return sums && !product_of(c) && pushed_sums(program_, joined(producer, c, r)) && may_move(region, k, site);
    }
    if (!equal(c.bodies[0], r.element) || r.labels != running_labels(c) || !r.each_once || !fits(region, k, site))
      return false;
    // A product of matrices is faster than one nest, unless its sum can be pushed.
    const Compute joint = joined(producer, c, r);
    return factor_groups(joint.bodies[0]).size() != 2 || pushed_sums(program_, joint);
  }

  void join_sums(Region& region, std::size_t k, const Reader& site) {
    const Node source = region.nodes[k];
    Node& reader = region.nodes[site.at];
    auto& c = std::get<Compute>(reader.op);
    std::vector<Node> before;
    bounds_.check(program_, c, site.reads.front(), before);
    count(reader, -1);
    c = joined(std::get<Compute>(source.op), c, site.reads.front());
    count(reader, 1);
    const std::size_t checks = before.size();
    insert(region, site.at, std::move(before));
    push(region, site.at + checks);
    count(source, -1);
    region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(k));
    context_.applied(source.range, "its terms are summed by its only reader");
  }

  ExtentFacts facts_{program_};
  ReadBounds bounds_{program_};
  std::vector<int> uses_ = use_counts(program_);
};

}  // namespace

Program compose_reads(const Program& program, PassContext& context) { return ComposeReads(program, context).run(); }

}  // namespace tdsl::passes
