#include "passes/einsum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>

#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Labels as bits.
using Mask = std::uint64_t;

/// The tensors that are multiplied; false if there is anything else.
bool factors_of(const Program& program, const Expr& e, std::vector<Einsum::Factor>& into) {
  if (const auto* product = std::get_if<Binary>(&e->op); product != nullptr && product->op == BinaryOp::kMul)
    return factors_of(program, product->left, into) && factors_of(program, product->right, into);
  const auto* r = std::get_if<Read>(&e->op);
  if (r == nullptr || r->subscripts.empty() || program.type(r->tensor).has_sparse() || into.size() == kMostFactors)
    return false;
  Einsum::Factor factor{r->tensor, {}};
  for (const Expr& s : r->subscripts) {
    const std::int32_t label = bare_label(s);
    if (label < 0 || std::ranges::find(factor.labels, label) != factor.labels.end())
      return false;
    factor.labels.push_back(label);
  }
  into.push_back(std::move(factor));
  return true;
}

Mask mask_of(const std::vector<std::int32_t>& labels) {
  Mask mask = 0;
  for (const std::int32_t l : labels)
    mask |= Mask{1} << l;
  return mask;
}

bool has(Mask mask, std::size_t label) { return (mask >> label & 1) != 0; }

}  // namespace

std::optional<Einsum> einsum_of(const Program& program, const Compute& c) {
  const bool plain = c.left.empty() && !c.base && !c.guard && !c.combine && c.bodies.size() == 1 && c.monoid && c.monoid->kind == Monoid::Kind::kSum;
  if (!plain || !is_float(c.bodies[0]->type) || c.out.size() + c.reduce.size() > 2 * kMostFactors)
    return std::nullopt;
  Einsum einsum;
  einsum.type = c.bodies[0]->type;
  einsum.outs = c.out.size();
  for (const auto* list : {&c.out, &c.reduce})
    einsum.labels.insert(einsum.labels.end(), list->begin(), list->end());
  const bool from_zero = std::ranges::all_of(einsum.labels, [](const Label& l) { return l.begin == Extent(0); });
  if (!from_zero || !factors_of(program, c.bodies[0], einsum.factors) || einsum.factors.size() < 3)
    return std::nullopt;
  Mask used = 0;
  for (const Einsum::Factor& f : einsum.factors)
    used |= mask_of(f.labels);
  if (used != (Mask{1} << einsum.labels.size()) - 1)
    return std::nullopt;
  return einsum;
}

std::optional<ProductChain> chain_of(const Einsum& einsum) {
  if (einsum.outs < 1 || einsum.outs > 2)
    return std::nullopt;
  std::vector<bool> done(einsum.factors.size(), false);
  ProductChain chain;
  std::int32_t at = 0;  // the label of the rows of what comes next
  chain.sizes.push_back(einsum.labels[0].end);
  while (chain.factors.size() < einsum.factors.size()) {
    std::size_t next = einsum.factors.size();
    for (std::size_t k = 0; k < einsum.factors.size(); ++k) {
      if (done[k] || std::ranges::find(einsum.factors[k].labels, at) == einsum.factors[k].labels.end())
        continue;
      if (next != einsum.factors.size())
        return std::nullopt;  // the label joins more than two
      next = k;
    }
    if (next == einsum.factors.size())
      return std::nullopt;
    done[next] = true;
    const Einsum::Factor& f = einsum.factors[next];
    const bool last = chain.factors.size() + 1 == einsum.factors.size();
    const bool vector = f.labels.size() == 1;
    if (f.labels.size() > 2 || vector != (last && einsum.outs == 1))
      return std::nullopt;
    const bool transposed = !vector && f.labels[1] == at;
    const std::int32_t onwards = vector ? -1 : f.labels[transposed ? 0 : 1];
    // Inner labels are summed, the last one is of the result.
    if (!vector && (static_cast<std::size_t>(onwards) < einsum.outs) != last)
      return std::nullopt;
    chain.factors.push_back({f.tensor, transposed, vector});
    chain.sizes.push_back(vector ? Extent(1) : einsum.labels[static_cast<std::size_t>(onwards)].end);
    at = onwards;
  }
  // Every label was on the way.
  const std::size_t summed = einsum.factors.size() - 1;
  return einsum.labels.size() == einsum.outs + summed ? std::optional(chain) : std::nullopt;
}

namespace {

/// What contracting subsets of the factors leaves and costs.
class Subsets {
 public:
  explicit Subsets(const Einsum& einsum) : einsum_(einsum), n_(einsum.factors.size()), result_((Mask{1} << einsum.outs) - 1) {
    for (const Einsum::Factor& f : einsum.factors)
      masks_.push_back(mask_of(f.labels));
    kept_.resize(std::size_t{1} << n_);
    for (std::size_t set = 1; set < kept_.size(); ++set) {
      Mask inside = 0, outside = result_;
      for (std::size_t k = 0; k < n_; ++k)
        ((set >> k & 1) != 0 ? inside : outside) |= masks_[k];
      kept_[set] = inside & outside;
    }
  }

  /// The labels that are left when the factors in the set have been contracted.
  [[nodiscard]] Mask kept(std::size_t set) const { return kept_[set]; }
  [[nodiscard]] std::size_t factors() const { return n_; }

  [[nodiscard]] double points(Mask labels, const std::vector<double>& sizes) const {
    double product = 1;
    for (std::size_t l = 0; l < einsum_.labels.size(); ++l)
      product *= has(labels, l) ? sizes[l] : 1;
    return product;
  }

  /// Operations of contracting two disjoint sets, each contracted already.
  [[nodiscard]] double join(std::size_t a, std::size_t b, const std::vector<double>& sizes) const {
    const Mask both = kept(a) | kept(b);
    return points(both, sizes) * (both == kept(a | b) ? 1 : 2);
  }
  /// Operations of the sum as one.
  [[nodiscard]] double as_one(const std::vector<double>& sizes) const {
    return points((Mask{1} << einsum_.labels.size()) - 1, sizes) * static_cast<double>(n_);
  }

  /// The cheapest path (dynamic program over subsets; outer products are allowed).
  [[nodiscard]] ContractionPath best(const std::vector<double>& sizes) const {
    std::vector<double> cost(kept_.size(), 0);
    std::vector<std::size_t> part(kept_.size(), 0);
    for (std::size_t set = 1; set < kept_.size(); ++set) {
      if (std::has_single_bit(set))
        continue;
      cost[set] = std::numeric_limits<double>::infinity();
      const std::size_t lowest = set & (~set + 1);
      for (std::size_t a = (set - 1) & set; a != 0; a = (a - 1) & set) {
        if ((a & lowest) == 0)
          continue;
        const double here = cost[a] + cost[set ^ a] + join(a, set ^ a, sizes);
        if (!(here < cost[set]))
          continue;
        cost[set] = here;
        part[set] = a;
      }
    }
    ContractionPath path;
    static_cast<void>(collect(kept_.size() - 1, part, path));
    return path;
  }

  [[nodiscard]] double cost(const ContractionPath& path, const std::vector<double>& sizes) const {
    std::vector<std::size_t> sets;
    for (std::size_t k = 0; k < n_; ++k)
      sets.push_back(std::size_t{1} << k);
    double sum = 0;
    for (const auto& [a, b] : path) {
      sum += join(sets[a], sets[b], sizes);
      sets.push_back(sets[a] | sets[b]);
    }
    return sum;
  }

 private:
  /// Appends the path of a set; returns the number of its result.
  std::size_t collect(std::size_t set, const std::vector<std::size_t>& part, ContractionPath& path) const {
    if (std::has_single_bit(set))
      return static_cast<std::size_t>(std::countr_zero(set));
    const std::size_t a = collect(part[set], part, path);
    const std::size_t b = collect(set ^ part[set], part, path);
    path.emplace_back(a, b);
    return n_ + path.size() - 1;
  }

  const Einsum& einsum_;
  std::size_t n_;
  Mask result_;
  std::vector<Mask> masks_;
  std::vector<Mask> kept_;
};

/// Sizes of all labels, many times: every extent that is no constant takes every value.
std::vector<std::vector<double>> scenarios_of(const Einsum& einsum) {
  constexpr std::array kSizes{4.0, 64.0, 1024.0};
  constexpr std::size_t kFewExtents = 5;
  std::vector<Extent> extents;
  std::vector<std::size_t> which;
  for (const Label& l : einsum.labels) {
    const auto known = std::ranges::find(extents, l.end);
    which.push_back(static_cast<std::size_t>(known - extents.begin()));
    if (known == extents.end())
      extents.push_back(l.end);
  }
  std::size_t open = 0;
  for (const Extent& e : extents)
    open += e.constant() ? 0 : 1;
  // Of many extents two values each, of very many one after the other.
  const std::size_t step = open <= kFewExtents ? 1 : 2;
  std::vector<std::vector<double>> values{{}};
  for (std::size_t k = 0; k < extents.size(); ++k) {
    std::vector<std::vector<double>> longer;
    const auto constant = extents[k].constant();
    for (const std::vector<double>& v : values) {
      for (std::size_t s = 0; s < (constant ? 1 : kSizes.size()); s += step) {
        longer.push_back(v);
        longer.back().push_back(constant ? static_cast<double>(std::max<std::int64_t>(*constant, 1)) : kSizes[s]);
        if (values.size() >= 1024) break;
      }
    }
    values = std::move(longer);
  }
  std::vector<std::vector<double>> scenarios;
  for (const std::vector<double>& v : values) {
    scenarios.emplace_back();
    for (const std::size_t w : which)
      scenarios.back().push_back(v[w]);
  }
  return scenarios;
}

/// The sum as one is tried up to so many times the operations of the best path: it may still receive less.
constexpr double kWorthwhile = 4;

/// Paths and what each costs in each scenario, as a multiple of the least.
struct Regrets {
  std::vector<ContractionPath> paths;
  std::vector<std::vector<double>> of;
};

Regrets regrets_of(const Subsets& subsets, const std::vector<std::vector<double>>& scenarios) {
  Regrets regrets;
  for (const std::vector<double>& sizes : scenarios) {
    ContractionPath path = subsets.best(sizes);
    if (subsets.cost(path, sizes) < subsets.as_one(sizes) && std::ranges::find(regrets.paths, path) == regrets.paths.end())
      regrets.paths.push_back(std::move(path));
  }
  for (const ContractionPath& path : regrets.paths) {
    regrets.of.emplace_back();
    for (const std::vector<double>& sizes : scenarios) {
      const double least = std::min(subsets.cost(subsets.best(sizes), sizes), subsets.as_one(sizes));
      regrets.of.back().push_back(subsets.cost(path, sizes) / least);
    }
  }
  return regrets;
}

}  // namespace

PathChoice paths_of(const Einsum& einsum) {
  const Subsets subsets(einsum);
  const std::vector<std::vector<double>> scenarios = scenarios_of(einsum);
  const Regrets regrets = regrets_of(subsets, scenarios);
  // Greedily the path after which the least is lost on average, until nothing is.
  std::vector<double> now(scenarios.size(), std::numeric_limits<double>::infinity());
  std::vector<std::size_t> taken;
  while (taken.size() < std::min(kMostPaths, regrets.paths.size())) {
    std::pair<double, double> best{std::numeric_limits<double>::infinity(), 0};
    std::size_t which = 0;
    for (std::size_t k = 0; k < regrets.paths.size(); ++k) {
      std::pair<double, double> here{0, 0};
      for (std::size_t s = 0; s < now.size(); ++s) {
        const double regret = std::min(now[s], regrets.of[k][s]);
        here.first += regret;
        here.second = std::max(here.second, regret);
      }
      if (here < best) {
        best = here;
        which = k;
      }
    }
    bool gains = false;
    for (std::size_t s = 0; s < now.size(); ++s) {
      gains = gains || regrets.of[which][s] < now[s];
      now[s] = std::min(now[s], regrets.of[which][s]);
    }
    if (!gains)
      break;
    taken.push_back(which);
  }
  PathChoice choice;
  for (const std::size_t k : taken)
    choice.paths.push_back(regrets.paths[k]);
  choice.as_one = choice.paths.empty() || std::ranges::any_of(scenarios, [&](const std::vector<double>& sizes) {
    return subsets.as_one(sizes) < kWorthwhile * subsets.cost(subsets.best(sizes), sizes);
  });
  return choice;
}

std::string text_of(const Program& program, const Einsum& einsum, const ContractionPath& path) {
  std::vector<std::string> texts;
  for (const Einsum::Factor& f : einsum.factors) {
    const std::string& name = program.info(f.tensor).name;
    texts.push_back(name.empty() ? "…" : name);
  }
  for (const auto& [a, b] : path)
    texts.push_back("(" + texts[a] + " " + texts[b] + ")");
  const std::string& whole = texts.back();
  return whole.substr(1, whole.size() - 2);
}

namespace {

/// Writes contractions of operands as nodes.
class PathWriter {
 public:
  PathWriter(Program& program, const Einsum& einsum, SourceRange range) : program_(program), einsum_(einsum), range_(range), operands_(einsum.factors) {}

  std::vector<Node> run(const ContractionPath& path, ValueId result) {
    for (std::size_t k = 0; k < operands_.size(); ++k)
      open_.push_back(true);
    for (std::size_t k = 0; k < einsum_.factors.size(); ++k)
      sum_alone(k);
    for (const auto& [a, b] : path) {
      const bool last = nodes_done_ + 1 == path.size();
      contract({a, b}, last ? std::optional(result) : std::nullopt);
      ++nodes_done_;
    }
    return std::move(nodes_);
  }

 private:
  /// Labels of nothing but one factor are summed at once.
  void sum_alone(std::size_t k) {
    const Mask kept = wanted_without({k});
    if ((mask_of(operands_[k].labels) & ~kept) == 0)
      return;
    contract({k}, std::nullopt);
    operands_[k] = operands_.back();
    operands_.pop_back();
    open_.pop_back();
    open_[k] = true;
  }

  /// Labels that the result or other operands have.
  [[nodiscard]] Mask wanted_without(const std::vector<std::size_t>& which) const {
    Mask mask = (Mask{1} << einsum_.outs) - 1;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (open_[k] && std::ranges::find(which, k) == which.end())
        mask |= mask_of(operands_[k].labels);
    }
    return mask;
  }

  void contract(const std::vector<std::size_t>& which, std::optional<ValueId> result) {
    const Mask wanted = wanted_without(which);
    std::vector<std::int32_t> out, summed;
    for (const std::size_t k : which) {
      for (const std::int32_t l : operands_[k].labels) {
        std::vector<std::int32_t>& list = has(wanted, static_cast<std::size_t>(l)) ? out : summed;
        if (std::ranges::find(list, l) == list.end())
          list.push_back(l);
      }
    }
    if (result)
      std::ranges::sort(out);
    Compute c;
    std::vector<std::int32_t> number(einsum_.labels.size(), -1);
    Type type{einsum_.type, {}, {}};
    for (const std::int32_t l : out) {
      const Label& label = einsum_.labels[static_cast<std::size_t>(l)];
      number[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(c.out.size());
      c.out.push_back(label);
      type.shape.push_back(label.end);
    }
    for (const std::int32_t l : summed) {
      number[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(c.out.size() + c.reduce.size());
      c.reduce.push_back(einsum_.labels[static_cast<std::size_t>(l)]);
    }
    if (!summed.empty())
      c.monoid = Monoid{Monoid::Kind::kSum, {}, {}, {}};
    Expr body = element(operands_[which[0]], number);
    if (which.size() == 2)
      body = binary(BinaryOp::kMul, body, element(operands_[which[1]], number), range_);
    c.bodies.push_back(body);
    const ValueId v = result ? *result : program_.new_value(type, "", range_);
    nodes_.push_back({range_, {v}, std::move(c)});
    for (const std::size_t k : which)
      open_[k] = false;
    operands_.push_back({v, out});
    open_.push_back(true);
  }

  [[nodiscard]] Expr element(const Einsum::Factor& f, const std::vector<std::int32_t>& number) const {
    std::vector<Expr> subscripts;
    for (const std::int32_t l : f.labels)
      subscripts.push_back(index_ref(number[static_cast<std::size_t>(l)]));
    return read(einsum_.type, f.tensor, std::move(subscripts), range_);
  }

  Program& program_;
  const Einsum& einsum_;
  SourceRange range_;
  std::vector<Einsum::Factor> operands_;  ///< factors, then results
  std::vector<bool> open_;                ///< not contracted yet
  std::vector<Node> nodes_;
  std::size_t nodes_done_ = 0;
};

}  // namespace

std::vector<Node> nodes_of(Program& program, const Einsum& einsum, const ContractionPath& path, ValueId result, SourceRange range) {
  return PathWriter(program, einsum, range).run(path, result);
}

}  // namespace tdsl::passes
