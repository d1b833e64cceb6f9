#include "runtime/plan/region/asked_layouts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/space/placement.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

namespace {

[[noreturn]] void refuse_placement(const std::string& message) {
  throw rt::RunError(message + " [plan]", rt::ExitCode::kUsage);
}

std::string_view text_within(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// In a layout's text, commas between dimensions are equivalent to blanks.
std::string with_blanks(std::string_view text) {
  std::string out(text_within(text));
  if (!out.starts_with("columns ")) std::replace(out.begin(), out.end(), ',', ' ');
  return out;
}

std::optional<Index> number_of(std::string_view text) {
  Index value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `i0:2 i1:2 repeated`: shares per slot.
struct Shares {
  std::vector<Index> slots;
  bool repeated = false;
};

std::optional<Shares> parse_shares(std::string_view text, const std::vector<std::string>& names) {
  Shares shares{std::vector<Index>(names.size(), 0), false};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word == "repeated" && text.empty()) {
      shares.repeated = true;
      break;
    }
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto slot = std::find(names.begin(), names.end(), word.substr(0, colon));
    const std::optional<Index> number = number_of(word.substr(colon + 1));
    if (slot == names.end() || !number || *number < 1) return std::nullopt;
    Index& shared = shares.slots[static_cast<std::size_t>(slot - names.begin())];
    if (shared != 0) return std::nullopt;
    shared = *number;
  }
  for (Index& shared : shares.slots) shared = std::max<Index>(shared, 1);
  return shares;
}

/// All assignments of mesh axes to slots that give these shares.
std::vector<Layout> with_shares(const Mesh& mesh, const Shares& shares) {
  std::vector<Layout> layouts = spread_layouts(mesh, shares.slots);
  std::erase_if(layouts, [&](const Layout& layout) {
    for (std::size_t d = 0; d < layout.cut.size(); ++d) {
      if (coordinates(mesh, layout.cut[d]) != shares.slots[d]) return true;
    }
    return false;
  });
  Index used = 1;
  for (const Index shared : shares.slots) used *= shared;
  for (Layout& layout : layouts) layout.repeated = shares.repeated && used < mesh.ranks();
  return layouts;
}

}  // namespace

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

bool is_fixed(const Op& op) { return op.home >= 0 || op.replicated || op.outputs.empty(); }

std::map<int, const Op*> deciding_operations(const Region& region) {
  std::map<int, const Op*> ops;
  std::map<int, double> most;
  for (const RegionOp& recorded : region.ops) {
    const auto [known, fresh] = ops.try_emplace(recorded.op.site, &recorded.op);
    const double mine = points_of(recorded.op);
    if (fresh || mine > most[recorded.op.site]) {
      known->second = &recorded.op;
      most[recorded.op.site] = mine;
    }
  }
  return ops;
}

std::optional<Layout> fitting_layout(const Op& op, Layout layout, const Mesh& mesh, const PlanInputs& inputs,
                                     std::vector<DroppedAxis>& dropped) {
  if (layout.map && layout.map->columns) {
    const bool fits =
        carries_columns(op, inputs) && layout.map->columns->row_dim < 2 && layout.map->columns->column_dim < 2;
    return fits ? std::optional(layout) : std::nullopt;
  }
  std::vector<Index> most = most_shares(op, inputs, may_split(op) && layout.cut.size() > op.shape.size());
  most.resize(layout.cut.size(), 1);
  int split = 0;
  for (std::size_t slot = 0; slot < layout.cut.size(); ++slot) {
    Axes& axes = layout.cut[slot];
    const bool reduced = slot >= op.shape.size();
    if (reduced && !axes.empty() && ++split > op.most_split_labels()) most[slot] = 1;
    while (coordinates(mesh, axes) > most[slot]) {
      dropped.push_back({slot, axes.back()});
      axes.pop_back();
    }
  }
  return layout;
}

int SiteNames::find(std::string_view name, const std::string& option) const {
  if (const std::optional<Index> number = number_of(name)) {
    const auto known = ops_.find(static_cast<int>(*number));
    if (known == ops_.end()) refuse_placement(option + ": the program has no site " + std::string(name));
    return known->first;
  }
  std::vector<std::pair<int, const Op*>> called;
  for (const auto& [site, op] : ops_) {
    if (op->name == name && !is_fixed(*op)) called.emplace_back(site, op);
  }
  if (called.size() == 1) return called.front().first;
  if (called.empty()) {
    std::vector<std::string> names;
    for (const auto& [site, op] : ops_) {
      if (!is_fixed(*op) && std::find(names.begin(), names.end(), op->name) == names.end()) names.push_back(op->name);
    }
    refuse_placement(option + ": nothing that is placed is called `" + std::string(name) + "`; there are " +
                     list_of(names));
  }
  std::string text;
  for (const auto& [site, op] : called)
    text += (text.empty() ? "" : ", ") + std::to_string(site) + " (" + name_of(op->op_class) + ", line " +
            std::to_string(rt::line_in(op->line)) + ")";
  refuse_placement(option + ": `" + std::string(name) +
                   "` is computed at several sites; say which by its number: " + text);
}

AskedLayouts::AskedLayouts(const Region& region, const PlanInputs& inputs, const std::vector<std::string>& texts)
    : inputs_(inputs) {
  const SiteNames names(region);
  for (const std::string& text : texts) {
    const std::string option = "--place " + text;
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      refuse_placement(option + ": the form is NAME=LAYOUT, as in X=i0:a,i1:b or X=i0:2,i1:2");
    Asked asked;
    asked.text = option;
    asked.site = names.find(text_within(std::string_view(text).substr(0, equals)), option);
    asked.op = &names.op(asked.site);
    if (is_fixed(*asked.op)) refuse_placement(option + ": where it runs is no choice");
    if (std::any_of(asked_.begin(), asked_.end(), [&](const Asked& other) { return other.site == asked.site; }))
      refuse_placement(option + ": site " + std::to_string(asked.site) + " is placed twice");
    const std::string layout = text.substr(equals + 1);
    const bool repeats = layout.find("everywhere") != std::string::npos || layout.find("repeated") != std::string::npos;
    if (repeats && !may_repeat(*asked.op, inputs))
      refuse_placement(option + ": several ranks would compute it, whose processors differ");
    const std::size_t arrow = layout.find("->");
    asked.work = with_blanks(layout.substr(0, arrow));
    if (arrow != std::string::npos) {
      asked.result = with_blanks(layout.substr(arrow + 2));
      if (!may_split(*asked.op)) refuse_placement(option + ": it has no partial results that could meet elsewhere");
    }
    asked_.push_back(std::move(asked));
  }
  const std::vector<Mesh> meshes = meshes_of(inputs.ranks, inputs.ranks_per_node);
  for (const Asked& asked : asked_) {
    const auto possible = [&](bool of_result) {
      return std::any_of(meshes.begin(), meshes.end(),
                         [&](const Mesh& mesh) { return layouts_on(mesh, asked, of_result, nullptr).has_value(); });
    };
    if (possible(false) && (asked.result.empty() || possible(true))) continue;
    refuse_placement(asked.text + ": " + std::to_string(inputs.ranks) +
                     " ranks have no such layout of its dimensions: " + list_of(slot_names(*asked.op)));
  }
  if (asked_.size() > 1 &&
      std::none_of(meshes.begin(), meshes.end(), [&](const Mesh& mesh) { return on(mesh).has_value(); })) {
    refuse_placement("--place: " + std::to_string(inputs.ranks) +
                     " ranks have no axes for all layouts that are asked for at once");
  }
}

std::optional<std::vector<Layout>> AskedLayouts::layouts_on(const Mesh& mesh, const Asked& asked, bool of_result,
                                                            std::vector<std::string>* warnings) const {
  const Op& op = *asked.op;
  const std::vector<std::string> names = of_result ? result_names(op) : slot_names(op);
  const std::string& text = of_result ? asked.result : asked.work;
  std::vector<Layout> layouts;
  if (std::optional<Layout> layout = parse_layout(text, names, mesh)) {
    std::vector<DroppedAxis> dropped;
    layout =
        layout->home < inputs_.ranks ? fitting_layout(op, std::move(*layout), mesh, inputs_, dropped) : std::nullopt;
    if (!layout) return std::nullopt;
    for (const DroppedAxis& axis : dropped) {
      if (warnings != nullptr)
        warnings->push_back(asked.text + ": axis " + static_cast<char>('a' + axis.axis) +
                            " is dropped: there are too few elements along " + names[axis.slot]);
    }
    layouts.push_back(std::move(*layout));
    return layouts;
  }
  std::optional<Shares> shares = parse_shares(text, names);
  if (!shares) return std::nullopt;
  std::vector<Index> most = most_shares(op, inputs_, may_split(op) && names.size() > op.shape.size());
  most.resize(names.size(), 1);
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    if (shares->slots[slot] <= most[slot]) continue;
    if (warnings != nullptr)
      warnings->push_back(asked.text + ": " + names[slot] + " is not cut: there are too few elements along it");
    shares->slots[slot] = 1;
  }
  layouts = with_shares(mesh, *shares);
  return layouts.empty() ? std::nullopt : std::optional(layouts);
}

std::optional<std::map<int, SiteLayouts>> AskedLayouts::on(const Mesh& mesh) const {
  std::map<int, SiteLayouts> sites;
  for (const Asked& asked : asked_) {
    std::optional<std::vector<Layout>> works = layouts_on(mesh, asked, false, nullptr);
    std::optional<std::vector<Layout>> results =
        asked.result.empty() ? std::vector<Layout>{} : layouts_on(mesh, asked, true, nullptr);
    if (!works || !results) return std::nullopt;
    sites[asked.site] = {std::move(*works), std::move(*results)};
  }
  return sites;
}

std::vector<std::string> AskedLayouts::warnings(const Mesh& mesh) const {
  std::vector<std::string> warnings;
  for (const Asked& asked : asked_) {
    (void)layouts_on(mesh, asked, false, &warnings);
    if (!asked.result.empty()) (void)layouts_on(mesh, asked, true, &warnings);
  }
  return warnings;
}

}  // namespace tdsl::plan
