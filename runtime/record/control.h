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

/// The forms to run.
struct Forms {
  std::map<int, int> at{};  ///< by site
  int otherwise = 0;        ///< for undecided sites: this form, or the last if there are fewer
  [[nodiscard]] std::size_t form(int site, std::size_t forms) const;
};

/// Decides control flow with several continuations. Executables and `tdslc explain` delegate their loops and branches
/// to it.
class Control {
 public:
  using Body = std::function<void(Index)>;
  using Condition = std::function<bool()>;
  using Branch = std::function<void()>;

  virtual ~Control() = default;

  /// Half-open range; `step` is not 0; calls `body(i)`.
  virtual void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) = 0;
  /// Calls `body(iteration number)` while `condition()`.
  virtual void while_loop(Loop loop, const Condition& condition, const Body& body) = 0;
  /// `else_branch` may be empty. `site`: of a branch that is unknown at start; else 0.
  virtual void if_else(Known known, int site, bool condition, const Branch& then_branch, const Branch& else_branch) = 0;
  /// The extents of the next operation come from computed data.
  virtual void fence(int line) = 0;
  /// Runs one of several equivalent forms. `site`: as in the plan that selects the form.
  virtual void choose(int site, std::span<const Branch> forms) = 0;
  /// Supplies the value of a scalar just recorded as a control read; returns false if the program has to wait for it.
  virtual bool read(ElementType type, std::span<std::byte> value) = 0;
  /// Reports the value the program waited for.
  virtual void answered(std::span<const std::byte> value) { static_cast<void>(value); }
  /// Reports a control-flow decision based on something other than the program, its sizes and its data: the number of
  /// ranks, a plan. A replay returns the earlier answer.
  [[nodiscard]] virtual Index decide(Index answer) { return answer; }
};

/// Runs the program as written. A segment ends with every iteration.
class RunControl : public Control {
 public:
  explicit RunControl(Recorder& recorder) : recorder_(recorder) {}
  void set_forms(Forms forms) { forms_ = std::move(forms); }
  /// Current iteration of the outermost recording loop; 0: none has begun. Thread-safe.
  [[nodiscard]] Index iteration() const { return iteration_; }
  /// The number that the last one of that loop will have; 0 if unknown. Thread-safe.
  [[nodiscard]] Index last_iteration() const { return last_iteration_; }

  void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) override;
  void while_loop(Loop loop, const Condition& condition, const Body& body) override;
  void if_else(Known known, int site, bool condition, const Branch& then_branch, const Branch& else_branch) override;
  void fence(int line) override { static_cast<void>(line); }
  void choose(int site, std::span<const Branch> forms) override;
  bool read(ElementType type, std::span<std::byte> value) override;

 protected:
  /// The form that runs at a site.
  [[nodiscard]] std::size_t form_at(int site, std::size_t forms) const { return forms_.form(site, forms); }
  /// Runs an iteration of a loop at nesting depth `depth_`.
  void iterate(Loop loop, const std::function<void()>& body);
  /// Before an iteration: how many are left of the range, from `i` on; 0: unknown.
  void expect_iterations(const Loop& loop, Index left);
  [[nodiscard]] static Index iterations_left(Index i, Index end, Index step);

 private:
  Recorder& recorder_;
  Forms forms_;
  int depth_ = 0;
  std::atomic<Index> iteration_{0}, last_iteration_{0};
};

}  // namespace tdsl::record
