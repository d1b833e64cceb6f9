#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/lower/declarations.h"
#include "frontend/lower/frame.h"
#include "frontend/lower/graph.h"
#include "frontend/lower/guards.h"
#include "frontend/lower/loops.h"
#include "frontend/lower/modules.h"
#include "frontend/lower/names.h"
#include "frontend/lower/reports.h"
#include "frontend/lower/shapes.h"
#include "frontend/lower/versions.h"
#include "frontend/sema/growth.h"
#include "frontend/sema/scope.h"
#include "frontend/sema/types.h"
#include "frontend/syntax/ast.h"
#include "ir/graph/procedure.h"

namespace tdsl::frontend {

struct EinsumText;  // lower_products.cpp

/// Which reduction a name means.
enum class Reducer : std::uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kMean,
  kAny,
  kAll,
  kCount,
  kArgMin,
  kArgMax,
  kNorm,
  kUser
};
struct ReducerName {
  Reducer kind = Reducer::kSum;
  ir::Monoid user;  ///< kUser only
  ir::Scalar user_type = ir::Scalar::kF64;
};

/// Lowers one program: names, types, shapes and meaning at once, statement by statement. The bodies of the members live
/// in one file per noun, as the sections below name them.
class Lowerer {
 public:
  Lowerer(SourceManager& sources, DiagnosticSink& sink, const CompileOptions& options, ir::Program& program,
          std::uint32_t main_file);
  void run(const ast::Module& module);

 private:
  struct IndexStatement;  // lower_index_statement.h
  using Arguments = std::vector<ast::Argument>;
  using Builtin = Tensor (Lowerer::*)(const ast::Call&, const ir::SourceRange&);
  using TupleBuiltin = std::vector<Tensor> (Lowerer::*)(const ast::Call&, const ir::SourceRange&);

  // --- Names: variables.cpp
  SymbolRef declare_value(const ast::Identifier& name, Symbol::Kind kind, ir::ValueId value,
                          const StorageRef& storage = {});
  /// Of a `let` or a `var`.
  void declare_named(const ast::Identifier& name, bool is_mutable, const Stored& stored);
  /// For `check --types`.
  void tell_type(const Symbol& symbol) const;
  Tensor lower_name(const std::string& name, const ir::SourceRange& range, bool lone_subscript);
  [[nodiscard]] bool is_scalar_variable(const std::string& name) const;
  [[nodiscard]] Dimensions& dimensions() { return frames_.back().dimensions; }

  // --- Derivatives: lower_gradient.cpp
  ir::ValueId differentiated(const ast::Expr& e, std::int64_t tick);
  std::vector<Tensor> call_gradient(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_grad(const ast::Call& call, const ir::SourceRange& range);

  // --- Shapes: types.cpp
  /// Of the dimensions of a written type that are computed from other than dimensions.
  void require_sizes(const ast::TypeExpr& written, const ir::Type& type);
  /// A type whose dimensions are all known; unknown names are errors unless `bind` takes them.
  using BindDimension = std::function<std::optional<ir::Extent>(const ast::Identifier&, std::size_t dimension)>;
  ir::Type lower_type(const ast::TypeExpr& type, const BindDimension& bind = {});
  ir::Extent dimension_extent(const ast::Expr& e);
  ir::Extent new_dimension(const ast::Identifier& name);

  // --- User-defined storage: lower_storage.cpp
  void declare_storage(const ast::Storage& s);
  /// The storage with its arguments, of a tensor of this shape.
  StorageRef lower_storage(const ast::StorageAnnotation& written, std::vector<ir::Extent> shape);
  StorageMap lower_storage_map(const ast::IndexMap& map, const std::vector<ir::Extent>& shape);
  /// `to` leads back to where `from` begins: proven, or checked where the storage is used.
  void check_storage(const ast::Storage& s, const UserStorage& storage);
  /// The element `e` of a tensor with a storage, absent where computed subscripts leave the tensor: the stored one may
  /// well have an element there.
  ir::Expr inside_of_storage(const ir::Expr& e, const ast::Subscript& s, const std::vector<ir::Expr>& subscripts,
                             const Tensor& base);
  Stored lower_stored_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                  const ast::Definition& definition);
  /// `B[i, j] op= e` of a tensor of this type; `symbol`: of an assignment, else null.
  Stored lower_stored_elements(const ast::Target& target, const ir::Type& type, const StorageRef& storage,
                               const ast::Definition& definition, const SymbolRef& symbol);
  void bind_stored_positions(IndexStatement& s, const std::vector<ast::Identifier>& names, const ast::Target& target,
                             const UserStorage& storage, const ast::Definition& definition);

  // --- Values: lower_values.cpp
  ir::Expr integer_scalar(const ast::Expr& e, const std::string& what);
  ir::Expr condition(const ast::Expr& e, const std::string& what);
  ir::ValueId condition_value(const ast::Expr& e, const std::string& what);

  // --- Expressions: lower_expr.cpp
  Tensor lower(const ast::Expr& e);
  Tensor lower_plain(const ast::Expr& e);  ///< also pads
  Tensor lower_unary(const ast::Unary& u, const ir::SourceRange& range);
  Tensor lower_binary(const ast::Binary& b, const ir::SourceRange& range);
  Tensor lower_logical(const ast::Binary& b, const ir::SourceRange& range);
  Tensor lower_conditional(const ast::Conditional& c, const ir::SourceRange& range);
  Tensor lower_cast(const ast::Cast& c, const ir::SourceRange& range);
  Tensor transpose(const Tensor& t, const ir::SourceRange& range);
  Tensor arithmetic(ir::BinaryOp op, const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor power(const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor choice(const Tensor& c, const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor apply_unary(ir::UnaryOp op, bool needs_float, const Tensor& t, const ir::SourceRange& range);
  Tensor elementwise(const std::vector<Tensor>& args, Weak weak, const ir::SourceRange& range,
                     const std::function<ir::Expr(const std::vector<ir::Expr>&)>& make, const std::string& hint = "");

  // --- Subscripts: lower_subscripts.cpp
  struct SlicePart {
    ir::Expr start;
    ir::Extent step = 1;
    ir::Extent length;  ///< from the start to the end, whatever the step
    ir::Extent extent;
  };
  Tensor lower_subscript(const ast::Subscript& s, const ir::SourceRange& range);
  /// The element of a closed expression at these subscripts, null for slices, with checks of those that no read in the
  /// element makes.
  ir::Expr checked_element(const Tensor& base, const std::vector<ir::Expr>& subscripts, const ast::Subscript& s,
                           const std::string& name);
  /// Whether a read that is evaluated with the element has this subscript in a dimension of this extent, or the range
  /// of the index variable says that it is inside.
  [[nodiscard]] bool is_checked(const ir::Expr& element, const ir::Expr& subscript, const ir::Extent& extent) const;
  /// `padded`: positions outside the dimension are legal too.
  ir::Expr subscript_expr(const ast::Expr& e, const Dim& dim, bool padded = false);
  SlicePart slice_part(const ast::SliceSubscript& s, const Dim& dim, const ir::SourceRange& range);
  ir::Extent slice_step(const ast::Expr& e);
  /// The position in the sliced dimension of the slice's element `label`.
  ir::Expr position_in(const SlicePart& part, std::int32_t label);
  void check_slice(const SlicePart& part, const ir::Extent& stop, const Dim& dim, const ir::SourceRange& range);
  void require_subscripts(std::size_t given, const Tensor& base, const std::string& name, const ir::SourceRange& range);

  // --- Reductions: lower_reductions.cpp
  std::optional<ReducerName> reducer(const std::string& name, const ir::SourceRange& range);
  Tensor lower_reduction(const ast::Reduction& r, const ir::SourceRange& range);
  Tensor reduce(const ReducerName& op, ComputeSpec spec, const Tensor& body, std::vector<Dim> shape);
  Tensor reduce_mean(ComputeSpec spec, const Tensor& body, std::vector<Dim> shape);
  Tensor reduce_whole(const ReducerName& op, const Tensor& t, const ast::Call& call, const ir::SourceRange& range);
  Tensor flat_arg(const ReducerName& op, const Tensor& t, const ir::SourceRange& range);
  std::vector<bool> reduced_axes(const ast::Call& call, std::size_t rank);
  std::int64_t axis_number(const ast::Expr& e, std::size_t rank);
  const MonoidEntry& user_monoid(const std::string& name, const ir::SourceRange& range);

  // --- Index variables: lower_index.cpp
  /// Binds `name` as index variable over an explicit range; a range that depends on other index variables gives a
  /// guard. `may_move`: the name may stand for a label plus something, as a reduction's may.
  void bind_range(const ast::Identifier& name, const ast::ExprPtr& lower, const ast::ExprPtr& upper,
                  const ast::ExprPtr& step, std::vector<std::int32_t>& labels, bool may_move = false);
  /// `i - 2..i + 3`, also as `max(0, i - 2)..min(n, i + 3)`: binds the name as `first` plus a label of fixed range, so
  /// that no more points are visited than asked for. False if the range is not such a window.
  bool bind_window(const ast::Identifier& name, const ir::Expr& begin, const ir::Expr& end,
                   std::vector<std::int32_t>& labels);
  std::int32_t bind_index(const ast::Identifier& name);
  /// Ranges from bare uses for the labels that have none.
  void resolve_labels(const std::vector<std::int32_t>& labels);
  std::int64_t step_of(const ast::ExprPtr& step);
  /// Whether the step is known when compiling and short enough to be added to any bound without a look.
  [[nodiscard]] bool has_short_step(const ast::Expr& step);
  /// bind_range with a step that only the run knows.
  void bind_computed_range(const ast::Identifier& name, const ir::Expr& begin, const ir::Expr& end,
                           const ir::Expr& step, const ir::SourceRange& place, std::vector<std::int32_t>& labels);
  /// The number that an integer scalar is known to be when compiling, as `s` after `let s = 2;`.
  [[nodiscard]] std::optional<std::int64_t> known_integer(const ir::Expr& e) const;

  // --- Index statements: lower_index_statement.cpp
  ir::ValueId lower_index_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                      const ast::Definition& definition);
  void lower_index_assignment(const ast::Assign& a, const SymbolRef& symbol);
  void begin_index_statement(IndexStatement& s, const ast::Target& target, const ast::Definition& definition);
  void lower_right_side(IndexStatement& s, const ast::Definition& definition);
  void bind_left(IndexStatement& s, const ast::Target& target);
  void lower_left(IndexStatement& s, const ast::Target& target);
  /// The size of a new dimension by the dimensions where its index variable stands bare, the first if they differ
  /// (which warns); none without such.
  std::optional<ir::Extent> extent_of_bare_uses(std::int32_t label);
  /// A new dimension is as long as what its index variable subscripts, `dim`, whose range from 0 on may end elsewhere.
  void warn_of_shorter_range(const LabelInfo& info, const Dim& dim);
  ir::Extent left_extent(const IndexStatement& s, std::size_t d, const ast::Target& target);
  ir::ValueId emit_index_statement(IndexStatement& s, const std::string& name, const ir::SourceRange& range);
  std::optional<ir::Monoid> combine_monoid(const ast::AssignOp& op, ir::Scalar type);
  ir::Scalar element_type_for(const ast::AssignOp& op, const Tensor& value);
  ir::Expr combined_value(const ast::AssignOp& op, const Tensor& value, ir::Scalar type);
  void lower_slice_assignment(const ast::Assign& a, const SymbolRef& symbol);

  // --- Statements: lower_statements.cpp
  void lower_block(const ast::Block& block);
  void lower_statement(const ast::Stmt& s);
  void dispatch(const ast::Stmt& s);
  void lower_import(const ast::Import& import);
  void lower_param(const ast::Param& p);
  void lower_input(const ast::Input& i);
  void lower_output(const ast::Output& o, const ir::SourceRange& range);
  Stored lower_declaration(const ast::Target& target, const ast::Annotations& annotations,
                           const ast::Definition& definition);
  void lower_let(const ast::Let& l);
  bool lower_inline_let(const ast::Let& l);
  void lower_tuple_let(const ast::TupleLet& l);
  void lower_assign(const ast::Assign& a);
  void lower_tuple_assign(const ast::TupleAssign& a);
  SymbolRef assignable(const ast::Identifier& name);
  void assign_whole(const ast::Assign& a, const SymbolRef& symbol);
  /// `value` as the variable keeps it.
  ir::ValueId assigned_value(const Tensor& value, const ir::Type& type, const Symbol& symbol,
                             const ir::SourceRange& range);
  void lower_print(const ast::Print& p, const ir::SourceRange& range);
  void lower_assert(const ast::Assert& a, const ir::SourceRange& range);
  /// `tile (a, b)`: one size per dimension of the declared tensor.
  void annotate_tile(ir::ValueId value, const ast::Annotations& annotations);
  Stored lower_whole_declaration(const ast::Target& target, const ast::Annotations& annotations,
                                 const ast::Definition& definition);
  void require_no_suffixes(const ast::Suffixes& s);
  void check_option_name(const ast::Identifier& name);
  /// An output that is a param or an input has no option of its own.
  void warn_of_shared_option(const ast::Identifier& output);
  void mark_broken(const ast::Stmt& s);

  // --- Regions: lower_regions.cpp
  /// What a loop statement runs over. A step that is no constant is a value, and the loop counts its iterations.
  struct LoopRange {
    ir::ValueId begin;
    ir::ValueId end;
    std::int64_t step = 1;
    ir::ValueId computed_step;
  };
  LoopRange range_of(const ast::IndexRange& r);
  /// How often a loop with a computed step runs.
  ir::ValueId iterations_of(const LoopRange& loop, const ir::SourceRange& range);
  /// Lowers the loop over range `level` and, inside it, those over the further ones. `bounds`: of the ranges so far.
  void lower_for(const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level, const ir::SourceRange& range);
  void lower_while(const ast::While& w, const ir::SourceRange& range);
  void lower_if(const ast::If& i, std::size_t arm, const ir::SourceRange& range);
  std::vector<SymbolRef> carried(const ast::Block& block) const;
  std::vector<ir::ValueId> values_of(const std::vector<SymbolRef>& symbols) const;
  std::vector<ir::ValueId> fresh_values(const std::vector<SymbolRef>& symbols);
  ir::ValueId bound_value(const ast::Expr& e, const std::string& what);

  // --- Functions of C++ headers: lower_extern.cpp
  void declare_extern(const ast::Extern& e, const std::function<bool(const ast::Identifier&)>& declared);
  [[nodiscard]] std::optional<ir::Foreign> signature(const ast::ExternFunction& f);
  [[nodiscard]] std::optional<ir::Foreign> signature(const ast::ExternKernel& k);
  std::optional<ir::Scalar> foreign_type(const ast::TypeExpr& type, const std::string& what, bool is_scalar);
  void report(const ir::HeaderProblem& problem, const ast::Extern& e, const std::vector<SourceRange>& places);
  Tensor call_foreign_function(const ForeignEntry& entry, const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_foreign_kernel(const ForeignEntry& entry, const ast::Call& call,
                                          const ir::SourceRange& range);

  // --- Functions: lower_functions.cpp
  /// Binds the dimensions of the parameter's type, and brings the argument to it.
  std::pair<Tensor, ir::Type> fitted(const ast::Identifier& parameter, const ast::TypeExpr& type, const Tensor& arg,
                                     const SourceRange& range);
  std::vector<Tensor> call_function(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_scalar_function(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                              const ir::SourceRange& range);
  // lower_points.cpp
  /// Runs the body once for every point of the index variables that the arguments mention; a scalar per point.
  void position_of(std::int32_t id, PointLoop& loop);
  PointLoop body_at_a_point(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                            const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at);
  /// The body as a procedure, if it is work on scalars. A derivative in it that there is not is reported.
  std::optional<ir::Procedure> procedure_of_body(const ast::Function& f, const PointLoop& loop,
                                                 const std::vector<ir::ValueId>& parameters,
                                                 std::vector<ir::ValueId>& captured);
  /// `loop` as the expression that applies `procedure`, made of its body.
  ir::Expr applied(const PointLoop& loop, ir::Procedure procedure, const std::vector<ir::ValueId>& captured,
                   const ast::Function& f, const ir::SourceRange& range);
  /// The call of a function that is arithmetic, as one operation; none where it would evaluate what the body need not.
  std::optional<Tensor> call_as_procedure(const ast::Function& f, const std::vector<Tensor>& args,
                                          const ast::Call& call, const ir::SourceRange& range);
  Tensor call_at_points(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                        const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at);
  /// The body in a branch; where the condition does not hold, the results are 0.
  std::vector<Tensor> call_under(const ir::Expr& condition, const ast::Function& f, const std::vector<Tensor>& args,
                                 const ast::Call& call, const ir::SourceRange& range);
  /// `points`: the index variables for whose values the call is made.
  std::vector<Tensor> inline_body(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                                  const ir::SourceRange& range, const std::vector<std::int32_t>& points);
  /// Whether the call becomes an expression that should not be used twice.
  [[nodiscard]] bool is_large_in_place(const ast::Function& f, const std::vector<Tensor>& args);
  /// `per_element`: locals that name something stay expressions.
  std::vector<Tensor> put_in_place(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                                   const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at,
                                   bool per_element);
  void bind_parameter(const ast::FunctionParameter& parameter, const Tensor& arg, const ir::SourceRange& range);
  /// The call when the whole expression is one that gives several values.
  const ast::Call* tuple_call(const ast::ExprPtr& value) const;
  std::vector<Tensor> lower_tuple_call(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> lower_return(const ast::ExprPtr& value, const ast::Suffixes& suffixes);
  Tensor lower_returned(const ast::ExprPtr& value, const ast::Suffixes& suffixes);
  Tensor check_result(const Tensor& t, const ast::TypeExpr& type, const ast::Function& f);
  std::vector<Tensor> lower_tuple_value(const ast::Definition& d, std::size_t count);
  void declare_functions(const ast::Module& module, std::uint32_t depth = 0);
  /// Whether `return` comes last in the body, once, and nowhere else; reports where not.
  bool check_returns(const ast::Function& f);
  /// Names in the bodies of functions that nothing calls, and so nothing lowers.
  void check_uncalled();
  /// Whether calls, when all functions are put in place, nest no deeper than expressions may; an error if not.
  [[nodiscard]] bool calls_fit();
  [[nodiscard]] CallNumbers number_module(const ast::Module& module) const;
  CallNumbers number_calls(const std::function<void(const std::function<void(const ast::Expr&)>&)>& each) const;
  CallNumbers number_function(const ast::Function& f) const;

  // --- Calls of built-ins: lower_calls.cpp, lower_constructors.cpp, lower_structure.cpp, lower_products.cpp
  Tensor lower_call(const ast::Call& call, const ir::SourceRange& range);
  std::optional<Tensor> lower_scalar_function(const ast::Call& call, const ir::SourceRange& range);
  [[nodiscard]] static const std::map<std::string, Builtin>& builtins();
  [[nodiscard]] static bool is_builtin(const std::string& name);
  /// Whether the call gives a scalar for scalars: `exp(x)`, `max(x, y)`.
  [[nodiscard]] static bool is_scalar_function(const ast::Call& call);
  [[nodiscard]] std::string named_axis(const ast::Call& call) const;
  std::vector<Tensor> positional(const ast::Call& call, std::size_t least, std::size_t most,
                                 const ir::SourceRange& range, const std::set<std::string>& named = {});
  const ast::Expr* named_argument(const ast::Call& call, const std::string& name) const;
  Tensor call_where(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_extremum(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_zeros(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_full(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_eye(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_iota(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_random(const ast::Call& call, const ir::SourceRange& range);
  /// The arguments from `first` on, up to `last`.
  std::vector<Dim> extent_arguments(const ast::Call& call, std::size_t first, const ir::SourceRange& range,
                                    std::size_t last = SIZE_MAX);
  ir::Expr density_argument(const ast::Expr& e, const ir::SourceRange& range);
  Tensor filled(const ir::Expr& value, Weak weak, std::vector<Dim> shape);
  std::uint64_t random_site(const ast::Call& call) const;
  Tensor call_transpose(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_size(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_outer(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_diag(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_trace(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_triangle(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_flip(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_roll(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_concat(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_reshape(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_pad(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_nnz(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_dense(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_sparse(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_sprandom(const ast::Call& call, const ir::SourceRange& range);
  /// The operands; ellipses of the text become letters of their own.
  std::vector<Tensor> einsum_operands(const ast::Call& call, EinsumText& text);
  Tensor call_einsum(const ast::Call& call, const ir::SourceRange& range);
  // --- Library routines: lower_routines.cpp
  struct RoutineResult {
    ir::Scalar scalar = ir::Scalar::kF64;
    std::vector<Dim> shape;
  };
  /// What the routines of matrices have in common: the operand's float type and its two dimensions.
  struct MatrixCall {
    ir::Routine routine;
    ir::Scalar scalar = ir::Scalar::kF64;
    Dim rows;
    Dim columns;
  };
  [[nodiscard]] static const std::map<std::string, TupleBuiltin>& tuple_builtins();
  ir::ValueId routine_operand(const Tensor& t, ir::Scalar type, const ast::Call& call);
  std::vector<Tensor> emit_routine(ir::Routine routine, const std::vector<RoutineResult>& results,
                                   const ir::SourceRange& range);
  void emit_guarded_routine(ir::Routine routine, const std::vector<ir::ValueId>& results, const ir::Expr& guard,
                            const ir::SourceRange& range);
  /// All elements in one dimension.
  Tensor flattened(const Tensor& t, const ir::SourceRange& range);
  /// The row-major position of the element at the tensor's own labels.
  [[nodiscard]] ir::Expr row_major(const Tensor& t) const;
  /// The same among `count` of its dimensions.
  [[nodiscard]] ir::Expr row_major(const Tensor& t, std::size_t first, std::size_t count) const;
  /// The subscripts of the element at the row-major position `flat`.
  [[nodiscard]] std::vector<ir::Expr> split(ir::Expr flat, const std::vector<Dim>& shape,
                                            const ir::SourceRange& range) const;
  MatrixCall matrix_call(ir::Routine::Kind kind, const Tensor& a, const ast::Call& call);
  void require_square(const MatrixCall& m, const ast::Call& call, const ir::SourceRange& range);
  Dim shorter(const MatrixCall& m);
  Tensor call_cumsum(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_sort(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_solve(const ast::Call& call, const ir::SourceRange& range);
  Tensor call_square(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_topk(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_lu(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_qr(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_svd(const ast::Call& call, const ir::SourceRange& range);
  std::vector<Tensor> call_eigh(const ast::Call& call, const ir::SourceRange& range);
  Tensor matmul(const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor fresh(const Tensor& t);

  SourceManager& sources_;
  DiagnosticSink& sink_;
  const CompileOptions& options_;
  GraphBuilder graph_;
  std::uint32_t main_file_;
  Frames frames_;
  Reports reports_{sources_, sink_, frames_};
  Guards guards_;
  Values values_{reports_, graph_, guards_};
  Shapes shapes_{reports_, graph_, guards_, values_};
  Versions versions_{graph_};
  Loops loops_{reports_, values_};
  Declarations declared_;
  Modules modules_{sources_, reports_, options_, main_file_};
  Names names_{reports_, frames_, options_, main_file_};
  GrowthFinder growth_{[this](const std::string& name) { return declared_.function_named(name); }};
  std::size_t inlined_calls_ = 0;
  std::set<std::string> outputs_;
};

}  // namespace tdsl::frontend
