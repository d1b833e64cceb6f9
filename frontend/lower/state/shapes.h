#pragma once

#include <set>
#include <string>
#include <tuple>

#include "frontend/lower/state/values.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Sizes: checks agreement and legality, statically or by checks in the graph.
class Shapes {
 public:
  Shapes(Reports& reports, GraphBuilder& graph, const Guards& guards, Values& values)
      : reports_(reports), graph_(graph), guards_(guards), values_(values) {}

  void agree(const Dim& a, const Dim& b, const ir::SourceRange& range, const std::string& where,
             const std::string& hint = "");
  /// The common size of both dimensions after broadcasting size 1.
  Dim broadcast(const Dim& a, const Dim& b, const ir::SourceRange& range, const std::string& where,
                const std::string& hint = "");
  void require_shape(const Tensor& t, const ir::Type& type, const std::string& what, const ir::SourceRange& range);
  [[nodiscard]] ir::ExtentOrder compare(const ir::Extent& a, const ir::Extent& b) const;
  /// A new dimension, whose size is that of an input.
  ir::Extent new_dimension(const ast::Identifier& name);
  /// A new extent, which data determine: `count`, an i64 scalar. `estimate`: of plans made before it is counted.
  ir::Extent found_extent(ir::ValueId count, const ir::Extent& estimate, const ir::SourceRange& range);
  /// True for an extent found by data, which gets that name. `in_program`: the name is one of the executable's options.
  bool name_found(const ir::Extent& extent, const ast::Identifier& name, bool in_program);

  /// Requires a size to be nonnegative and, if computed, within the limit. `what` names it in messages.
  void require_size(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);
  void require_not_negative(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);
  /// Rejects a range whose length overflows i64, statically or at run time.
  void require_countable(const ir::Extent& begin, const ir::Extent& end, const std::string& name,
                         const ir::SourceRange& range);
  /// The extent of a dimension of that size, clamped at 0.
  [[nodiscard]] ir::Extent length_of(const ir::Extent& size);

  /// Emits the check unless it was emitted before. Enclosing guards apply to it if it is an order relation.
  void check(ir::Check check, const ir::SourceRange& range);
  /// At the end of the scope, forgets the checks emitted in it.
  [[nodiscard]] auto separate_checks() { return Restored(checked_); }
  /// Nodes and checks go to the region until the end of the scope.
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
  /// True if the check was emitted in this region or an enclosing one.
  [[nodiscard]] bool is_checked(ir::Check::Relation relation, const ir::Extent& left, const ir::Extent& right) const;
  /// True if the size may be that of a range with a negative length.
  [[nodiscard]] bool may_be_negative(const ir::Extent& size) const;
  void require_in_64_bits(const ir::Extent& size, const std::string& what, const ir::SourceRange& range);

  Reports& reports_;
  GraphBuilder& graph_;
  const Guards& guards_;
  Values& values_;
  /// True for a value that is an extent, and so not negative.
  [[nodiscard]] bool is_size(ir::ValueId v) const { return dimension_values_.contains(v) || found_.contains(v); }

  std::set<ir::ValueId> dimension_values_;
  std::set<ir::ValueId> found_;  ///< extents found by data, with and without names
  std::set<std::tuple<std::size_t, std::string, std::string>> checked_;  ///< region depth, both sides
};

}  // namespace tdsl::frontend
