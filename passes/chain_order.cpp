#include "passes/chain_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "ir/check.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// One factor: a matrix read as [row, column] or [column, row], or a vector.
struct Factor {
  ValueId tensor;
  bool transposed = false;
  bool vector = false;
};

/// `left[row, inner] * right[inner, column]` summed over inner; without `column` a matrix times a vector.
struct Product {
  Factor left;
  Factor right;
  Extent rows;
  Extent inner;
  Extent columns;  ///< 1 for a vector
};

/// The factor that `e` reads with subscripts `row` and `column` (-1: a vector over `row` alone).
std::optional<Factor> factor_of(const Expr& e, std::int32_t row, std::int32_t column) {
  const auto* r = std::get_if<Read>(&e->op);
  if (r == nullptr)
    return std::nullopt;
  std::vector<std::int32_t> labels;
  for (const Expr& s : r->subscripts)
    labels.push_back(bare_label(s));
  if (labels == std::vector{row, column})
    return Factor{r->tensor, false, false};
  if (labels == std::vector{column, row})
    return Factor{r->tensor, true, false};
  if (column < 0 && labels == std::vector{row})
    return Factor{r->tensor, false, true};
  return std::nullopt;
}

std::optional<Product> product_of(const Compute& c) {
  const bool plain = c.left.empty() && !c.base && !c.guard && c.bodies.size() == 1 && c.monoid &&
                     c.monoid->kind == Monoid::Kind::kSum && c.reduce.size() == 1;
  if (!plain || c.out.empty() || c.out.size() > 2 || !is_float(c.bodies[0]->type))
    return std::nullopt;
  for (const auto* list : {&c.out, &c.reduce}) {
    if (!std::ranges::all_of(*list, [](const Label& l) { return l.begin == Extent(0); }))
      return std::nullopt;
  }
  const auto* b = std::get_if<Binary>(&c.bodies[0]->op);
  if (b == nullptr || b->op != BinaryOp::kMul)
    return std::nullopt;
  const bool vector = c.out.size() == 1;
  const std::int32_t inner = vector ? 1 : 2;
  const std::int32_t column = vector ? -1 : 1;
  for (const auto& [x, y] : {std::pair(b->left, b->right), std::pair(b->right, b->left)}) {
    const auto left = factor_of(x, 0, inner);
    const auto right = factor_of(y, inner, column);
    if (!left || !right || left->vector)
      continue;
    return Product{*left, *right, c.out[0].end, c.reduce[0].end, vector ? Extent(1) : c.out[1].end};
  }
  return std::nullopt;
}

/// -1, 0, 1 for a polynomial in sizes that are all at least 1; nothing if it depends on them.
std::optional<int> sign_of(const Extent& e) {
  if (const auto c = e.constant())
    return *c < 0 ? -1 : (*c > 0 ? 1 : 0);
  const Extent shifted = e.substitute([](ValueId v) { return std::optional(Extent::of(v) + Extent(1)); });
  bool positive = true;
  bool negative = true;
  for (const auto& [monomial, coefficient] : shifted.terms()) {
    const bool opaque =
        std::ranges::any_of(monomial, [](const Extent::AtomRef& a) { return a->kind != Extent::Atom::Kind::kValue; });
    if (opaque)
      return std::nullopt;
    positive = positive && coefficient > 0;
    negative = negative && coefficient < 0;
  }
  if (positive)
    return 1;
  if (negative)
    return -1;
  return std::nullopt;
}

/// Whether cost `a` is smaller than `b`; nothing if sizes decide.
std::optional<bool> cheaper(const Extent& a, const Extent& b) {
  if (const auto s = sign_of(a - b))
    return *s < 0;
  if (degree_of(a) != degree_of(b))
    return degree_of(a) < degree_of(b);
  return std::nullopt;
}

/// A chain F0 F1 … Fn-1 with sizes d0 x d1, d1 x d2, …; `shape` is how it was written, for comparison.
struct Chain {
  std::vector<Factor> factors;
  std::vector<Extent> sizes;
  std::vector<std::size_t> absorbed;  ///< nodes of the intermediate products, by position in the region
};

/// The dynamic program takes time in proportion to the cube of the length.
constexpr std::size_t kLongestChain = 250;

/// Where to split each interval of a chain, by the dynamic program.
class Order {
 public:
  explicit Order(const Chain& chain) : chain_(chain), n_(chain.factors.size()) {}

  /// False if symbolic sizes leave the order open.
  bool solve() {
    for (std::size_t length = 2; length <= n_; ++length) {
      for (std::size_t first = 0; first + length <= n_; ++first) {
        if (!solve(first, first + length - 1))
          return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t split(std::size_t first, std::size_t last) const { return splits_.at({first, last}); }
  [[nodiscard]] Extent cost() const { return cost(0, n_ - 1); }

 private:
  [[nodiscard]] Extent cost(std::size_t first, std::size_t last) const {
    return first == last ? Extent(0) : costs_.at({first, last});
  }
  bool solve(std::size_t first, std::size_t last) {
    std::optional<Extent> best;
    for (std::size_t k = first; k < last; ++k) {
      const Extent here =
          cost(first, k) + cost(k + 1, last) + chain_.sizes[first] * chain_.sizes[k + 1] * chain_.sizes[last + 1];
      const auto better = best ? cheaper(here, *best) : std::optional(true);
      if (!better)
        return false;
      if (!*better)
        continue;
      best = here;
      splits_[{first, last}] = k;
    }
    costs_[{first, last}] = *best;
    return true;
  }

  const Chain& chain_;
  std::size_t n_;
  std::map<std::pair<std::size_t, std::size_t>, Extent> costs_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> splits_;
};

class ChainOrder {
 public:
  ChainOrder(Program program, PassContext& context)
      : program_(std::move(program)), context_(context), uses_(use_counts(program_)) {}

  Program run() {
    for_each_region(program_, [this](Region& region) { visit(region); });
    return std::move(program_);
  }

 private:
  void visit(Region& region) {
    std::vector<bool> removed(region.nodes.size(), false);
    settled_.assign(region.nodes.size(), false);
    std::vector<std::vector<Node>> replacement(region.nodes.size());
    // From the last node on, so that the longest chain is seen first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (removed[k] || settled_[k])
        continue;
      const auto chain = chain_at(region, k, removed);
      if (!chain)
        continue;
      reorder(region, k, *chain, removed, replacement[k]);
    }
    std::vector<Node> nodes;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (removed[k])
        continue;
      if (replacement[k].empty())
        nodes.push_back(std::move(region.nodes[k]));
      for (Node& n : replacement[k])
        nodes.push_back(std::move(n));
    }
    region.nodes = std::move(nodes);
  }

  /// The position of the product in the region that computes `f` for this use alone.
  std::optional<std::size_t> producer(const Region& region, const Factor& f, const std::vector<bool>& removed) const {
    if (f.transposed || uses_[static_cast<std::size_t>(f.tensor.id)] != 1)
      return std::nullopt;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (removed[k] || region.nodes[k].results.size() != 1 || region.nodes[k].results[0] != f.tensor)
        continue;
      const auto* c = std::get_if<Compute>(&region.nodes[k].op);
      if (c != nullptr && product_of(*c))
        return k;
    }
    return std::nullopt;
  }

  std::optional<Chain> chain_at(const Region& region, std::size_t k, const std::vector<bool>& removed) const {
    const auto* c = std::get_if<Compute>(&region.nodes[k].op);
    const auto product = c == nullptr ? std::nullopt : product_of(*c);
    if (!product)
      return std::nullopt;
    Chain chain;
    chain.sizes.push_back(product->rows);
    extend(region, *product, removed, chain);
    return chain.factors.size() > 2 ? std::optional(chain) : std::nullopt;
  }

  void extend(const Region& region, const Product& p, const std::vector<bool>& removed, Chain& chain) const {
    for (const auto& [factor, columns] : {std::pair(p.left, p.inner), std::pair(p.right, p.columns)}) {
      const auto inner = producer(region, factor, removed);
      if (inner) {
        chain.absorbed.push_back(*inner);
        extend(region, *product_of(std::get<Compute>(region.nodes[*inner].op)), removed, chain);
      } else {
        chain.factors.push_back(factor);
        chain.sizes.push_back(columns);
      }
    }
  }

  /// The cost of the chain as written.
  Extent written_cost(const Region& region, std::size_t k, const Chain& chain) const {
    std::vector<std::size_t> products = chain.absorbed;
    products.push_back(k);
    Extent sum;
    for (const std::size_t node : products) {
      const Product p = *product_of(std::get<Compute>(region.nodes[node].op));
      sum = sum + p.rows * p.inner * p.columns;
    }
    return sum;
  }

  /// The products inside the chain are not looked at again.
  void settle(const Chain& chain) {
    for (const std::size_t node : chain.absorbed)
      settled_[node] = true;
  }

  void reorder(const Region& region, std::size_t k, const Chain& chain, std::vector<bool>& removed,
               std::vector<Node>& into) {
    const Node& root = region.nodes[k];
    if (chain.factors.size() > kLongestChain) {
      settle(chain);
      context_.refused(root.range, "a chain of more than " + std::to_string(kLongestChain) + " products is computed in the order written");
      return;
    }
    Order order(chain);
    if (!order.solve()) {
      context_.refused(root.range, "the order of this chain of products depends on sizes known at run time only");
      return;
    }
    const auto better = cheaper(order.cost(), written_cost(region, k, chain));
    if (!better)
      return;
    if (!*better)
      return settle(chain);  // parts of the best order are best orders
    for (const std::size_t node : chain.absorbed)
      removed[node] = true;
    emit(root, chain, order, 0, chain.factors.size() - 1, into);
    context_.applied(root.range, "the chain of products is computed in the order of fewest multiplications");
  }

  /// Emits the product of factors first..last and returns it as a factor.
  Factor emit(const Node& root, const Chain& chain, const Order& order, std::size_t first, std::size_t last,
              std::vector<Node>& into) {
    if (first == last)
      return chain.factors[first];
    const std::size_t split = order.split(first, last);
    const Factor left = emit(root, chain, order, first, split, into);
    const Factor right = emit(root, chain, order, split + 1, last, into);
    const bool whole = first == 0 && last + 1 == chain.factors.size();
    const Compute& shape = std::get<Compute>(root.op);
    const Scalar s = shape.bodies[0]->type;
    Compute c;
    Type type{s, {chain.sizes[first]}, {}};
    c.out.push_back({"i", 0, chain.sizes[first]});
    if (!right.vector) {
      c.out.push_back({"j", 0, chain.sizes[last + 1]});
      type.shape.push_back(chain.sizes[last + 1]);
    }
    c.reduce.push_back({"k", 0, chain.sizes[split + 1]});
    c.monoid = shape.monoid;
    const auto inner = static_cast<std::int32_t>(c.out.size());
    c.bodies.push_back(binary(BinaryOp::kMul, element(s, left, 0, inner), element(s, right, inner, 1), root.range));
    const ValueId v = whole ? root.results[0] : program_.new_value(type, "", root.range);
    into.push_back({root.range, {v}, std::move(c)});
    return {v, false, right.vector};
  }

  static Expr element(Scalar s, const Factor& f, std::int32_t row, std::int32_t column) {
    if (f.vector)
      return read(s, f.tensor, {index_ref(row)});
    if (f.transposed)
      std::swap(row, column);
    return read(s, f.tensor, {index_ref(row), index_ref(column)});
  }

  Program program_;
  PassContext& context_;
  std::vector<int> uses_;
  std::vector<bool> settled_;  ///< by position in the region
};

}  // namespace

Program chain_order(const Program& program, PassContext& context) {
  return ChainOrder(program, context).run();
}

}  // namespace tdsl::passes
