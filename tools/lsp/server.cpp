#include "tools/lsp/server.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace tdsl::lsp {

Server::Server(Services services, int in, int out)
    : services_(std::move(services)), in_(in), out_(out), plans_(services_) {
  services_.uri = [this](const std::string& path) {
    for (const auto& [uri, document] : documents_) {
      if (document.path == path) return uri;
    }
    return uri_of(path);
  };
}

int Server::run() {
  while (!exits_) {
    try {
      while (const auto message = reader_.take()) {
        handle(*message);
        if (exits_) break;
      }
      if (exits_) break;
      if (!input_waits()) refresh_all();
      take_plan();
      if (!receive(plans_.wait())) break;
    } catch (const BrokenStream& error) {
      send(error_response(nullptr, kParseError, error.what()));
      return 1;
    }
  }
  return shut_down_ ? 0 : 1;
}

bool Server::input_waits() const {
  pollfd descriptor{in_, POLLIN, 0};
  return ::poll(&descriptor, 1, 0) > 0;
}

/// Waits for input or the planner; false at the end of input.
bool Server::receive(int timeout) {
  std::array<pollfd, 2> descriptors{pollfd{in_, POLLIN, 0}, pollfd{plans_.descriptor(), POLLIN, 0}};
  const int ready = ::poll(descriptors.data(), descriptors.size(), timeout);
  if (ready < 0) return errno == EINTR;
  if ((descriptors[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  std::array<char, 65536> buffer{};
  const ssize_t count = ::read(in_, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR;
  reader_.add({buffer.data(), static_cast<std::size_t>(count)});
  return count > 0;
}

void Server::send(const Json& message) {
  const std::string text = framed(message);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      exits_ = true;  // the editor is gone
      return;
    }
    done += static_cast<std::size_t>(count);
  }
}

void Server::log(const std::string& text) {
  constexpr int kWarning = 2;
  send(notification("window/logMessage", {{"type", kWarning}, {"message", text}}));
}

void Server::handle(const std::string& text) {
  const Json message = Json::parse(text, nullptr, false);
  if (message.is_discarded()) return send(error_response(nullptr, kParseError, "this is not JSON"));
  if (!message.is_object() || !message.contains("method") || !message["method"].is_string()) {
    // Responses to requests of the server need no answer.
    if (message.is_object() && (message.contains("result") || message.contains("error"))) return;
    return send(error_response(nullptr, kInvalidRequest, "this is no request"));
  }
  const auto method = message["method"].get<std::string>();
  const Json params = message.contains("params") ? message["params"] : Json::object();
  if (message.contains("id")) return request(message["id"], method, params);
  try {
    notify(method, params);
  } catch (const std::exception& error) { log(method + ": " + error.what()); }
}

void Server::request(const Json& id, const std::string& method, const Json& params) {
  try {
    if (!initialized_ && method != "initialize")
      throw RequestError(kNotInitialized, "the server waits for `initialize`");
    if (shut_down_) throw RequestError(kInvalidRequest, "the server has been shut down");
    send(response(id, answer(method, params)));
  } catch (const RequestError& error) {
    send(error_response(id, error.code(), error.what()));
  } catch (const Json::exception& error) {
    send(error_response(id, kInvalidParams, error.what()));
  } catch (const std::exception& error) { send(error_response(id, kInternalError, error.what())); }
}

void Server::notify(const std::string& method, const Json& params) {
  if (method == "exit") {
    exits_ = true;
    return;
  }
  if (!initialized_ || shut_down_) return;
  if (method == "textDocument/didOpen") open(params.at("textDocument"));
  if (method == "textDocument/didChange") change(params);
  if (method == "textDocument/didClose") close(params.at("textDocument").at("uri").get<std::string>());
  if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") {
    for (auto& [uri, document] : documents_) document.dirty = true;  // an imported file or a header may have changed
  }
  if (method == "workspace/didChangeConfiguration") configure(params.value("settings", Json::object()));
}

void Server::configure(const Json& settings) {
  const Json own = settings.is_object() && settings.contains("tdsl") ? settings.at("tdsl") : settings;
  plan_settings_ = own.is_object() ? own.value("plan", Json()) : Json();
  if (!plan_settings_.is_object()) plan_settings_ = Json();
  plans_.cancel();
  for (auto& [uri, document] : documents_) {
    document.planned = -1;
    if (!document.dirty) plan_next(document);
  }
}

void Server::open(const Json& item) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  Document document;
  document.uri = item.at("uri").get<std::string>();
  document.path = path_of(document.uri);
  document.version = item.value("version", std::int64_t{0});
  document.text = item.at("text").get<std::string>();
  if (document.text.starts_with(kByteOrderMark)) document.text.erase(0, kByteOrderMark.size());
  const std::string uri = document.uri;
  const std::string path = document.path;
  documents_.insert_or_assign(uri, std::move(document));
  mark_importers(path);
}

void Server::change(const Json& params) {
  Document& changed = document(params.at("textDocument").at("uri").get<std::string>());
  plans_.cancel();
  changed.dirty = true;
  changed.version = params.at("textDocument").value("version", changed.version + 1);
  for (const Json& item : params.at("contentChanges")) apply_change(changed.text, item);
  mark_importers(changed.path);
}

void Server::close(const std::string& uri) {
  const auto found = documents_.find(uri);
  if (found == documents_.end()) return;
  const std::string path = found->second.path;
  plans_.cancel();
  documents_.erase(found);
  mark_importers(path);
  send(notification("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}}));
}

Document& Server::document(const std::string& uri) {
  const auto found = documents_.find(uri);
  if (found == documents_.end()) throw RequestError(kInvalidParams, "the document is not open: " + uri);
  return found->second;
}

/// Documents that import the file are checked again.
void Server::mark_importers(const std::string& path) {
  for (auto& [uri, document] : documents_) {
    if (!document.now) continue;
    const frontend::SourceManager& sources = document.now->checked.sources;
    for (std::uint32_t file = 1; file < sources.file_count(); ++file) {
      if (sources.name(file) == path) document.dirty = true;
    }
  }
}

OpenText Server::open_text() const {
  return [this](const std::string& path) -> std::optional<std::string> {
    for (const auto& [uri, document] : documents_) {
      if (document.path == path) return document.text;
    }
    return std::nullopt;
  };
}

void Server::refresh(Document& document) {
  if (!document.dirty) return;
  document.dirty = false;
  try {
    document.now = analyse(document, services_, open_text());
  } catch (const std::exception& error) {
    log("tdslc: this is a bug of the compiler, please report it: " + std::string(error.what()));
    auto bare = std::make_shared<Analysis>();
    bare->checked.sources.add(document.path, document.text);
    document.now = bare;
  }
  if (document.now->index.complete) document.before = document.now;
  publish(document);
  plan_next(document);
}

void Server::refresh_all() {
  for (auto& [uri, document] : documents_) {
    refresh(document);
    if (input_waits()) return;
  }
}

void Server::publish(const Document& document) {
  Json params = {{"uri", document.uri}, {"version", document.version}};
  params["diagnostics"] = diagnostics_of(View(document, services_));
  send(notification("textDocument/publishDiagnostics", std::move(params)));
}

void Server::plan_next(const Document& document) {
  if (plan_settings_.is_null() || !document.now || document.now->checked.sink.has_errors() || !services_.plan) return;
  PlanQuestion question;
  question.path = document.path;
  question.ranks = plan_settings_.value("ranks", std::int64_t{1});
  const Json sizes = plan_settings_.value("set", Json::object());
  for (const auto& [name, value] : sizes.items()) {
    const bool is_whole =
        value.is_number_float() && value.get<double>() == static_cast<double>(value.get<std::int64_t>());
    const std::string text = value.is_string() ? value.get<std::string>()
                             : is_whole        ? std::to_string(value.get<std::int64_t>())
                                               : value.dump();
    question.set.push_back(name + "=" + text);
  }
  plans_.request(document, std::move(question));
}

void Server::take_plan() {
  const auto answer = plans_.step(open_text());
  if (!answer) return;
  const auto found = documents_.find(answer->uri);
  if (found == documents_.end() || found->second.version != answer->version) return;
  found->second.plan_lines = answer->lines;
  found->second.planned = answer->version;
  if (!answer->message.empty()) log("plan of " + found->second.path + ": " + answer->message);
  constexpr const char* kRefresh = "workspace/inlayHint/refresh";
  if (refreshes_hints_)
    send({{"jsonrpc", "2.0"}, {"id", "hints-" + std::to_string(answer->version)}, {"method", kRefresh}});
}

}  // namespace tdsl::lsp
