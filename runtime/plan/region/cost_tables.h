#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/region/choices.h"

// Memoised cost tables. Many operations of a program, and many programs that differ in one variant, have equal costs:
// these depend on shapes, subscripts and choices, not on names.

namespace tdsl::plan {

/// Costs of receiving one operand of one operation.
struct ReadingCosts {
  std::vector<std::vector<counting::Boxes>> needs;         ///< distinct needs over all work layouts
  std::vector<std::size_t> need_of;                        ///< per work layout
  std::unordered_map<Index, std::vector<double>> seconds;  ///< per operand layout (by number) and need
};

class CostTables {
 public:
  using Table = std::vector<double>;

  /// The table of this name, computed if new. Valid until trim().
  const Table& table(const std::string& name, const std::function<Table()>& make);
  /// The reading costs of this name, empty if new. Valid until trim().
  [[nodiscard]] ReadingCosts& reading(const std::string& name) { return readings_[name]; }
  /// Counts entries computed for a reading.
  void count(std::size_t entries);
  /// An id for a text; equal texts have equal ids.
  [[nodiscard]] Index number_of(const std::string& text);
  /// Entries computed so far: the cost of building networks.
  [[nodiscard]] Index made() const { return made_; }
  /// Drops tables once there are too many.
  void trim();

 private:
  std::unordered_map<std::string, Table> tables_;
  std::unordered_map<std::string, ReadingCosts> readings_;
  std::unordered_map<std::string, Index> numbers_;
  Index made_ = 0;
  Index kept_ = 0;  ///< entries
};

/// Everything besides layouts that an operation's costs depend on: labels, subscripts, shapes, element sizes and
/// prescribed tiles.
[[nodiscard]] std::string cost_text(const Op& op);
/// Text of a layout, as a key.
[[nodiscard]] std::string cost_text(const Layout& layout);
[[nodiscard]] std::string cost_text(const std::vector<Layout>& layouts);
[[nodiscard]] std::string cost_text(const std::vector<Place>& places);

}  // namespace tdsl::plan
