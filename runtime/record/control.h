#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "runtime/record/known.h"
#include "runtime/record/recorder.h"

namespace tdsl::record {

/// Which forms run.
struct Forms {
  std::map<int, int> at{};  ///< by site
  int otherwise = 0;        ///< where nothing was decided: this one or the last
  [[nodiscard]] std::size_t form(int site, std::size_t forms) const;
};

/// How the program goes on where it could go several ways. Executables and `tdslc explain` leave their loops and
/// branches to it.
class Control {
 public:
  using Body = std::function<void(Index)>;
  using Condition = std::function<bool()>;
  using Branch = std::function<void()>;

  virtual ~Control() = default;

  /// Half-open; `step` is not 0; `body(i)`.
  virtual void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) = 0;
  /// `body(iteration number)` while `condition()`.
  virtual void while_loop(Loop loop, const Condition& condition, const Body& body) = 0;
  /// `else_branch` may be empty. `site`: of a branch that is not known at start; else 0.
  virtual void if_else(Known known, int site, bool condition, const Branch& then_branch, const Branch& else_branch) = 0;
  /// The next operation has extents that come from computed data.
  virtual void fence(int line) = 0;
  /// Runs one of several forms with equal results. `site`: as in the plan that says which.
  virtual void choose(int site, std::span<const Branch> forms) = 0;
  /// Gives the value of a scalar that has just been recorded as a control read; false: it has to be waited for.
  virtual bool read(ElementType type, std::span<std::byte> value) = 0;
  /// The value that was waited for.
  virtual void answered(std::span<const std::byte> value) { static_cast<void>(value); }
  /// What was decided about the program's way by something else than the program, its sizes and its data: the number of
  /// ranks, a plan. A replay gives the answer of the past.
  [[nodiscard]] virtual Index decide(Index answer) { return answer; }
};

/// The program as it is written. A segment ends with every iteration.
class RunControl : public Control {
 public:
  explicit RunControl(Recorder& recorder) : recorder_(recorder) {}
  void set_forms(Forms forms) { forms_ = std::move(forms); }
  /// Of the outermost loop that records, what is recorded now; 0: none has begun. Any thread may ask.
  [[nodiscard]] Index iteration() const { return iteration_; }

  void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) override;
  void while_loop(Loop loop, const Condition& condition, const Body& body) override;
  void if_else(Known known, int site, bool condition, const Branch& then_branch, const Branch& else_branch) override;
  void fence(int line) override { static_cast<void>(line); }
  void choose(int site, std::span<const Branch> forms) override;
  bool read(ElementType type, std::span<std::byte> value) override;

 protected:
  /// Of the forms at a site, the one that runs.
  [[nodiscard]] std::size_t form_at(int site, std::size_t forms) const { return forms_.form(site, forms); }
  /// An iteration of a loop around `depth_` others.
  void iterate(Loop loop, const std::function<void()>& body);

 private:
  Recorder& recorder_;
  Forms forms_;
  int depth_ = 0;
  std::atomic<Index> iteration_{0};
};

}  // namespace tdsl::record
