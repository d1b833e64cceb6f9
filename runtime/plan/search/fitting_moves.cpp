#include "runtime/plan/search/fitting_moves.h"

#include <algorithm>
#include <cmath>

namespace tdsl::plan {

namespace {

/// Gains below this relative size are rounding errors.
constexpr double kLeastGain = 1e-12;

/// The effect of changing some variables.
struct Change {
  int forbidden = 0;
  double excess = 0;
  double cost = 0;

  [[nodiscard]] Change operator+(const Change& b) const {
    return {forbidden + b.forbidden, excess + b.excess, cost + b.cost};
  }
  void add_entry(double entry, int sign) {
    if (std::isinf(entry)) {
      forbidden += sign;
    } else {
      cost += sign * entry;
    }
  }
};

class FittingMoves {
 public:
  FittingMoves(const Network& network, const MemoryLimits& limits, Assignment& x, Index work)
      : network_(network),
        limits_(limits),
        x_(x),
        limit_(work),
        held_(limits.points.size()),
        terms_(x.size()),
        seen_by_(x.size(), -1) {
    for (std::size_t p = 0; p < limits.points.size(); ++p) {
      held_[p] = bytes_at(limits.points[p], x);
      for (const MemoryLimits::Term& term : limits.points[p].terms)
        terms_[idx(term.variable)].push_back({p, &term.bytes});
    }
    const double cost = network.cost(x);
    least_gain_ = cost == kForbidden ? 0 : kLeastGain * cost;
  }

  Index run() {
    const int n = network_.variables();
    for (int v = 0, since = 0; since < n && work_ < limit_; v = (v + 1) % n) since = change_one(v) ? 0 : since + 1;
    for (int v = 0, since = 0; since < n && work_ < limit_; v = (v + 1) % n) since = change_two(v) ? 0 : since + 1;
    return work_;
  }

 private:
  struct HeldTerm {
    std::size_t point;
    const std::vector<double>* bytes;
  };

  [[nodiscard]] bool better(const Change& c) const {
    if (c.forbidden != 0) return c.forbidden < 0;
    if (c.excess < 0 || c.excess > 0) return c.excess < 0;
    return c.cost < -least_gain_;
  }

  [[nodiscard]] Change change(int v, int value) {
    const int now = x_[idx(v)];
    Change c;
    c.add_entry(network_.own(v)[idx(value)], 1);
    c.add_entry(network_.own(v)[idx(now)], -1);
    for (const int e : network_.edges_of(v)) {
      const Network::View view = network_.view(e, v);
      c.add_entry(view.at(value, x_[idx(view.other)]), 1);
      c.add_entry(view.at(now, x_[idx(view.other)]), -1);
    }
    for (const HeldTerm& term : terms_[idx(v)]) {
      const double held = held_[term.point];
      const double then = held + (*term.bytes)[idx(value)] - (*term.bytes)[idx(now)];
      c.excess += std::max(0.0, then - limits_.cap) - std::max(0.0, held - limits_.cap);
    }
    work_ += static_cast<Index>(2 * (1 + network_.edges_of(v).size() + terms_[idx(v)].size()));
    return c;
  }

  void set(int v, int value) {
    for (const HeldTerm& term : terms_[idx(v)])
      held_[term.point] += (*term.bytes)[idx(value)] - (*term.bytes)[idx(x_[idx(v)])];
    x_[idx(v)] = value;
  }

  bool change_one(int v) {
    for (int value = 0; value < network_.values(v); ++value) {
      if (value == x_[idx(v)] || !better(change(v, value))) continue;
      set(v, value);
      return true;
    }
    return false;
  }

  bool change_two(int v) {
    find_partners(v);
    const int now = x_[idx(v)];
    for (int value = 0; value < network_.values(v) && work_ < limit_; ++value) {
      if (value == now) continue;
      const Change first = change(v, value);
      set(v, value);
      if (better(first) || change_partner(first)) return true;
      set(v, now);
    }
    return false;
  }

  /// Finds variables that share a table or a point with v.
  void find_partners(int v) {
    partners_.clear();
    seen_by_[idx(v)] = v;
    const auto add = [&](int u) {
      if (seen_by_[idx(u)] != v) partners_.push_back(u);
      seen_by_[idx(u)] = v;
    };
    for (const int e : network_.edges_of(v)) add(network_.view(e, v).other);
    for (const HeldTerm& held : terms_[idx(v)]) {
      const std::vector<MemoryLimits::Term>& terms = limits_.points[held.point].terms;
      for (const MemoryLimits::Term& term : terms) add(term.variable);
      work_ += static_cast<Index>(terms.size());
    }
  }

  /// Looks for a second change that makes both together a gain.
  bool change_partner(const Change& first) {
    for (const int u : partners_) {
      for (int value = 0; value < network_.values(u); ++value) {
        if (value == x_[idx(u)] || !better(first + change(u, value))) continue;
        set(u, value);
        return true;
      }
    }
    return false;
  }

  const Network& network_;
  const MemoryLimits& limits_;
  Assignment& x_;
  Index limit_;
  Index work_ = 0;
  std::vector<double> held_;                  ///< per point
  std::vector<std::vector<HeldTerm>> terms_;  ///< per variable
  std::vector<int> partners_;                 ///< of the variable being changed
  std::vector<int> seen_by_;                  ///< per variable: the last variable it was a partner of
  double least_gain_ = 0;
};

}  // namespace

Index improve_within(const Network& network, const MemoryLimits& limits, Assignment& x, Index work) {
  return FittingMoves(network, limits, x, work).run();
}

}  // namespace tdsl::plan
