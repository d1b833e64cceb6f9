#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/region/choices.h"

// User-requested layouts: `--place NAME=LAYOUT` and the lines of a plan file.

namespace tdsl::plan {

/// For each site with results, its largest operation, which determines the possible layouts.
[[nodiscard]] std::map<int, const Op*> deciding_operations(const Region& region);
/// True if the recorder fixes where the operation runs, so that there is no choice.
[[nodiscard]] bool is_fixed(const Op& op);

/// `i, j`, or `none`.
[[nodiscard]] std::string list_of(const std::vector<std::string>& names);

/// The layout of the operation's task space without the axes that its extents cannot carry, dropping the least
/// significant first; `dropped` receives the slot number and axis of each. Nothing if ranks in columns do not fit.
struct DroppedAxis {
  std::size_t slot = 0;
  std::int8_t axis = 0;
};
[[nodiscard]] std::optional<Layout> fitting_layout(const Op& op, Layout layout, const Mesh& mesh,
                                                   const PlanInputs& inputs, std::vector<DroppedAxis>& dropped);

/// Looks up sites of a region by the name of their result or by number.
class SiteNames {
 public:
  explicit SiteNames(const Region& region) : ops_(deciding_operations(region)) {}
  /// The site with that name. Throws rt::RunError (usage) if no site or several have it; ambiguous sites are listed by
  /// number. `option`: prefix of the message.
  [[nodiscard]] int find(std::string_view name, const std::string& option) const;
  [[nodiscard]] const Op& op(int site) const { return *ops_.at(site); }

 private:
  std::map<int, const Op*> ops_;
};

/// `X=i0:a,i1:b` (axes of the mesh), `X=i0:2,i1:2` (numbers of shares), `X=everywhere`, `17=i:2,k:2 -> k:4`: layouts of
/// sites' task spaces and, after the arrow, of the combined result.
class AskedLayouts {
 public:
  /// Throws rt::RunError (usage) for layouts that no mesh of these ranks allows.
  AskedLayouts(const Region& region, const PlanInputs& inputs, const std::vector<std::string>& texts);
  /// The sites' remaining choices; nothing if the mesh lacks a requested axis.
  [[nodiscard]] std::optional<std::map<int, SiteLayouts>> on(const Mesh& mesh) const;
  /// Warnings for axes and shares that the extents cannot carry.
  [[nodiscard]] std::vector<std::string> warnings(const Mesh& mesh) const;

 private:
  struct Asked {
    std::string text;  ///< text of the option, for messages
    int site = 0;
    const Op* op = nullptr;
    std::string work, result;
  };
  [[nodiscard]] std::optional<std::vector<Layout>> layouts_on(const Mesh& mesh, const Asked& asked, bool of_result,
                                                              std::vector<std::string>* warnings) const;
  std::vector<Asked> asked_;
  PlanInputs inputs_;
};

}  // namespace tdsl::plan
