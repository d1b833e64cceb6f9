#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/text/parse.h"

namespace tdsl::ir::algebra {

/// The operators without their merged maps, the inverse of R1-2, R1-4 and R1-7: joins, aggregations and rekeys, then
/// one map per kernel.
class Unmerged {
 public:
  Unmerged(Pool& pool, std::span<const Expr> roots);
  [[nodiscard]] Expr of(const Expr& e) const { return made_.at(e->id); }
  /// The nodes that stand for `e`, its value last.
  [[nodiscard]] const std::vector<Expr>& parts(const Expr& e) const { return parts_.at(e->id); }

 private:
  std::map<int, Expr> made_;
  std::map<int, std::vector<Expr>> parts_;
};

/// A plan on sites as the computation of a program without sites: a node of the plan stands for the node of the program
/// that it computes; moves and the aggregation of moved pieces stand for their operand's. Block sizes and the names of
/// called functions' results do not count.
class Matching {
 public:
  /// `given` in the pool. Throws std::runtime_error("line N: ...") at the first node that the program does not have.
  /// `values`: nodes of the program for which the other functions are called.
  Matching(Pool& pool, const Program& program, std::span<const Expr> values, const ProgramText& given,
           const std::set<std::string>& generated);

  /// The plan's node that computes the program's node, before any move; null if there is none. Throws if several do.
  [[nodiscard]] Expr computed(const Expr& wanted) const;
  /// The aggregation of its moved pieces; null if there is none.
  [[nodiscard]] Expr combined(const Expr& wanted) const;
  /// The moves of its value.
  [[nodiscard]] std::vector<Expr> moves(const Expr& wanted) const;
  /// The program's nodes, without merged maps, that read the result of a node of the plan.
  [[nodiscard]] std::vector<Expr> readers(const Expr& planned) const;
  [[nodiscard]] Expr unmerged(const Expr& wanted) const { return wanted_.of(wanted); }
  [[nodiscard]] std::size_t line(const Expr& planned) const;

 private:
  void match(const Expr& planned, const Expr& wanted);
  void match_results(const Program& program, const Program& given);
  [[noreturn]] void refuse(const Expr& planned, const Expr& wanted) const;
  [[nodiscard]] const std::vector<Expr>& standing_for(const Expr& wanted) const;

  const std::set<std::string>& generated_;  ///< inputs whose names contain block sizes
  Unmerged wanted_, given_;
  std::map<int, std::size_t> lines_;
  std::set<std::pair<int, int>> matched_;
  std::map<int, std::vector<Expr>> standing_;  ///< nodes of the plan, by the program's node
  std::map<int, std::vector<Expr>> readers_;   ///< nodes of the program, by the plan's node that they read
};

}  // namespace tdsl::ir::algebra
