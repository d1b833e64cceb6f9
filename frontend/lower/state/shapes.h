#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/lower/state/values.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Sizes: whether they agree and are legal, at once or by checks in the graph.
class Shapes {
 public:
  Shapes(Reports& reports, GraphBuilder& graph, const Guards& guards, Values& values)
      : reports_(reports), graph_(graph), guards_(guards), values_(values) {}

  void agree(const Dim& a, const Dim& b, const ir::SourceRange& range, const std::string& where,
             const std::string& hint = "");
  /// The size of both with one that is 1 stretched.
  Dim broadcast(const Dim& a, const Dim& b, const ir::SourceRange& range, const std::string& where,
                const std::string& hint = "");
  void require_shape(const Tensor& t, const ir::Type& type, const std::string& what, const ir::SourceRange& range);
  [[nodiscard]] ir::ExtentOrder compare(const ir::Extent& a, const ir::Extent& b) const;
  /// A size that an input tells.
  ir::Extent new_dimension(const ast::Identifier& name);

  /// A size is neither negative nor, however computed, too large. `what` names it in messages.
  void require_size(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);
  void require_not_negative(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);
  /// Refuses a range that 64 bits do not count: at once, or when the program runs.
  void require_countable(const ir::Extent& begin, const ir::Extent& end, const std::string& name,
                         const ir::SourceRange& range);
  /// The extent of a dimension of that size: 0 where it is negative.
  [[nodiscard]] ir::Extent length_of(const ir::Extent& size);

  /// Emits the check unless it was made before. Guards around it protect it if it is one of order.
  void check(ir::Check check, const ir::SourceRange& range);
  /// The checks made so far again from the end of the scope on.
  [[nodiscard]] auto separate_checks() { return Restored(checked_); }
  /// Nodes and checks go to the region for the rest of the scope.
  class InRegion {
   public:
    InRegion(Shapes& shapes, ir::Region& region);
    ~InRegion();
    InRegion(const InRegion&) = delete;
    InRegion& operator=(const InRegion&) = delete;

   private:
    Shapes& shapes_;
  };

 private:
  /// Whether such a check stands before in this region or around it.
  [[nodiscard]] bool is_checked(ir::Check::Relation relation, const ir::Extent& left, const ir::Extent& right) const;
  /// Whether the size may be that of a range which ends below 0.
  [[nodiscard]] bool may_be_negative(const ir::Extent& size) const;
  void require_in_64_bits(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);

  Reports& reports_;
  GraphBuilder& graph_;
  const Guards& guards_;
  Values& values_;
  std::set<ir::ValueId> dimension_values_;
  std::set<std::tuple<std::size_t, std::string, std::string>> checked_;  ///< depth of the region, both sides
};

}  // namespace tdsl::frontend
