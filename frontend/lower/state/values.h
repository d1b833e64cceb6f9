#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "frontend/lower/state/graph.h"
#include "frontend/lower/state/guards.h"
#include "frontend/lower/state/reports.h"
#include "frontend/sema/scope.h"
#include "frontend/sema/storage.h"

namespace tdsl::frontend {

/// A value and, of a name with a user's storage, how it is to be read.
struct Stored {
  ir::ValueId value;
  StorageRef storage = {};
};

/// Tensor expressions to nodes of the graph, and values to tensor expressions.
class Values {
 public:
  /// Which dimensions of a value with a type are stored sparse: the type's, or those that follow from the expression.
  enum class Storage : std::uint8_t { kOfType, kInferred };

  Values(Reports& reports, GraphBuilder& graph, const Guards& guards)
      : reports_(reports), graph_(graph), guards_(guards) {}

  // Nodes
  /// A node for a closed tensor expression (the value itself when it is one). With `type` the result has exactly it,
  /// but for `storage`.
  ir::ValueId materialise(const Tensor& t, const std::string& name, const ir::SourceRange& range,
                          const ir::Type* type = nullptr, Storage storage = Storage::kOfType);
  /// Makes a node of what may belong to enclosing index variables, and reads it.
  Tensor hoist(ComputeSpec spec, std::vector<Dim> shape);
  /// A plain tensor read (or constant), materialised if need be: an operand of a product.
  Tensor operand(const Tensor& t);
  /// The elements of `t` that the storage keeps.
  Stored store(const Tensor& t, ir::Scalar type, const StorageRef& storage, const std::string& name,
               const ir::SourceRange& range);
  /// As `store`, or without a storage as `materialise`, which also keeps that of a name.
  Stored value_of(const Tensor& t, const std::string& name, const ir::SourceRange& range,
                  const ir::Type* type = nullptr);

  // Tensors
  [[nodiscard]] Tensor tensor_of(ir::ValueId v, const std::string& name, const ir::SourceRange& range);
  [[nodiscard]] Tensor tensor_of(ir::ValueId v, const ir::SourceRange& range);
  /// The tensor that `value` stores, as an expression.
  Tensor stored_tensor(ir::ValueId value, const StorageRef& storage, const std::string& name,
                       const ir::SourceRange& range);
  /// The value of the expression at `range`, which takes the name of the first variable that it is given to.
  Tensor temporary(ir::ValueId v, const ir::SourceRange& range);
  void note_temporary(ir::ValueId v) { temporaries_.insert(v); }
  /// Whether the expression reads what a storage keeps: a node of its shape would be what the storage avoids.
  [[nodiscard]] bool reads_stored(const ir::Expr& e) const;
  /// The type that the name has in the program.
  [[nodiscard]] ir::Type logical_type(const Symbol& symbol) const;

  // Types
  Tensor converted_to(const Tensor& t, ir::Scalar to, const std::string& what, const ir::SourceRange& range);
  ir::Expr scalar_of_type(const Tensor& t, ir::Scalar to, const std::string& what);
  /// Reports an integer literal beyond the type it meets.
  void require_fits(const Tensor& t, ir::Scalar to, const ir::SourceRange& range);
  void require_not_padded(const Tensor& t);
  /// By what is known when compiling, the type's elements are not too many. `name` may be empty.
  void require_legal(const ir::Type& type, const std::string& name, const ir::SourceRange& range);
  /// Reports subscripts of the node that are out of bounds wherever they are evaluated.
  void check_bounds(const ComputeSpec& spec);

 private:
  /// `place`: of what the subscripts belong to.
  void check_subscripts(const std::vector<ir::Expr>& subscripts, const ir::Type& type, const ir::SourceRange& place);
  ir::Expr stored_positions(const Tensor& t, const UserStorage& storage, const ComputeSpec& spec);
  ir::ValueId moved_reduction(ir::Compute reduction, const ir::Node& node, const std::vector<ir::Expr>& at,
                              const UserStorage& storage, const ComputeSpec& spec);

  Reports& reports_;
  GraphBuilder& graph_;
  const Guards& guards_;
  std::set<ir::ValueId> temporaries_;    ///< made for expressions, not named by the program
  std::set<ir::ValueId> stored_values_;  ///< that names with a storage have had
};

/// "the number of rows of A": dimension `d` of a tensor of that rank, for messages.
[[nodiscard]] std::string dimension_text(std::size_t d, std::size_t rank, const std::string& name);

}  // namespace tdsl::frontend
