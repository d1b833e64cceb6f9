#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tools/lsp/server.h"

namespace tdsl::lsp {

namespace {

/// Most programs of the workspace that are searched for uses, and most entries of folders looked at.
constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kMostEntries = 20'000;

/// The programs below a folder; hidden folders are skipped.
void programs_below(const std::string& folder, std::set<std::string>& paths) {
  std::error_code unreadable;
  std::size_t entries = 0;
  std::filesystem::recursive_directory_iterator entry(
      folder, std::filesystem::directory_options::skip_permission_denied, unreadable);
  for (; !unreadable && entry != std::filesystem::recursive_directory_iterator(); entry.increment(unreadable)) {
    if (++entries > kMostEntries || paths.size() >= kMostFiles) return;
    if (entry->path().filename().string().starts_with(".")) entry.disable_recursion_pending();
    std::error_code unknown;
    if (entry->path().extension() == ".tdsl" && entry->is_regular_file(unknown)) paths.insert(entry->path().string());
  }
}

Json capabilities() {
  constexpr int kIncremental = 2;
  return {{"positionEncoding", "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}, {"save", true}}},
          {"hoverProvider", true},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentSymbolProvider", true},
          {"foldingRangeProvider", true},
          {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}}},
          {"signatureHelpProvider", {{"triggerCharacters", Json::array({"(", ","})}}},
          {"completionProvider", {{"triggerCharacters", Json::array({".", "("})}}},
          {"documentFormattingProvider", true},
          {"inlayHintProvider", true},
          {"codeActionProvider", {{"codeActionKinds", Json::array({"quickfix"})}}}};
}

}  // namespace

Json Server::initialize(const Json& params) {
  if (initialized_) throw RequestError(kInvalidRequest, "the server has been initialized");
  initialized_ = true;
  const Json client = params.value("capabilities", Json::object());
  refreshes_hints_ =
      client.is_object() && client.value(Json::json_pointer("/workspace/inlayHint/refreshSupport"), false);
  if (params.contains("workspaceFolders") && params["workspaceFolders"].is_array()) {
    for (const Json& folder : params["workspaceFolders"])
      folders_.push_back(path_of(folder.at("uri").get<std::string>()));
  } else if (params.contains("rootUri") && params["rootUri"].is_string()) {
    folders_.push_back(path_of(params["rootUri"].get<std::string>()));
  }
  configure(params.value("initializationOptions", Json::object()));
  return {{"capabilities", capabilities()}, {"serverInfo", {{"name", "tdslc lsp"}, {"version", services_.version}}}};
}

Json Server::answer(const std::string& method, const Json& params) {
  if (method == "initialize") return initialize(params);
  if (method == "shutdown") {
    shut_down_ = true;
    plans_.cancel();
    return nullptr;
  }
  constexpr std::string_view kPrefix = "textDocument/";
  if (!method.starts_with(kPrefix)) throw RequestError(kMethodNotFound, "there is no request `" + method + "`");
  const std::string what = method.substr(kPrefix.size());
  static const std::set<std::string> known = {
      "hover",      "definition",     "references",   "documentHighlight",   "prepareRename",
      "rename",     "documentSymbol", "foldingRange", "semanticTokens/full", "signatureHelp",
      "completion", "formatting",     "inlayHint",    "codeAction"};
  if (!known.contains(what)) throw RequestError(kMethodNotFound, "there is no request `" + method + "`");
  Document& asked = document(params.at("textDocument").at("uri").get<std::string>());
  refresh(asked);
  const View view(asked, services_);
  const EachView each = [this](const std::function<void(const View&)>& visit) { each_view(visit); };
  if (what == "hover") return hover(view, params);
  if (what == "definition") return definition(view, params);
  if (what == "references") return references(view, each, params);
  if (what == "documentHighlight") return highlight(view, params);
  if (what == "prepareRename") return prepare_rename(view, params);
  if (what == "rename") return rename(view, each, params);
  if (what == "documentSymbol") return document_symbols(view);
  if (what == "foldingRange") return folding_ranges(view);
  if (what == "semanticTokens/full") return semantic_tokens(view);
  if (what == "signatureHelp") return signature_help(view, params);
  if (what == "completion") return completion(view, params);
  if (what == "formatting") return formatting(view);
  if (what == "inlayHint") return inlay_hints(view, params);
  return code_actions(view, params);
}

/// Open documents, then the other programs of the workspace, which are indexed but not checked.
void Server::each_view(const std::function<void(const View&)>& visit) {
  std::set<std::string> paths;
  for (const std::string& folder : folders_) programs_below(folder, paths);
  for (auto& [uri, document] : documents_) {
    refresh(document);
    paths.erase(document.path);
    visit(View(document, services_));
  }
  for (const std::string& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    if (!stream || !(text << stream.rdbuf())) continue;
    Document document;
    document.uri = uri_of(path);
    document.path = path;
    document.text = text.str();
    auto analysis = std::make_shared<Analysis>();
    const std::uint32_t file = analysis->checked.sources.add(path, document.text);
    frontend::IndexOptions options{services_.library_directory, open_text()};
    analysis->index = frontend::index_of(analysis->checked.sources, file, options);
    document.now = analysis;
    visit(View(document, services_));
  }
}

}  // namespace tdsl::lsp
