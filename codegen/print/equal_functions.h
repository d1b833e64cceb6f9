#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tdsl::codegen {

/// The functions of an emitted program by text, so that equal kernels become one function. Texts are equal if they
/// differ only in local identifiers: parameters, variables, and the function's own name.
class EqualFunctions {
 public:
  /// The name of an equal function that was added before; otherwise null, after adding `text` as `name`.
  [[nodiscard]] std::optional<std::string> find_or_add(std::string_view text, const std::string& name);

 private:
  std::map<std::string, std::string> names_;  ///< by text with numbers for local identifiers
};

}  // namespace tdsl::codegen
