#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/plan/op_fields.h"
#include "runtime/plan/op_plan.h"

// Text of everything a decision depends on: equal texts have equal plans. Tensor names and lines are excluded, so that
// the next iteration of a loop reuses earlier decisions.

namespace tdsl::plan {

/// Lookup of an operation's operands: placed ones by descriptor, waiting sources by the operation that creates them.
struct KnownOperands {
  std::function<const PlacedTensor*(TensorId)> placed;  ///< null: not placed yet
  std::function<const Op*(TensorId)> waiting;           ///< null: not a waiting source
};

/// Appends a number and a separator.
void append_number(std::string& text, Index x);

/// Writes an operation's members as text, for `visit_fields`: class, properties, flags, numbers and lengths of lists. A
/// derived class adds operands, estimates and outputs.
template <class Derived>
class OpText : public FieldVisitor<Derived> {
 public:
  template <class T>
  void property(const char*, const T& x) {
    if constexpr (std::is_same_v<T, std::vector<bool>>) {
      for (const bool each : x) text_ += each ? 'u' : 'k';
      text_ += ',';
    } else {
      append_number(text_, static_cast<Index>(x));
    }
  }
  void flag(const char* name, bool x) {
    if (x) text_ += name;
  }
  void number(const char*, Index x) { append_number(text_, x); }
  template <class Each, class T>
  void list(const char* name, const Each& each, const std::vector<T>& elements) {
    append_number(text_, static_cast<Index>(elements.size()));
    FieldVisitor<Derived>::list(name, each, elements);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 protected:
  std::string text_;
};

void append_signature(std::string& text, const Distribution& distribution);
[[nodiscard]] std::string signature_of(const Op& op, const KnownOperands& operands);

/// The storage and number of elements of a sized tensor; nothing for dense ones.
void append_storage(std::string& text, const TensorDesc& tensor);

}  // namespace tdsl::plan
