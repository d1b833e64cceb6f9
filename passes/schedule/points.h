#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/schedule/scop.h"

// Instances of statements and the elements that they access, as sets of integer points in isl's notation. Sizes are
// parameters. Conditions that are not affine are left out, which makes the sets larger.

namespace tdsl::passes {

/// The value of an integer scalar from outside the nest in terms of sizes.
using Resolve = std::function<ir::Extent(const ir::Extent&)>;

class Points {
 public:
  /// The arguments must outlive this object.
  Points(const Scop& scop, Resolve resolve) : scop_(scop), resolve_(std::move(resolve)) {}

  /// Pairs of an instance of `s` and a later one of `t` that access the same element, whose first different common loop
  /// is number `level`; with level = common_loops(s, t) instances of one iteration.
  [[nodiscard]] std::string conflicts(std::size_t s, const ScopAccess& a, std::size_t t, const ScopAccess& b,
                                      std::size_t level);
  /// Pairs of an instance of `t` and an element that it accesses by `a`.
  [[nodiscard]] std::string accessed(std::size_t t, const ScopAccess& a);
  /// The pairs of an instance of `t` and an element that an earlier instance of `s` in the same iteration of the
  /// outermost `loops` loops certainly writes by `a`; empty if there may be none.
  [[nodiscard]] std::string written_before(std::size_t s, const ScopAccess& a, std::size_t t, std::size_t loops);
  /// The union of sets of the same space.
  [[nodiscard]] static std::string united(const std::vector<std::string>& sets);
  /// The sets with all parameters that occur in any of them.
  [[nodiscard]] std::string with_parameters(const std::string& sets) const;

 private:
  /// Variables and conditions of one instance, with a prefix for its names.
  struct Instance {
    std::string prefix;
    std::vector<std::string> hidden = {};  ///< labels and iteration numbers
    std::vector<std::string> conditions = {};
    bool exact = true;
  };
  /// `guarded`: with the conditions of the guard; `reduced`: with the reduce labels.
  [[nodiscard]] Instance instance(std::size_t s, const std::string& prefix, bool guarded, bool reduced);
  void loop_conditions(std::size_t number, std::size_t depth, const ScopStatement& s, Instance& into);
  void bound(const ir::Expr& e, const std::string& variable, const std::string& relation, const ScopStatement& s,
             Instance& into);
  void condition(const ir::Expr& e, bool negated, const ScopStatement& s, Instance& into, std::size_t labels);
  [[nodiscard]] std::optional<std::string> linear(const ir::Expr& e, const ScopStatement& s, const Instance& in);
  [[nodiscard]] std::optional<std::string> linear(const ir::Extent& e, const ScopStatement& s, const Instance& in);
  [[nodiscard]] std::optional<std::string> name_of(ir::ValueId v, const ScopStatement& s, const Instance& in);
  [[nodiscard]] std::string parameter(const ir::Extent& e);
  /// `x1 = y1 and x2 < y2`: the first different loop is number `level`.
  [[nodiscard]] std::vector<std::string> before(std::size_t s, std::size_t t, std::size_t level) const;
  [[nodiscard]] std::vector<std::string> elements(std::size_t s, const ScopAccess& a, Instance& in, bool& exact);

  const Scop& scop_;
  Resolve resolve_;
  std::map<std::string, std::string> parameters_;  ///< text of an extent -> name
};

}  // namespace tdsl::passes
