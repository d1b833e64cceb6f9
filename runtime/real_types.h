#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/check.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// Like visit_element_type for algorithms that need an order or the text of one number: `f` is instantiated for
/// arithmetic types only. For other types throws RunError, with a message that begins with `what`.
template <class F>
decltype(auto) visit_real_type(ElementType type, std::string_view what, F&& f) {
  using Result = decltype(f(std::type_identity<double>{}));
  return visit_element_type(type, [&](auto tag) -> Result {
    if constexpr (std::is_arithmetic_v<typename decltype(tag)::type>) {
      return f(tag);
    } else {
      throw RunError(std::string(what) + ": " + std::string(element_name(type)) + " is not supported [not-supported]");
    }
  });
}

}  // namespace tdsl::rt
