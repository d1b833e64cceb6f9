#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/lsp/document.h"

namespace tdsl::lsp {

/// Plans one document at a time, each in a child process, so that a plan can be abandoned at any moment. A document is
/// planned `kRest` after its last change; a plan that takes more processor time than `kLimit` is given up.
class Plans {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kRest{300};
  static constexpr std::chrono::seconds kLimit{2};

  explicit Plans(const Services& services) : services_(services) {}
  ~Plans() { cancel(); }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  struct Answer {
    std::string uri;
    std::int64_t version = 0;
    Json lines = Json::array();
    std::string message;  ///< why there are no lines, else empty
  };

  /// Abandons the current plan and plans this version, once the time comes.
  void request(const Document& document, PlanQuestion question);
  void cancel();
  /// Starts or reads; returns an answer that is complete. `text`: open documents.
  [[nodiscard]] std::optional<Answer> step(const OpenText& text);
  /// Milliseconds until `step` has something to do; -1: never.
  [[nodiscard]] int wait() const;
  /// The pipe to wait for, or -1.
  [[nodiscard]] int descriptor() const { return pipe_; }

 private:
  void start(const OpenText& text);
  [[nodiscard]] std::optional<Answer> read();
  [[nodiscard]] Answer finished();

  const Services& services_;
  std::optional<PlanQuestion> question_;
  std::string uri_;
  std::int64_t version_ = 0;
  Clock::time_point due_;  ///< of the start
  pid_t child_ = -1;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace tdsl::lsp
