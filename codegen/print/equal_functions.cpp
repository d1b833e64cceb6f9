#include "codegen/print/equal_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/print/names.h"

namespace tdsl::codegen {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of the string literal that begins at `at`.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  for (std::size_t k = at + 1; k < text.size(); ++k) {
    if (text[k] == '\\') {
      ++k;
    } else if (text[k] == '"') {
      return k + 1;
    }
  }
  return text.size();
}

/// True unless the token at `at..end` is a number, a reserved or qualified name, a member, a template, or a constant of
/// the runtime.
bool may_be_local(std::string_view text, std::size_t at, std::size_t end) {
  static const NameTable reserved;
  const std::string_view name = text.substr(at, end - at), before = text.substr(0, at), after = text.substr(end);
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  if (before.ends_with("::") || before.ends_with('.') || after.starts_with("::") || after.starts_with('<'))
    return false;
  const bool constant = name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1])) != 0;
  return !constant && !reserved.taken(std::string(name));
}

/// The text with `$0`, `$1`, ... for its local identifiers, in order of occurrence.
std::string with_numbered_locals(std::string_view text) {
  std::string result;
  std::map<std::string_view, std::size_t> numbers;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at + 1;
    if (text[at] == '"') {
      end = end_of_literal(text, at);
    } else if (text[at] == '#') {  // a pragma
      end = std::min(text.find('\n', at), text.size());
    } else if (is_word(text[at])) {
      end = static_cast<std::size_t>(
          std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_word) - text.begin());
    }
    const std::string_view token = text.substr(at, end - at);
    if (is_word(token.front()) && may_be_local(text, at, end)) {
      result += fmt::format("${}", numbers.emplace(token, numbers.size()).first->second);
    } else {
      result += token;
    }
    at = end;
  }
  return result;
}

}  // namespace

std::optional<std::string> EqualFunctions::find_or_add(std::string_view text, const std::string& name) {
  const auto [found, added] = names_.emplace(with_numbered_locals(text), name);
  return added ? std::nullopt : std::optional(found->second);
}

}  // namespace tdsl::codegen
