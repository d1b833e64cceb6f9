#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/lsp/features/features.h"
#include "tools/lsp/plans.h"
#include "tools/lsp/rpc.h"

namespace tdsl::lsp {

/// A language server on two file descriptors. One thread: messages are answered in order; changed documents are checked
/// when no message waits, or when a request needs them.
class Server {
 public:
  Server(Services services, int in, int out);
  /// Serves until `exit` or the end of input. Returns the exit code: 0 after `shutdown`, else 1.
  [[nodiscard]] int run();

 private:
  using Handler = Json (Server::*)(const Json& params);

  [[nodiscard]] bool receive(int timeout);
  [[nodiscard]] bool input_waits() const;
  void handle(const std::string& text);
  void request(const Json& id, const std::string& method, const Json& params);
  void notify(const std::string& method, const Json& params);
  void send(const Json& message);
  void log(const std::string& text);

  [[nodiscard]] Json initialize(const Json& params);
  [[nodiscard]] Json answer(const std::string& method, const Json& params);
  void configure(const Json& settings);
  void open(const Json& item);
  void change(const Json& params);
  void close(const std::string& uri);

  [[nodiscard]] Document& document(const std::string& uri);
  void refresh(Document& document);
  void refresh_all();
  void mark_importers(const std::string& path);
  void publish(const Document& document);
  void plan_next(const Document& document);
  void take_plan();
  void each_view(const std::function<void(const View&)>& visit);
  [[nodiscard]] OpenText open_text() const;

  Services services_;
  int in_;
  int out_;
  MessageReader reader_;
  Plans plans_;
  std::map<std::string, Document> documents_;
  std::vector<std::string> folders_;  ///< of the workspace
  Json plan_settings_;                ///< {"ranks": N, "set": {…}}, or null
  bool refreshes_hints_ = false;      ///< the client asks for inlay hints again when told to
  bool initialized_ = false;
  bool shut_down_ = false;
  bool exits_ = false;
};

}  // namespace tdsl::lsp
