#include "ir/eval/foreign.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#include "ir/eval/expr.h"
#include "ir/graph/check.h"
#include "runtime/foreign/call.h"

namespace tdsl::ir::eval {

namespace {

/// The elements of an array in C++ representation.
std::vector<std::max_align_t> packed(const Array& array) {
  const auto count = static_cast<std::size_t>(array.size());
  const std::size_t bytes = count * static_cast<std::size_t>(size_of(array.type));
  std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
  rt::visit_element_type(array.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* elements = reinterpret_cast<T*>(memory.data());
    for (std::size_t k = 0; k < count; ++k) elements[k] = cpp_value<T>(element(array, k));
  });
  return memory;
}

void unpack(const std::vector<std::max_align_t>& memory, Array& array) {
  const auto count = static_cast<std::size_t>(array.size());
  rt::visit_element_type(array.type, [&](auto tag) {
    const auto* elements = reinterpret_cast<const typename decltype(tag)::type*>(memory.data());
    for (std::size_t k = 0; k < count; ++k) set_element(array, k, slot_of(elements[k]));
  });
}

void enter(const Foreign& foreign, const std::vector<void*>& places, const std::int64_t* const* extents,
           const SourceRange& place) {
  TDSL_CHECK(foreign.entry != nullptr,
             "the function `" + foreign.name + "` of the user's has been compiled before it is evaluated");
  const std::string title = title_of(std::set{title_of(foreign)});
  try {
    rt::call_foreign({{}, title.c_str()}, [&] { foreign.entry(places.data(), extents); });
  } catch (const rt::RunError& error) { stop(place, error.what()); }
}

bool is_exact(const Array& a) {
  return std::ranges::all_of(a.bounds, [](double bound) { return bound == 0; });
}

}  // namespace

Slot call_foreign(const Foreign& function, const std::vector<Slot>& arguments, const SourceRange& place) {
  // Each entry is large enough for every element type.
  std::vector<std::array<std::byte, rt::kLargestElement>> values(arguments.size() + 1);
  std::vector<void*> places;
  bool exact = true;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const Slot& slot = arguments[k];
    rt::visit_element_type(function.parameters[k].type, [&](auto tag) {
      const auto value = cpp_value<typename decltype(tag)::type>(slot);
      std::memcpy(values[k].data(), &value, sizeof value);
    });
    exact = exact && slot.real.bound == 0 && slot.whole.bound == 0;
  }
  for (auto& value : values) places.push_back(value.data());
  enter(function, places, nullptr, place);
  Slot result;
  rt::visit_element_type(function.result, [&](auto tag) {
    typename decltype(tag)::type value;
    std::memcpy(&value, values.back().data(), sizeof value);
    result = slot_of(value);
  });
  result.real.bound = result.whole.bound = exact ? 0 : kOpen;
  return result;
}

void run_foreign(const Foreign& kernel, const std::vector<const Array*>& operands,
                 const std::vector<std::shared_ptr<Array>>& results, const SourceRange& place) {
  std::vector<std::vector<std::max_align_t>> memory;
  std::vector<const std::int64_t*> extents;
  std::vector<std::size_t> of_result;
  bool exact = true;
  std::size_t operand = 0;
  std::size_t result = 0;
  for (const Foreign::Parameter& p : kernel.parameters) {
    const Array& array = p.is_output ? *results.at(result++) : *operands.at(operand++);
    if (p.is_output) of_result.push_back(memory.size());
    exact = exact && (p.is_output || is_exact(array));
    memory.push_back(packed(array));
    extents.push_back(array.shape.data());
  }
  std::vector<void*> places;
  for (auto& m : memory) places.push_back(m.data());
  enter(kernel, places, extents.data(), place);
  for (std::size_t k = 0; k < results.size(); ++k) {
    unpack(memory[of_result[k]], *results[k]);
    if (!exact) results[k]->bounds.assign(static_cast<std::size_t>(results[k]->size()), kOpen);
  }
}

}  // namespace tdsl::ir::eval
