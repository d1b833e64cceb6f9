#pragma once

#include <limits>
#include <vector>

#include "runtime/plan/space/index.h"

// Cost networks: minimise a sum of tables over one or two variables with finitely many values each. Whole-program
// planning represents all choices of a program as such a network (variables: the choice at a site; tables: predicted
// seconds); nothing in this folder depends on the meaning of the values.

namespace tdsl::plan {

/// A value per variable.
using Assignment = std::vector<int>;

/// The cost of forbidden combinations.
inline constexpr double kForbidden = std::numeric_limits<double>::infinity();

/// Limit on the values of a variable.
inline constexpr int kMaxValues = 1 << 20;

/// An assignment with its cost and the work spent: table entries read. Searches are bounded by work, because time
/// limits would make the answer depend on the machine.
struct Answer {
  Assignment values;
  double cost = kForbidden;
  Index work = 0;
};

/// Variables, their values' own costs, and tables over pairs of variables. Costs are finite and not negative, or
/// kForbidden; the sum of all finite ones is finite.
class Network {
 public:
  struct Edge {
    int first = 0;
    int second = 0;            ///< first < second
    std::vector<double> cost;  ///< row-major: values of `first` x values of `second`
  };

  /// An edge's table seen from one of its two variables. Valid while the network is unchanged.
  struct View {
    int other = 0;   ///< the other variable
    int others = 0;  ///< number of its values
    const double* cost = nullptr;
    Index step = 0;        ///< stride between this variable's values
    Index other_step = 0;  ///< stride between the other variable's values
    [[nodiscard]] double at(int mine, int its) const { return cost[mine * step + its * other_step]; }
  };

  /// Returns the variable's number, counted from 0; 0 < `values` <= kMaxValues.
  int add_variable(int values);
  /// Adds to a variable's own costs; one entry per value.
  void add(int variable, const std::vector<double>& cost);
  /// Adds to the costs of pairs; row-major, values of `u` x values of `v`, in this order; u != v. Tables for the same
  /// pair are summed.
  void add(int u, int v, std::vector<double> cost);
  /// Replaces a variable's own costs.
  void set_own(int variable, std::vector<double> cost);

  [[nodiscard]] int variables() const { return static_cast<int>(own_.size()); }
  [[nodiscard]] int values(int variable) const { return static_cast<int>(own_[idx(variable)].size()); }
  [[nodiscard]] const std::vector<double>& own(int variable) const { return own_[idx(variable)]; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  /// Numbers of the edges incident to a variable.
  [[nodiscard]] const std::vector<int>& edges_of(int variable) const { return edges_of_[idx(variable)]; }
  /// The number of the edge between two variables, or -1.
  [[nodiscard]] int edge_between(int u, int v) const;
  [[nodiscard]] View view(int edge, int variable) const;
  /// Costs of the variable's values with all others fixed.
  [[nodiscard]] std::vector<double> costs_beside(int variable, const Assignment& x) const;
  /// Entries of all tables.
  [[nodiscard]] Index entries() const;
  [[nodiscard]] double cost(const Assignment& x) const;
  /// The network restricted to some values: per variable the numbers of those kept, at least one, in their new order.
  [[nodiscard]] Network restricted(const std::vector<std::vector<int>>& kept) const;

 private:
  std::vector<std::vector<double>> own_;
  std::vector<Edge> edges_;
  std::vector<std::vector<int>> edges_of_;
};

}  // namespace tdsl::plan
