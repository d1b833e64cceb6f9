#include "tools/lsp/rpc.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tdsl::lsp {

namespace {

/// No message of an editor is longer; guards against a wrong header.
constexpr std::size_t kLongestMessage = std::size_t{1} << 30U;
constexpr std::size_t kLongestHeader = 4096;

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// The value of `Content-Length` among the lines of a header.
std::size_t length_in(std::string_view header) {
  constexpr std::string_view kName = "content-length:";
  while (!header.empty()) {
    const std::size_t end = std::min(header.find("\r\n"), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    if (line.size() < kName.size() || lower_case(line.substr(0, kName.size())) != kName) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", kName.size()), line.size()));
    std::size_t length = 0;
    const auto [behind, error] = std::from_chars(line.data(), line.data() + line.size(), length);
    if (error == std::errc() && behind == line.data() + line.size() && length <= kLongestMessage) return length;
  }
  throw BrokenStream("a message without a valid Content-Length");
}

}  // namespace

std::optional<std::string> MessageReader::take() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t end = buffer_.find(kEnd);
  if (end == std::string::npos) {
    if (buffer_.size() > kLongestHeader) throw BrokenStream("a header without end");
    return std::nullopt;
  }
  const std::size_t length = length_in(std::string_view(buffer_).substr(0, end));
  const std::size_t begin = end + kEnd.size();
  if (buffer_.size() - begin < length) return std::nullopt;
  std::string message = buffer_.substr(begin, length);
  buffer_.erase(0, begin + length);
  return message;
}

std::string framed(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
}

Json response(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json error_response(const Json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace tdsl::lsp
