#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/app/options.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op_builder.h"
#include "runtime/types.h"

// What emitted programs call. An emitted program records operations on whole tensors; the session plans them segment by
// segment and the engine runs them asynchronously. Every rank runs the same program.

namespace tdsl::rt {

class Session;

/// One dimension of an input's declared type that binds a name; empty: an expression, checked when the program runs.
struct InputDeclaration {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<std::string> binds;  ///< per dimension: the dimension name bound here, or ""
  int line = 0;
};

struct ProgramInfo {
  ProgramDeclaration options;
  std::vector<InputDeclaration> inputs;
  std::vector<const char*> files = {};  ///< for messages: the program's file, then imported ones
};

namespace detail {
/// Shared ownership of one recorded tensor; the last handle gone releases the tensor.
struct TensorState {
  Session* session = nullptr;
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
  ~TensorState();
};
}  // namespace detail

/// A handle to a tensor of the program. Copies share; the tensor's blocks die with the last handle and the last
/// recorded use.
template <Element T>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<detail::TensorState> state) : state_(std::move(state)) {}
  [[nodiscard]] plan::TensorId id() const { return state_->desc.id; }
  [[nodiscard]] Index extent(int d) const { return state_->desc.shape[static_cast<std::size_t>(d)]; }
  [[nodiscard]] const std::shared_ptr<detail::TensorState>& state() const { return state_; }
  /// Drops this name.
  void release() { state_.reset(); }

 private:
  std::shared_ptr<detail::TensorState> state_;
};

enum class RandomKind : std::uint8_t { kUniform, kNormal };

/// An item of `print`: text, a scalar every rank knows, or a tensor.
using PrintItem =
    std::variant<std::string, bool, std::int32_t, std::int64_t, float, double, std::shared_ptr<detail::TensorState>>;
template <Element T>
[[nodiscard]] PrintItem item(const Tensor<T>& t) {
  return t.state();
}

class Session {
 public:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  ~Session();

  // Values every rank knows.

  /// Extent bound by input files or --set.
  [[nodiscard]] Index dimension(std::string_view name) const;
  template <Element T>
  [[nodiscard]] T param(const std::string& name, T default_value) const {
    return options().param<T>(name, default_value);
  }
  template <Element T>
  [[nodiscard]] T param(const std::string& name) const {
    return options().param<T>(name);
  }
  /// Sizes that must agree. Where they do not the run stops with the message, in which `{left}` and `{right}` stand for
  /// them.
  void check_equal(int line, Index left, Index right, std::string_view message);
  /// The same for `left <= right`.
  void check_at_most(int line, Index left, Index right, std::string_view message);
  /// An affine subscript's values [lo, hi] against a dimension of `extent`, before data is computed.
  void check_subscript(int line, Interval values, Index extent, std::string_view text);
  /// Whether a routine with so many bytes of operands runs in its distributed form.
  [[nodiscard]] bool distributes(Index bytes) const;
  /// Whether a tall QR is tried as Q = A R^-1.
  [[nodiscard]] bool indirect_qr(Index rows, Index columns, Index blocks) const;
  /// Says once per line, unless --quiet, that a routine gathers more than 1 MiB on one of several ranks.
  void gathers(int line, const std::string& routine, const std::string& operand, Index bytes);
  /// assert on a value every rank knows.
  void check(int line, bool condition, std::string_view message);

  // Recording. Results are lazy. `tile` is an annotation: block edges per dimension.

  template <Element T>
  [[nodiscard]] Tensor<T> input(const std::string& name, std::vector<Index> shape, int site, int line,
                                std::vector<Index> tile = {}) {
    return Tensor<T>(record_input(name, element_type_of<T>, std::move(shape), site, line, std::move(tile)));
  }
  template <Element T>
  [[nodiscard]] Tensor<T> random(RandomKind kind, const std::string& name, std::vector<Index> shape,
                                 std::uint64_t call_site, std::vector<Index> iterations, int site, int line,
                                 std::vector<Index> tile = {}) {
    return Tensor<T>(record_random(kind, name, element_type_of<T>, std::move(shape), call_site, std::move(iterations), site,
                                   line, std::move(tile)));
  }
  /// An operation with an emitted kernel.
  template <Element T>
  [[nodiscard]] Tensor<T> compute(plan::OpBuilder& op, Kernel kernel) {
    return Tensor<T>(record(op, element_type_of<T>, std::move(kernel)));
  }
  /// A sum of products of the operation's two reads (float), through BLIS.
  template <Element T>
  [[nodiscard]] Tensor<T> contraction(plan::OpBuilder& op) {
    return Tensor<T>(record_contraction(op, element_type_of<T>));
  }

  // Effects, in program order.

  template <Element T>
  void output(const std::string& name, const Tensor<T>& value, int site, int line) {
    record_output(name, value.state(), site, line);
  }
  void print(std::vector<PrintItem> items, int site, int line);
  /// assert on a computed value.
  void check(int line, const Tensor<bool>& condition, std::string_view message, int site);

  // Control. A value read here is known to every rank afterwards: everything recorded so far is planned, and the
  // program waits for this scalar only.

  template <Element T>
  [[nodiscard]] T read(const Tensor<T>& scalar, int site, int line) {
    T value{};
    read_bytes(scalar.state(), site, line, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  /// Half-open; `step` not 0; `body(i, iteration)`.
  void for_loop(Index begin, Index end, Index step, const std::function<void(Index)>& body);
  /// `body(iteration number)` while `condition()`.
  void while_loop(const std::function<bool()>& condition, const std::function<void(Index)>& body);
  void if_else(bool condition, const std::function<void()>& then_branch, const std::function<void()>& else_branch);

  [[nodiscard]] const AppOptions& options() const;

 private:
  friend struct detail::TensorState;
  std::shared_ptr<detail::TensorState> record(plan::OpBuilder& op, ElementType type, Kernel kernel);
  std::shared_ptr<detail::TensorState> record_contraction(plan::OpBuilder& op, ElementType type);
  std::shared_ptr<detail::TensorState> record_input(const std::string& name, ElementType type, std::vector<Index> shape,
                                                    int site, int line, std::vector<Index> tile);
  std::shared_ptr<detail::TensorState> record_random(RandomKind kind, const std::string& name, ElementType type,
                                                     std::vector<Index> shape, std::uint64_t call_site,
                                                     std::vector<Index> iterations, int site, int line,
                                                     std::vector<Index> tile);
  void record_output(const std::string& name, const std::shared_ptr<detail::TensorState>& value, int site, int line);
  void read_bytes(const std::shared_ptr<detail::TensorState>& scalar, int site, int line, std::byte* to);
  void drop(detail::TensorState& tensor) noexcept;

  std::unique_ptr<Impl> impl_;
};

/// The whole life of an executable: options, files' headers, start of the ranks, `program`, outputs renamed,
/// statistics. Returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv, const ProgramInfo& info,
                              const std::function<void(Session&)>& program);

}  // namespace tdsl::rt
