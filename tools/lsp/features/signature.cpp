#include <algorithm>
#include <cctype>
#include <vector>

#include "frontend/syntax/token.h"
#include "tools/lsp/features/call_at.h"
#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

/// An open bracket in front of the place.
struct Bracket {
  bool calls = false;
  std::string name;
  std::size_t commas = 0;
};

bool is_name(const frontend::Token& token) {
  return !token.text.empty() &&
         (std::isalpha(static_cast<unsigned char>(token.text[0])) != 0 || token.text[0] == '_') &&
         token.range.end_column - token.range.column == token.text.size();
}

/// "x: f64[n]" and so on: the parts between the commas of the first parentheses.
Json parameters_in(const std::string& signature) {
  Json all = Json::array();
  const std::size_t open = signature.find('(');
  if (open == std::string::npos) return all;
  std::size_t depth = 0, begin = open + 1;
  const auto add = [&](std::size_t end) {
    const std::size_t first = signature.find_first_not_of(' ', begin);
    if (first < end) all.push_back({{"label", signature.substr(first, end - first)}});
    begin = end + 1;
  };
  for (std::size_t k = open + 1; k < signature.size(); ++k) {
    const char c = signature[k];
    if (c == '"') k = std::min(signature.find('"', k + 1), signature.size() - 1);
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ',' && depth == 0) add(k);
    if (c == ')' && depth == 0) {
      add(k);
      return all;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  return all;
}

}  // namespace

std::optional<CallAt> call_at(const View& view, const View::Place& place) {
  frontend::DiagnosticSink ignored;
  const frontend::TokenizedFile file = frontend::tokenize(view.sources(), 0, ignored);
  std::vector<Bracket> open;
  for (std::size_t k = 0; k < file.tokens.size(); ++k) {
    const frontend::Token& token = file.tokens[k];
    const std::string& text = token.text;
    if (std::pair(token.range.end_line, token.range.end_column) > std::pair(place.line, place.column)) break;
    const bool is_string = token.range.end_column - token.range.column != text.size();
    if (is_string) continue;
    if (text == "(") {
      const bool calls = k > 0 && is_name(file.tokens[k - 1]);
      open.push_back({calls, calls ? file.tokens[k - 1].text : ""});
    } else if (text == "[" || text == "{") {
      open.push_back({});
    } else if (!open.empty() && (text == ")" || text == "]" || text == "}")) {
      open.pop_back();
    } else if (!open.empty() && text == ",") {
      ++open.back().commas;
    } else if (text == ";") {
      // A statement ends: brackets that are still open are mistakes, unless a lambda's block is around.
      while (!open.empty() && open.back().calls) open.pop_back();
    }
  }
  for (auto bracket = open.rbegin(); bracket != open.rend(); ++bracket) {
    if (bracket->calls) return CallAt{bracket->name, bracket->commas};
  }
  return std::nullopt;
}

const frontend::IndexDeclaration* callable_named(const View& view, const std::string& name) {
  const auto& all = view.index().declarations;
  const auto found =
      std::ranges::find_if(all, [&](const frontend::IndexDeclaration& d) { return d.name == name && d.is_callable(); });
  return found == all.end() ? nullptr : &*found;
}

Json signature_help(const View& view, const Json& params) {
  const auto call = call_at(view, view.place(params.at("position")));
  if (!call) return nullptr;
  const frontend::IndexDeclaration* function = callable_named(view, call->name);
  const BuiltinText* known = function == nullptr ? builtin_text(call->name) : nullptr;
  if (function == nullptr && known == nullptr) return nullptr;
  const std::string label = function != nullptr ? function->text : std::string(known->signature);
  Json parameters = parameters_in(label);
  const std::size_t last = parameters.empty() ? 0 : parameters.size() - 1;
  Json signature = {{"label", label}, {"parameters", std::move(parameters)}};
  const std::string text = function != nullptr ? function->doc : std::string(known->text);
  if (!text.empty()) signature["documentation"] = text;
  return {{"signatures", Json::array({std::move(signature)})},
          {"activeSignature", 0},
          {"activeParameter", std::min(call->argument, last)}};
}

}  // namespace tdsl::lsp
