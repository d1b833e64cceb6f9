#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tdsl::frontend {

// Words of Python, NumPy, MATLAB, Julia and C, with their TDSL equivalents. Every `…_hint` is a message suffix, such as
// "; write size(x, 0)", or empty for an unknown word. Foreign words take precedence over similarly spelled names: `dot`
// is not a misspelt `det`.

/// A foreign function and its TDSL equivalent; empty if there is none. A unit test compiles `write` with vectors x and
/// y, square matrices A and B, numbers a and b, bools c and d, integers k and n; it is a statement if it starts with
/// `print`, `let` or `import`.
struct ForeignFunction {
  std::string_view name;
  std::string_view write;
  std::string_view remark = "";
};
[[nodiscard]] std::span<const ForeignFunction> foreign_functions();

[[nodiscard]] std::string function_hint(std::string_view name);
/// Hint for the name of a value, such as `True` or `pi`.
[[nodiscard]] std::string value_hint(std::string_view name);
/// Hint for an unknown type name, foreign or misspelt. Never empty.
[[nodiscard]] std::string type_hint(std::string_view name);
/// The TDSL type for a foreign type name (`double`), else empty.
[[nodiscard]] std::string foreign_type(std::string_view name);
/// Hint for `object.member`; `called`: a `(` follows. Never empty.
[[nodiscard]] std::string member_hint(std::string_view object, std::string_view member, bool called);
/// True if other languages have a module of this name, such as `np`.
[[nodiscard]] bool is_foreign_module(std::string_view name);
/// Hint for a character that TDSL does not use.
[[nodiscard]] std::string character_hint(std::string_view character);

/// The TDSL keyword for a foreign keyword that starts a statement (`def`), else empty.
[[nodiscard]] std::string statement_word(std::string_view name);

}  // namespace tdsl::frontend
