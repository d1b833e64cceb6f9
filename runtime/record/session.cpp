#include "runtime/record/session.h"

#include <utility>

#include "runtime/check.h"
#include "runtime/message_id.h"
#include "runtime/size.h"

namespace tdsl::record {

void Session::require_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const {
  if (!rt::is_legal_size(shape, static_cast<Index>(element_size(type))))
    stop(line, rt::with_id(rt::too_large_text(name, element_name(type), shape), "too-large"));
}

void Session::require_stored_size(std::string_view name, ElementType type, std::span<const Index> shape,
                                  int line) const {
  if (!rt::is_legal_stored_size(shape))
    stop(line, rt::with_id(rt::too_large_text(name, element_name(type), shape, true), "too-large"));
}

void Session::require_room(std::string_view, ElementType, std::span<const Index>, int) const {}

void Session::check_equal(int line, rt::Exact left, rt::Exact right, std::string_view message) const {
  if (!rt::same_size(left, right)) stop(line, rt::with_id(rt::with_sizes(message, left, right), "shape-mismatch"));
}

void Session::check_at_most(int line, rt::Exact left, rt::Exact right, std::string_view message) const {
  if (!(left <= right)) stop(line, rt::with_id(rt::with_sizes(message, left, right), "out-of-bounds"));
}

TensorHandle Session::record(plan::Op op, ElementType type) {
  for (const plan::LabelDesc& l : op.labels) {
    if (!rt::is_countable(l.range.lo, l.range.hi))
      stop(op.line, rt::with_id(rt::uncountable_text(l.name), "too-large"));
  }
  if (!op.outputs.empty() && op.outputs.front().sized()) {
    require_stored_size(op.name, type, op.shape, op.line);
  } else {
    require_size(op.name, type, op.shape, op.line);
    require_room(op.name, type, op.shape, op.line);
  }
  return recorder.record(std::move(op), type);
}

std::vector<TensorHandle> Session::loop(plan::Op op, std::vector<LoopOutput> outputs) {
  for (const LoopOutput& output : outputs) require_size(output.name, output.type, output.shape, op.line);
  return recorder.loop(std::move(op), std::move(outputs));
}

}  // namespace tdsl::record
