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
  if (layout.columns) {
    text += 'c';
    append_number(text, layout.columns->columns);
    append_number(text, layout.columns->row_dim);
    append_number(text, layout.columns->column_dim);
  }
  if (layout.map) text += text_of(*layout.map);
}

void append(std::string& text, const Access& access) {
  for (const DimAccess& dim : access.dims) {
    text += dim.whole ? 'w' : 'd';
    for (const Affine::Term& term : dim.terms) {
      append_number(text, term.label);
      append_number(text, term.coefficient);
    }
    text += 'o';
    append_number(text, dim.offset.lo);
    append_number(text, dim.offset.hi);
    append_number(text, dim.divisor);
  }
}

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
  std::string text;
  append_number(text, static_cast<Index>(op.op_class));
  text += std::to_string(op.flops_per_point);
  if (op.epilogue) text += 'p';
  if (op.by_rows) text += 'r' + std::to_string(op.product_share);
  for (const LabelDesc& label : op.labels) {
    text += label.from_data ? 'f' : 'l';
    append_number(text, label.range.lo);
    append_number(text, label.range.hi);
  }
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    text += op.is_uncut(d) ? 'u' : 's';
    append_number(text, op.shape[d]);
    append_number(text, op.out[d].label);
    append_number(text, op.out[d].coefficient);
    append_number(text, op.out[d].constant);
  }
  for (const ReduceLabel& reduce : op.reduce) text += 'r', append_number(text, reduce.label);
  for (const Index edge : op.tile) text += 't', append_number(text, edge);
  for (const TensorDesc& output : op.outputs) {
    text += 'e';
    append_number(text, output.element.bytes);
    for (const Index extent : output.shape) append_number(text, extent);
    append_storage(text, output);
  }
  for (const Access& access : op.reads) {
    text += 'a';
    append(text, access);
  }
  return text;
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
