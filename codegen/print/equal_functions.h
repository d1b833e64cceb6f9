#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tdsl::codegen {

/// The functions of one emitted program by their text, so that equal kernels become one function. Two texts are equal
/// if renaming local identifiers makes them so: parameters, variables, and the name of the function itself.
class EqualFunctions {
 public:
  /// The name under which an equal function is known; else `text` is known as `name` from now on.
  [[nodiscard]] std::optional<std::string> find_or_add(std::string_view text, const std::string& name);

 private:
  std::map<std::string, std::string> names_;  ///< by text with numbers for local identifiers
};

}  // namespace tdsl::codegen
