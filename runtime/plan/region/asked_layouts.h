#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/region/choices.h"

// Layouts that somebody asks for: `--place NAME=LAYOUT`, and the lines of a plan file.

namespace tdsl::plan {

/// The operations that decide what a site can have: the largest of each site with results, by site.
[[nodiscard]] std::map<int, const Op*> deciding_operations(const Region& region);
/// Whether the recorder says where the operation runs, so that nothing is to be chosen.
[[nodiscard]] bool is_fixed(const Op& op);

/// The layout of the operation's task space without axes that its extents cannot carry, the least significant first.
/// `dropped` hears of each: the slot's number and the axis. A column map that does not fit is nothing.
struct DroppedAxis {
  std::size_t slot = 0;
  std::int8_t axis = 0;
};
[[nodiscard]] std::optional<Layout> fitting_layout(const Op& op, Layout layout, const Mesh& mesh,
                                                   const PlanInputs& inputs, std::vector<DroppedAxis>& dropped);

/// Sites called by what they compute, or by their number: of a region.
class SiteNames {
 public:
  explicit SiteNames(const Region& region) : ops_(deciding_operations(region)) {}
  /// The site of the name. Throws rt::RunError (usage): none has it, or several, which are listed with their numbers.
  /// `option`: what the message begins with.
  [[nodiscard]] int find(std::string_view name, const std::string& option) const;
  [[nodiscard]] const Op& op(int site) const { return *ops_.at(site); }

 private:
  std::map<int, const Op*> ops_;
};

/// `X=i0:a,i1:b` (axes of the mesh), `X=i0:2,i1:2` (numbers of shares), `X=everywhere`, `17=i:2,k:2 -> k:4`: layouts of
/// the task spaces of sites, and, behind an arrow, where partial results meet.
class AskedLayouts {
 public:
  /// Throws rt::RunError (usage) for what no mesh of these ranks can have.
  AskedLayouts(const Region& region, const PlanInputs& inputs, const std::vector<std::string>& texts);
  /// What the sites have to choose from; nothing if the mesh lacks axes that are asked for.
  [[nodiscard]] std::optional<std::map<int, SiteLayouts>> on(const Mesh& mesh) const;
  /// Of axes, and shares, that extents cannot carry.
  [[nodiscard]] std::vector<std::string> warnings(const Mesh& mesh) const;

 private:
  struct Asked {
    std::string text;  ///< of the option, for messages
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
