#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frontend/syntax/token.h"
#include "runtime/types.h"
#include "tools/lsp/features/call_at.h"
#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

using frontend::IndexKind;

/// CompletionItemKind of the protocol.
enum ItemKind : int {
  kFunctionItem = 3,
  kFieldItem = 5,
  kVariableItem = 6,
  kModuleItem = 9,
  kKeywordItem = 14,
  kConstantItem = 21,
  kTypeItem = 25
};

Json item(const std::string& label, int kind, const std::string& detail, const std::string& doc = "") {
  Json json = {{"label", label}, {"kind", kind}};
  if (!detail.empty()) json["detail"] = detail;
  if (!doc.empty()) json["documentation"] = doc;
  return json;
}

bool is_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text in front of the word that is being written.
std::string without_word(std::string text) {
  while (!text.empty() && is_part(text.back())) text.pop_back();
  return text;
}

std::string trimmed(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t");
  return last == std::string::npos ? "" : text.substr(0, last + 1);
}

/// True in `// allow(…`: the ids of warnings.
bool in_allow(const std::string& line) {
  const std::size_t comment = line.find("//");
  const std::size_t allow = comment == std::string::npos ? comment : line.find("allow(", comment);
  return allow != std::string::npos && line.find(')', allow) == std::string::npos;
}

Json warning_items() {
  Json all = Json::array();
  for (const frontend::DiagnosticId id : frontend::all_diagnostic_ids()) {
    if (frontend::is_warning(id))
      all.push_back(item(std::string(frontend::id_text(id)), kConstantItem, std::string(frontend::explanation(id))));
  }
  return all;
}

/// After `import std.`: the files of the library.
Json library_items(const View& view) {
  std::map<std::string, Json> modules;
  std::error_code unreadable;
  for (const auto& file : std::filesystem::directory_iterator(view.services().library_directory, unreadable)) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() == ".tdsl") modules.emplace(name, item(name, kModuleItem, "std." + name));
  }
  Json all = Json::array();
  for (auto& [name, module] : modules) all.push_back(std::move(module));
  return all;
}

int item_kind(IndexKind kind) {
  switch (kind) {
    case IndexKind::kFunction:
    case IndexKind::kMonoid:
    case IndexKind::kForeign: return kFunctionItem;
    case IndexKind::kParam: return kConstantItem;
    case IndexKind::kDimension:
    case IndexKind::kTypeParameter:
    case IndexKind::kStorage: return kTypeItem;
    default: return kVariableItem;
  }
}

Json item_of(const frontend::IndexDeclaration& d) {
  const std::string type = View::type_of(d);
  const std::string detail = d.is_callable() || type.empty() ? d.text : type;
  return item(d.name, item_kind(d.kind), detail, d.doc);
}

/// Names in scope; of equal ones the innermost. What does not parse at present comes from the last good version.
std::map<std::string, Json> names_at(const View& view, const View::Place& place) {
  std::map<std::string, Json> names;
  const std::shared_ptr<const Analysis>& before = view.document().before;
  if (!view.index().complete && before) {
    for (const std::int32_t id : before->index.visible_at(0, place.line, place.column)) {
      const frontend::IndexDeclaration& d = before->index.declarations[static_cast<std::size_t>(id)];
      names[d.name] = item_of(d);
    }
  }
  for (const std::int32_t id : view.index().visible_at(0, place.line, place.column)) {
    const frontend::IndexDeclaration& d = view.declaration(id);
    // The name that is being written is no candidate for itself.
    const bool is_here = d.range.file == 0 && frontend::covers(d.range, place.line, place.column);
    if (!is_here) names[d.name] = item_of(d);
  }
  return names;
}

/// `axis=` and parameters with a default, in a call.
void add_options(const View& view, const CallAt& call, Json& all) {
  if (const frontend::IndexDeclaration* function = callable_named(view, call.name)) {
    for (const std::int32_t p : function->parameters) {
      const frontend::IndexDeclaration& d = view.declaration(p);
      all.push_back(item(d.name + "=", kFieldItem, d.text));
    }
    return;
  }
  const BuiltinText* known = builtin_text(call.name);
  const std::string signature(known == nullptr ? "" : known->signature);
  for (std::size_t equals = signature.find('='); equals != std::string::npos;
       equals = signature.find('=', equals + 1)) {
    std::size_t begin = equals;
    while (begin > 0 && is_part(signature[begin - 1])) --begin;
    if (begin < equals) all.push_back(item(signature.substr(begin, equals - begin) + "=", kFieldItem, signature));
  }
}

bool is_type_word(const std::string& word) {
  return word == "bool" || (word.size() >= 3 && std::isdigit(static_cast<unsigned char>(word.back())) != 0);
}

void add_language(Json& all, const std::map<std::string, Json>& names, bool types_only) {
  const std::vector<std::string> words = frontend::words_of_grammar();
  for (const std::string& word : words) {
    const bool is_type = is_type_word(word);
    if (!types_only || is_type || word == "sparse") all.push_back(item(word, is_type ? kTypeItem : kKeywordItem, ""));
  }
  if (types_only) {
    for (const rt::ElementInfo& info : rt::kElementTypes) {
      if (rt::is_contextual(info.type)) all.push_back(item(std::string(info.name), kTypeItem, ""));
    }
    return;
  }
  for (const std::string& name : frontend::built_in_names()) {
    const BuiltinText* known = builtin_text(name);
    const bool is_word = std::ranges::count(words, name) > 0;
    if (names.contains(name) || (is_word && (known == nullptr || is_type_word(name)))) continue;  // c64 is a type
    all.push_back(known == nullptr
                      ? item(name, kFunctionItem, "")
                      : item(name, kFunctionItem, std::string(known->signature), std::string(known->text)));
  }
}

}  // namespace

Json completion(const View& view, const Json& params) {
  const View::Place place = view.place(params.at("position"));
  const std::string line = view.before(place);
  if (in_allow(line)) return warning_items();
  if (line.find("//") != std::string::npos) return Json::array();
  const std::string left = trimmed(without_word(line));
  if (left.ends_with("import std.")) return library_items(view);
  if (left.ends_with('.') && !left.ends_with("..")) return Json::array();
  // In `name: ` a type stands; in a slice `A[1:` an expression.
  const bool wants_type = left.ends_with("->") || (left.ends_with(':') && left.find('[') == std::string::npos);
  Json all = Json::array();
  const std::map<std::string, Json> names = names_at(view, place);
  if (!wants_type) {
    for (const auto& [name, candidate] : names) all.push_back(candidate);
    if (const auto call = call_at(view, place)) add_options(view, *call, all);
  }
  add_language(all, names, wants_type);
  return all;
}

}  // namespace tdsl::lsp
