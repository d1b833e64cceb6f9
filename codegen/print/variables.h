#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// The C++ variables of a program. The source and target of a copy share one if the source is not used after the copy
/// and the target is not used between the definition of the source and the copy:
///
///     auto moved_2 = session.map(...);         moved = session.map(...);
///     ...                                      ...
///     moved = std::move(moved_2);
class Variables {
 public:
  explicit Variables(const OperationProgram& program);

  /// The value that names the variable of `v`; the same for all values that share it.
  [[nodiscard]] ValueId home(ValueId v) const;
  [[nodiscard]] bool share(ValueId a, ValueId b) const { return home(a) == home(b); }
  /// True if several steps assign the variable.
  [[nodiscard]] bool changes(ValueId v) const { return members(v).size() > 1 || assigned_.contains(v); }
  /// True for an integer that starts at a small constant and changes only by small constants, so that no run is long
  /// enough for it to overflow.
  [[nodiscard]] bool counts(ValueId v) const;

 private:
  void find_definitions(const Steps& steps);
  void connect(const Steps& steps);
  void connect(const Steps& steps, std::size_t copy_at, const CopyStep& copy);
  [[nodiscard]] std::vector<ValueId> members(ValueId v) const;
  /// True if the source has a name of its own and uses besides the copy: it then keeps its own variable.
  [[nodiscard]] bool has_other_uses(const Steps& steps, const CopyStep& copy) const;
  [[nodiscard]] bool mentions(const Step& step, const std::vector<ValueId>& values) const;
  void choose_names();

  const OperationProgram& program_;
  std::map<ValueId, ValueId> parent_;
  std::map<ValueId, std::vector<ValueId>> members_;       ///< by first member
  std::map<ValueId, ValueId> names_;                      ///< by first member
  std::set<ValueId> assigned_;                            ///< targets of copies
  std::map<ValueId, std::vector<const Step*>> definers_;  ///< steps that define the value, including copies
};

/// Unnamed constants that are used only as loop bounds, and are printed there as numbers.
[[nodiscard]] std::map<ValueId, std::int64_t> plain_bounds(const OperationProgram& program);

}  // namespace tdsl::codegen
