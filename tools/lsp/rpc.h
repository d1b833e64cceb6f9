#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tdsl::lsp {

using Json = nlohmann::json;

/// Error codes of JSON-RPC and the protocol.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kNotInitialized = -32002;
inline constexpr int kRequestFailed = -32803;

/// A request that is answered with an error.
class RequestError : public std::runtime_error {
 public:
  RequestError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

/// The stream cannot be read any further.
class BrokenStream : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Splits a byte stream into messages: `Content-Length: N`, an empty line, N bytes.
class MessageReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  /// The next complete message, or nullopt. Throws BrokenStream for a header without length.
  [[nodiscard]] std::optional<std::string> take();

 private:
  std::string buffer_;
};

/// The message with its header. Invalid UTF-8 is replaced.
[[nodiscard]] std::string framed(const Json& message);

[[nodiscard]] Json response(const Json& id, Json result);
[[nodiscard]] Json error_response(const Json& id, int code, const std::string& message);
[[nodiscard]] Json notification(const std::string& method, Json params);

}  // namespace tdsl::lsp
