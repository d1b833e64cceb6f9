#pragma once

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <vector>

namespace tdsl::tests {

/// Result of a test case on this process.
struct Outcome {
  std::string name;
  bool failed = false;
};

/// Results of this process so far, in execution order.
inline std::vector<Outcome>& outcomes() {
  static std::vector<Outcome> list;
  return list;
}

/// A doctest listener that records results, so that a `main` can combine those of several ranks.
class OutcomeListener : public doctest::IReporter {
 public:
  explicit OutcomeListener(const doctest::ContextOptions& /*options*/) {}
  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_start(const doctest::TestCaseData& data) override { current_ = data.m_name; }
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    outcomes().push_back({current_, !stats.testCaseSuccess});
  }
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*signature*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}

 private:
  std::string current_;
};

/// Writes `PASS name` or `FAIL name` per result: the lines counted by tools/test.
inline void write_outcomes(std::ostream& out, const std::string& prefix) {
  for (const Outcome& outcome : outcomes()) {
    out << (outcome.failed ? "FAIL " : "PASS ") << prefix << outcome.name << '\n';
  }
  out.flush();
}

}  // namespace tdsl::tests
