#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/nest/facts.h"
#include "codegen/nest/nest.h"
#include "codegen/nest/text.h"

namespace tdsl::nest {

/// Collects the violated invariants of one nest. Each part has its own file.
class NestVerifier {
 public:
  explicit NestVerifier(const Nest& nest) : nest_(nest), values_(values_of(nest)) {}

  std::vector<std::string> run();

 private:
  using Role = Variable::Role;
  using Scalar = ir::Scalar;

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // --- Declarations, expressions: verify.cpp

  void variables();
  [[nodiscard]] bool is_shown(const Variable& view) const;
  /// A function ends with a return.
  void returns();
  /// Sizes consist of parameters and, in tasks on whole tensors, of integers.
  void extent(const Extent& e);
  [[nodiscard]] bool exists(ValueId v) const;
  [[nodiscard]] bool has_role(ValueId v, Role role) const { return exists(v) && nest_.variable(v).role == role; }
  [[nodiscard]] Scalar type(ValueId v) const { return nest_.variable(v).type.scalar; }
  /// Checks that the expression has that type and that its parts are in scope.
  void expr(const Expr& e, std::optional<Scalar> wanted);
  void read(ValueId v);
  /// A resized tensor has extents from here on.
  void sized(ValueId v);
  /// An extent at the current statement.
  void extent_here(const Extent& e);
  void extents(const Range& r);
  /// True if it is a task's tensor that statements modify.
  [[nodiscard]] bool changes(ValueId v) const;
  [[nodiscard]] bool is_tensor(ValueId v) const { return exists(v) && nest_.variable(v).type.rank() > 0; }
  /// Defines a local for the rest of the block.
  void define(ValueId v, Scalar wanted);
  void let(const Let& l);
  /// The type of the element or local.
  std::optional<Scalar> place(const Place& p, bool needs_value);

  // --- Statements: verify_statements.cpp

  void index(int k, bool of_task);
  void block(int k);
  void range(const TaskRange& r);
  /// Definitions are scoped to their block.
  void body(const Body& statements);
  void inside(int k, const Body& statements);
  void statement(const Statement& s);
  void copy(ValueId from, ValueId to);
  /// A statement that contains its own loops over these indices.
  template <class F>
  void loops(std::initializer_list<std::pair<int, const Range*>> list, const F& f) {
    for (const auto& [k, over] : list) {
      index(k, false);
      extents(*over);
    }
    for (const auto& [k, over] : list) indices_.insert(k);
    f();
    for (const auto& [k, over] : list) indices_.erase(k);
  }
  void small_routine(const SmallRoutine& r);
  void row(const RowReduction& r);
  void products(const AddProducts& p);
  /// A tensor, or the part of it at the given subscripts, with at least `rest` further dimensions.
  void part(const Place& p, std::size_t rest, Scalar wanted);
  void row_products(const RowProducts& p);
  void count(const Count& c);
  void loop(const For& f);
  /// Evaluated before the loop, so without its index.
  void parts(const Parts& p);
  void bound(const Expr& e, Scalar wanted);
  void start(const Start& s);
  void narrow(const Narrow& n);
  void branch(const If& i);
  void line(const LineReduction& l);
  void first_elements(const LineReduction& l);
  void blocked(const BlockedReduction& b);

  const Nest& nest_;
  ir::Program values_;
  std::set<int> indices_;      ///< in scope here
  std::set<int> blocks_;       ///< indices of the enclosing loops over blocks
  std::set<ValueId> defined_;  ///< locals in scope here
  std::set<ValueId> ever_defined_;
  std::set<ValueId> changing_;  ///< mutable locals
  std::set<ValueId> filled_;
  std::set<ValueId> sized_;            ///< tensors that have been resized
  std::map<ValueId, Scalar> located_;  ///< per position variable: type of the offered values
  std::vector<std::string> problems_;
};

}  // namespace tdsl::nest
