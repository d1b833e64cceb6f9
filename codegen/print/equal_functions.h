#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tdsl::codegen {

/// The functions of one emitted program by their text, so that equal kernels become one function. Two texts are equal
/// up to the names of local identifiers: parameters, variables, and the function itself.
class EqualFunctions {
 public:
  /// The name of an equal function added before; null if there is none, and `text` is added as `name`.
  [[nodiscard]] std::optional<std::string> find_or_add(std::string_view text, const std::string& name);

 private:
  std::map<std::string, std::string> names_;  ///< by text with numbers for local identifiers
};

}  // namespace tdsl::codegen
