#include "runtime/plan/search/eliminate.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/check.h"

namespace tdsl::plan {

namespace {

/// Sizes saturate here, beyond any memory; multiplied by the values of a variable they still fit 64 bits.
constexpr Index kTooMany = Index{1} << 40;

/// Which variables share a table while others are eliminated.
class InteractionGraph {
 public:
  InteractionGraph(const Network& network, Index limit)
      : network_(network), limit_(std::min(limit, kTooMany - 1)), neighbours_(idx(network.variables())) {
    // Variables with one value add no edges.
    for (const Network::Edge& edge : network.edges()) {
      if (network.values(edge.first) == 1 || network.values(edge.second) == 1) continue;
      neighbours_[idx(edge.first)].push_back(edge.second);
      neighbours_[idx(edge.second)].push_back(edge.first);
    }
    for (int v = 0; v < network.variables(); ++v) {
      std::sort(neighbours_[idx(v)].begin(), neighbours_[idx(v)].end());
      if (network.values(v) > 1) waiting_.insert(turn(v));
    }
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] int next() const { return waiting_.begin()->variable; }
  /// Entries of the table over a variable and its neighbours, which is filled to eliminate the variable.
  [[nodiscard]] Index table(int v) const { return message(v) * network_.values(v); }

  [[nodiscard]] bool too_large(int v) const { return table(v) > limit_; }

  void eliminate(int v) {
    waiting_.erase(turn(v));
    const std::vector<int> around = std::move(neighbours_[idx(v)]);
    for (const int u : around) {
      waiting_.erase(turn(u));
      std::vector<int> joined;
      std::set_union(neighbours_[idx(u)].begin(), neighbours_[idx(u)].end(), around.begin(), around.end(),
                     std::back_inserter(joined));
      std::erase_if(joined, [&](int w) { return w == u || w == v; });
      neighbours_[idx(u)] = std::move(joined);
      waiting_.insert(turn(u));
    }
  }

 private:
  struct Turn {
    bool too_large = false;
    Index message = 0;
    int variable = 0;
    auto operator<=>(const Turn&) const = default;
  };

  [[nodiscard]] Turn turn(int v) const { return {too_large(v), message(v), v}; }
  /// Entries of the table over the neighbours, which remains.
  [[nodiscard]] Index message(int v) const {
    Index size = 1;
    for (const int u : neighbours_[idx(v)]) size = std::min(kTooMany, size * network_.values(u));
    return size;
  }

  const Network& network_;
  Index limit_;
  std::vector<std::vector<int>> neighbours_;  ///< ascending
  std::set<Turn> waiting_;
};

/// A term of a bucket's sum: one entry per combination of coordinates in some of the bucket's dimensions and value of
/// its variable.
struct BucketTerm {
  const double* cost = nullptr;
  Index step = 0;                              ///< stride between values of the bucket's variable
  std::vector<std::pair<int, Index>> strides;  ///< dimension and stride of its values
  int inner = -1;                              ///< the innermost dimension
  int child = -1;                              ///< the bucket whose message it is

  [[nodiscard]] Index offset(const std::vector<int>& at) const {
    Index offset = 0;
    for (const auto& [dim, stride] : strides) offset += at[idx(dim)] * stride;
    return offset;
  }
};

/// State of a variable when it is eliminated.
struct Bucket {
  int variable = 0;
  std::vector<int> scope;  ///< its neighbours at that time; the one eliminated next is last
  std::vector<int> sizes;  ///< of the scope
  std::vector<BucketTerm> terms;
  std::vector<double> message;  ///< row-major over the scope
};

/// The variables in elimination order, each with the tables and messages that end at it.
class BucketTree {
 public:
  BucketTree(const Network& network, const std::vector<int>& order)
      : network_(network), place_(idx(network.variables()), -1) {
    for (const int v : order) {
      place_[idx(v)] = static_cast<int>(buckets_.size());
      buckets_.push_back({v, {}, {}, {}, {}});
    }
    children_.resize(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) fill(b);
  }

  [[nodiscard]] Assignment best() const {
    Assignment x(idx(network_.variables()), 0);
    for (std::size_t b = buckets_.size(); b-- > 0;) {
      const Bucket& bucket = buckets_[b];
      std::vector<int> at;
      for (const int u : bucket.scope) at.push_back(x[idx(u)]);
      std::vector<double> sum(idx(network_.values(bucket.variable)), 0.0);
      for (const BucketTerm& term : bucket.terms) add(term, at, sum);
      x[idx(bucket.variable)] = static_cast<int>(std::min_element(sum.begin(), sum.end()) - sum.begin());
    }
    return x;
  }

  /// From the roots down. `through[b]`: per entry of a message, the least total cost with these values of its scope;
  /// the contribution of the other tables is the difference to the message.
  [[nodiscard]] Marginals marginals() const {
    const double least = network_.cost(best());
    Marginals result;
    for (int v = 0; v < network_.variables(); ++v)
      result.emplace_back(idx(network_.values(v)), place_[idx(v)] < 0 ? least : kForbidden);
    std::vector<std::vector<double>> through(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      through[b].assign(buckets_[b].message.size(), buckets_[b].scope.empty() ? least : kForbidden);
    }
    for (std::size_t b = buckets_.size(); b-- > 0;) spread(b, through, result[idx(buckets_[b].variable)]);
    return result;
  }

 private:
  static void add(const BucketTerm& term, const std::vector<int>& at, std::vector<double>& sum) {
    const double* cost = term.cost + term.offset(at);
    if (term.step == 1) {
      for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += cost[x];
    } else {
      for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += cost[static_cast<Index>(x) * term.step];
    }
  }

  /// Calls visit(entry of the message, coordinates, costs per value of the variable). Partial sums are kept per
  /// dimension, so that most entries add only the terms of the innermost one.
  template <class Visit>
  void for_each_entry(const Bucket& bucket, Visit&& visit) const {
    const int dims = static_cast<int>(bucket.scope.size());
    std::vector<std::vector<const BucketTerm*>> terms(idx(dims) +
                                                      1);  // by innermost dimension, those without one first
    for (const BucketTerm& term : bucket.terms) terms[idx(term.inner + 1)].push_back(&term);
    std::vector<std::vector<double>> sums(idx(dims) + 1,
                                          std::vector<double>(idx(network_.values(bucket.variable)), 0.0));
    std::vector<int> at(idx(dims), 0);
    int changed = -1;
    for (std::size_t entry = 0;; ++entry) {
      for (int d = changed; d < dims; ++d) {
        std::vector<double>& sum = sums[idx(d + 1)];
        if (d >= 0) sum = sums[idx(d)];
        for (const BucketTerm* term : terms[idx(d + 1)]) add(*term, at, sum);
      }
      visit(entry, at, sums.back());
      changed = dims - 1;
      while (changed >= 0 && ++at[idx(changed)] == bucket.sizes[idx(changed)]) at[idx(changed--)] = 0;
      if (changed < 0) return;
    }
  }

  /// Collects the terms that end at the bucket and computes its message.
  void fill(std::size_t b) {
    Bucket& bucket = buckets_[b];
    find_scope(b);
    bucket.terms.push_back({network_.own(bucket.variable).data(), 1, {}, -1, -1});
    for (const int e : network_.edges_of(bucket.variable)) {
      const Network::View view = network_.view(e, bucket.variable);
      const int place = place_[idx(view.other)];
      if (place < 0) {
        bucket.terms.push_back({view.cost, view.step, {}, -1, -1});
      } else if (place > static_cast<int>(b)) {
        const int dim = dimension(bucket, view.other);
        bucket.terms.push_back({view.cost, view.step, {{dim, view.other_step}}, dim, -1});
      }
    }
    for (const int child : children_[b]) bucket.terms.push_back(message_of(child, bucket));
    Index size = 1;
    for (const int n : bucket.sizes) size *= n;
    bucket.message.resize(static_cast<std::size_t>(size));
    for_each_entry(bucket, [&](std::size_t entry, const std::vector<int>&, const std::vector<double>& sum) {
      bucket.message[entry] = *std::min_element(sum.begin(), sum.end());
    });
    if (!bucket.scope.empty()) children_[idx(place_[idx(bucket.scope.back())])].push_back(static_cast<int>(b));
  }

  void find_scope(std::size_t b) {
    Bucket& bucket = buckets_[b];
    std::set<int, std::greater<>> places;  // the variable eliminated last is the outermost dimension
    for (const int e : network_.edges_of(bucket.variable)) {
      places.insert(place_[idx(network_.view(e, bucket.variable).other)]);
    }
    for (const int child : children_[b]) {
      for (const int u : buckets_[idx(child)].scope) places.insert(place_[idx(u)]);
    }
    for (const int place : places) {
      if (place <= static_cast<int>(b)) break;
      bucket.scope.push_back(buckets_[idx(place)].variable);
      bucket.sizes.push_back(network_.values(bucket.scope.back()));
    }
  }

  [[nodiscard]] static int dimension(const Bucket& bucket, int variable) {
    return static_cast<int>(std::find(bucket.scope.begin(), bucket.scope.end(), variable) - bucket.scope.begin());
  }

  /// A child's message, whose innermost dimension is the bucket's variable.
  [[nodiscard]] BucketTerm message_of(int child, const Bucket& bucket) const {
    const Bucket& from = buckets_[idx(child)];
    BucketTerm term{from.message.data(), 1, {}, -1, child};
    Index stride = from.sizes.back();
    for (std::size_t d = from.scope.size() - 1; d-- > 0;) {
      const int dim = dimension(bucket, from.scope[d]);
      term.strides.emplace_back(dim, stride);
      term.inner = std::max(term.inner, dim);
      stride *= from.sizes[d];
    }
    return term;
  }

  void spread(std::size_t b, std::vector<std::vector<double>>& through, std::vector<double>& marginal) const {
    const Bucket& bucket = buckets_[b];
    for_each_entry(bucket, [&](std::size_t entry, const std::vector<int>& at, const std::vector<double>& sum) {
      const double message = bucket.message[entry];
      if (message == kForbidden) return;
      const double rest = through[b][entry] - message;
      for (std::size_t x = 0; x < sum.size(); ++x) marginal[x] = std::min(marginal[x], sum[x] + rest);
      for (const BucketTerm& term : bucket.terms) {
        if (term.child < 0) continue;
        double* down = through[idx(term.child)].data() + term.offset(at);
        for (std::size_t x = 0; x < sum.size(); ++x) down[x] = std::min(down[x], sum[x] + rest);
      }
    });
  }

  const Network& network_;
  std::vector<int> place_;  ///< position of a variable in the order; -1: it has only one value
  std::vector<Bucket> buckets_;
  std::vector<std::vector<int>> children_;  ///< per bucket: the buckets whose messages end at it
};

}  // namespace

EliminationOrder elimination_order(const Network& network, Index limit) {
  EliminationOrder order;
  for (InteractionGraph graph(network, limit); !graph.empty();) {
    const int v = graph.next();
    const Index size = graph.table(v);
    order.largest = std::max(order.largest, size);
    if (graph.too_large(v)) return order;
    order.entries += size;
    order.messages += size / network.values(v);
    order.variables.push_back(v);
    graph.eliminate(v);
  }
  order.fits = true;
  return order;
}

Answer eliminate(const Network& network, const EliminationOrder& order) {
  TDSL_CHECK(order.fits, "elimination of a part of the variables");
  Answer answer{BucketTree(network, order.variables).best(), 0, order.entries};
  answer.cost = network.cost(answer.values);
  return answer;
}

Marginals min_marginals(const Network& network, const EliminationOrder& order) {
  TDSL_CHECK(order.fits, "elimination of a part of the variables");
  return BucketTree(network, order.variables).marginals();
}

}  // namespace tdsl::plan
