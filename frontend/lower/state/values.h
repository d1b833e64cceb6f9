#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/lower/state/graph.h"
#include "frontend/lower/state/reports.h"
#include "frontend/sema/scope.h"
#include "frontend/sema/storage.h"
#include "frontend/sema/tensor.h"
#include "frontend/sema/types.h"

namespace tdsl::frontend {

/// The conditions under which the current expression is evaluated: those of expressions (`c` of `if c then a else b`, a
/// `where`, the range of an index variable), which become guards of nodes, and the number of enclosing branches, which
/// are regions of the graph.
class Guards {
 public:
  void add(ir::Expr condition) { conditions_.push_back(std::move(condition)); }
  void drop() { conditions_.pop_back(); }
  /// The number of conditions, for `take`.
  [[nodiscard]] std::size_t size() const { return conditions_.size(); }
  [[nodiscard]] bool empty() const { return conditions_.empty(); }
  [[nodiscard]] const std::vector<ir::Expr>& conditions() const { return conditions_; }
  /// The conjunction of all conditions; null if there are none.
  [[nodiscard]] ir::Expr all() const { return from(0); }
  /// Removes the conditions from number `first` on; returns their conjunction, null if there are none.
  ir::Expr take(std::size_t first) {
    ir::Expr taken = from(first);
    conditions_.resize(first);
    return taken;
  }
  /// The same enclosing branches without conditions.
  [[nodiscard]] Guards without_conditions() const {
    Guards outside = *this;
    outside.conditions_.clear();
    return outside;
  }
  /// The same enclosing branches with the conditions that mention no index variable.
  [[nodiscard]] Guards of_whole_tensors() const {
    Guards outside = *this;
    std::erase_if(outside.conditions_, [](const ir::Expr& c) { return !labels_of(c).empty(); });
    return outside;
  }
  void enter_branch() { ++branches_; }
  void leave_branch() { --branches_; }
  [[nodiscard]] bool in_branch() const { return branches_ > 0; }
  /// True if the expression may remain unevaluated.
  [[nodiscard]] bool any() const { return !empty() || in_branch(); }

 private:
  [[nodiscard]] ir::Expr from(std::size_t first) const {
    ir::Expr conjunction;
    for (std::size_t k = first; k < conditions_.size(); ++k) conjunction = both(conjunction, conditions_[k]);
    return conjunction;
  }

  std::vector<ir::Expr> conditions_;
  int branches_ = 0;
};

/// Restores a variable at the end of the scope, also after an error.
template <typename T>
class Restored {
 public:
  explicit Restored(T& variable) : variable_(variable), saved_(variable) {}
  Restored(T& variable, T meanwhile) : variable_(variable), saved_(std::exchange(variable, std::move(meanwhile))) {}
  ~Restored() { variable_ = std::move(saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& variable_;
  T saved_;
};

/// A value and, for a name with a user-defined storage, its storage.
struct Stored {
  ir::ValueId value;
  StorageRef storage = {};
};

/// Converts tensor expressions to nodes of the graph, and values to tensor expressions.
class Values {
 public:
  /// Source of the sparse dimensions of a value with a type: the type, or inference from the expression.
  enum class Storage : std::uint8_t { kOfType, kInferred };

  Values(Reports& reports, GraphBuilder& graph, const Guards& guards)
      : reports_(reports), graph_(graph), guards_(guards) {}

  // Nodes
  /// A node for a closed tensor expression, or the value itself if it is one. With `type`, the result has exactly that
  /// type, except as `storage` allows.
  ir::ValueId materialise(const Tensor& t, const std::string& name, const ir::SourceRange& range,
                          const ir::Type* type = nullptr, Storage storage = Storage::kOfType);
  /// Makes a node of an expression that may depend on enclosing index variables, and returns its read.
  Tensor hoist(ComputeSpec spec, std::vector<Dim> shape);
  /// A plain tensor read or constant, materialised if necessary: an operand of a product.
  Tensor operand(const Tensor& t);
  /// Stores the elements of `t` that the storage keeps.
  Stored store(const Tensor& t, ir::Scalar type, const StorageRef& storage, const std::string& name,
               const ir::SourceRange& range);
  /// Like `materialise`, but keeps the storage of a name.
  Stored value_of(const Tensor& t, const std::string& name, const ir::SourceRange& range,
                  const ir::Type* type = nullptr);

  // Tensors
  [[nodiscard]] Tensor tensor_of(ir::ValueId v, const std::string& name, const ir::SourceRange& range);
  [[nodiscard]] Tensor tensor_of(ir::ValueId v, const ir::SourceRange& range);
  /// The tensor stored in `value`, as an expression.
  Tensor stored_tensor(ir::ValueId value, const StorageRef& storage, const std::string& name,
                       const ir::SourceRange& range);
  /// The value of the expression at `range`, which is named after the first variable it is assigned to.
  Tensor temporary(ir::ValueId v, const ir::SourceRange& range);
  void note_temporary(ir::ValueId v) { temporaries_.insert(v); }
  /// True if the expression reads a tensor with user-defined storage: a node of its shape would defeat the storage.
  [[nodiscard]] bool reads_stored(const ir::Expr& e) const;
  /// The type of the name in the program.
  [[nodiscard]] ir::Type logical_type(const Symbol& symbol) const;

  // Types
  Tensor converted_to(const Tensor& t, ir::Scalar to, const std::string& what, const ir::SourceRange& range);
  ir::Expr scalar_of_type(const Tensor& t, ir::Scalar to, const std::string& what);
  /// The common element type; reports u64 with a signed type, which have none.
  Common common_type(const Common& a, const Tensor& b, const ir::SourceRange& range);
  Common common_type(const Tensor& a, const Tensor& b, const ir::SourceRange& range) {
    return common_type(Common{a.scalar(), a.weak}, b, range);
  }
  /// Reports an integer literal out of range for the type.
  void require_fits(const Tensor& t, ir::Scalar to, const ir::SourceRange& range);
  void require_not_padded(const Tensor& t);
  /// Reports a type with too many elements, as far as sizes are known at compile time. `name` may be empty.
  void require_legal(const ir::Type& type, const std::string& name, const ir::SourceRange& range);
  /// Reports subscripts of the node that are out of bounds at every point.
  void check_bounds(const ComputeSpec& spec);

 private:
  /// `place`: location of the subscripted tensor.
  void check_subscripts(const std::vector<ir::Expr>& subscripts, const ir::Type& type, const ir::SourceRange& place);
  ir::Expr stored_positions(const Tensor& t, const UserStorage& storage, const ComputeSpec& spec);
  ir::ValueId moved_reduction(ir::Compute reduction, const ir::Node& node, const std::vector<ir::Expr>& at,
                              const UserStorage& storage, const ComputeSpec& spec);

  Reports& reports_;
  GraphBuilder& graph_;
  const Guards& guards_;
  std::set<ir::ValueId> temporaries_;    ///< values of expressions, not named by the program
  std::set<ir::ValueId> stored_values_;  ///< of names with a user-defined storage
};

/// "the number of rows of A": describes dimension `d` of a tensor of that rank, for messages.
[[nodiscard]] std::string dimension_text(std::size_t d, std::size_t rank, const std::string& name);

}  // namespace tdsl::frontend
