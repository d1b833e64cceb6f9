#pragma once

#include <map>
#include <set>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// The C++ variables of a program. Values that a copy connects share one where the source is not used after the copy
/// and the target is not used between the definition of the source and the copy:
///
///     auto moved_2 = session.map(...);         moved = session.map(...);
///     ...                                      ...
///     moved = std::move(moved_2);
class Variables {
 public:
  explicit Variables(const FamilyProgram& program);

  /// The value after which the variable of `v` is called; the same for all values that share it.
  [[nodiscard]] ValueId home(ValueId v) const;
  [[nodiscard]] bool share(ValueId a, ValueId b) const { return home(a) == home(b); }
  /// Whether several steps assign the variable.
  [[nodiscard]] bool changes(ValueId v) const { return members(v).size() > 1 || assigned_.contains(v); }
  /// Whether the variable is an integer that begins as a small constant and only changes by small constants, which no
  /// run can make overflow.
  [[nodiscard]] bool counts(ValueId v) const;

 private:
  void find_definitions(const Steps& steps);
  void connect(const Steps& steps);
  void connect(const Steps& steps, std::size_t copy_at, const CopyStep& copy);
  [[nodiscard]] std::vector<ValueId> members(ValueId v) const;
  /// Whether a source with a name of its own is used by more than the copy: then it keeps the name.
  [[nodiscard]] bool has_other_uses(const Steps& steps, const CopyStep& copy) const;
  [[nodiscard]] bool mentions(const Step& step, const std::vector<ValueId>& values) const;
  void choose_names();

  const FamilyProgram& program_;
  std::map<ValueId, ValueId> parent_;
  std::map<ValueId, std::vector<ValueId>> members_;       ///< by the first of them
  std::map<ValueId, ValueId> names_;                      ///< by the first of them
  std::set<ValueId> assigned_;                            ///< targets of copies
  std::map<ValueId, std::vector<const Step*>> definers_;  ///< steps that give the value, copies included
};

}  // namespace tdsl::codegen
