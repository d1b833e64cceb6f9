#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/region/choices.h"

// Tables of costs, remembered by what they depend on. Most operations of a program resemble another one, most programs
// with one form resemble those with another: shapes, subscripts and choices decide, not names.

namespace tdsl::plan {

/// What one operation receives of one operand.
struct ReadingCosts {
  std::vector<std::vector<counting::Boxes>> needs;         ///< different ones, of many ways to work
  std::vector<std::size_t> need_of;                        ///< per way to work
  std::unordered_map<Index, std::vector<double>> seconds;  ///< per layout of the operand (by its number) and need
};

class CostTables {
 public:
  using Table = std::vector<double>;

  /// The table of this name, made if it is new. Valid until trim().
  const Table& table(const std::string& name, const std::function<Table()>& make);
  /// Of this name, empty if it is new. Valid until trim().
  [[nodiscard]] ReadingCosts& reading(const std::string& name) { return readings_[name]; }
  /// Counts what was found out for a reading.
  void count(std::size_t entries);
  /// A number for a text, the same for the same text.
  [[nodiscard]] Index number_of(const std::string& text);
  /// Entries that were made so far: what networks cost to build, counted.
  [[nodiscard]] Index made() const { return made_; }
  /// Forgets tables when they have become many.
  void trim();

 private:
  std::unordered_map<std::string, Table> tables_;
  std::unordered_map<std::string, ReadingCosts> readings_;
  std::unordered_map<std::string, Index> numbers_;
  Index made_ = 0;
  Index kept_ = 0;  ///< entries
};

/// What the costs of an operation depend on beside layouts: labels, subscripts, shapes, element sizes and given tiles.
[[nodiscard]] std::string cost_text(const Op& op);
/// Layouts by what they say.
[[nodiscard]] std::string cost_text(const Layout& layout);
[[nodiscard]] std::string cost_text(const std::vector<Layout>& layouts);
[[nodiscard]] std::string cost_text(const std::vector<Place>& places);

}  // namespace tdsl::plan
