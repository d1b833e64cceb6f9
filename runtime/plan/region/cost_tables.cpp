#include "runtime/plan/region/cost_tables.h"

#include <utility>

#include "runtime/plan/signature.h"

namespace tdsl::plan {

namespace {

/// Limit on entries retained between networks: 128 MiB.
constexpr Index kKeptEntries = Index{1} << 24;

void append(std::string& text, const Layout& layout) {
  for (const Axes& axes : layout.cut) {
    for (const std::int8_t axis : axes) text += static_cast<char>('a' + axis);
    text += ';';
  }
  text += layout.repeated ? 'r' : 's';
  if (layout.home != 0) append_number(text, layout.home);
  if (!layout.map) return;
  std::vector<std::string> names;
  for (std::size_t d = 0; d < layout.map->blocks.size(); ++d) names.push_back(std::to_string(d));
  text += text_of(*layout.map, names);
}

/// All members of an operation that its cost depends on; operands are described by their layouts.
class CostText : public OpText<CostText> {
 public:
  void estimate(const char*, double x) { text_ += std::to_string(x) + ','; }
  void outputs(const std::vector<TensorDesc>& outputs) {
    for (const TensorDesc& output : outputs) {
      text_ += 'e';
      append_number(text_, output.element.bytes);
      for (const Index extent : output.shape) append_number(text_, extent);
      append_storage(text_, output);
    }
  }
};

}  // namespace

const CostTables::Table& CostTables::table(const std::string& name, const std::function<Table()>& make) {
  if (const auto known = tables_.find(name); known != tables_.end()) return known->second;
  Table table = make();
  kept_ += static_cast<Index>(table.size());
  return tables_.emplace(name, std::move(table)).first->second;
}

void CostTables::count(std::size_t entries) {
  made_ += static_cast<Index>(entries);
  kept_ += static_cast<Index>(entries);
}

Index CostTables::number_of(const std::string& text) {
  return numbers_.try_emplace(text, static_cast<Index>(numbers_.size())).first->second;
}

void CostTables::trim() {
  if (kept_ <= kKeptEntries) return;
  tables_.clear();
  readings_.clear();
  kept_ = 0;
}

std::string cost_text(const Op& op) {
  CostText text;
  visit_fields(text, op);
  return text.take();
}

std::string cost_text(const Layout& layout) {
  std::string text;
  append(text, layout);
  return text;
}

std::string cost_text(const std::vector<Layout>& layouts) {
  std::string text;
  for (const Layout& layout : layouts) append(text, layout);
  return text;
}

std::string cost_text(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places) {
    append(text, place.layout);
    if (!place.copy) continue;
    text += '+';
    append(text, *place.copy);
  }
  return text;
}

}  // namespace tdsl::plan
