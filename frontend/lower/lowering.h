#pragma once

#include "frontend/lower/lowerer.h"

// The lowering functions, by subject.
namespace tdsl::frontend {

// Written types and dimensions.

/// Returns the size of a dimension with an unknown name; nullopt if the name must be known.
using BindDimension = std::function<std::optional<ir::Extent>(const ast::Identifier&, std::size_t dimension)>;

/// Requires the dimensions of a written type to be legal sizes.
void require_sizes(Reports& reports, Shapes& shapes, const ast::TypeExpr& written, const ir::Type& type);
/// Names extents of `value`, which must outlive the result, that data determine. The names end with the block.
BindDimension bind_found(Lowerer& lowerer, const Tensor& value);
/// The same for one extent; nullopt if it is not found by data.
std::optional<ir::Extent> bind_found(Lowerer& lowerer, const ast::Identifier& name, const ir::Extent& extent);
/// True if a name alone in a dimension is unknown, so that the type may bind it.
[[nodiscard]] bool is_new_dimension(Lowerer& lowerer, const std::string& name);
ir::Type lower_type(Lowerer& lowerer, const ast::TypeExpr& type, const BindDimension& bind = {});
/// True if `...` is among the dimensions.
[[nodiscard]] bool has_rest(const ast::TypeExpr& type);
/// The written element type, or the type that the parameter denotes in this call.
ir::Scalar element_type(Lowerer& lowerer, ir::Scalar written, const std::string& parameter);
ir::Extent dimension_extent(Lowerer& lowerer, const ast::Expr& e);
ir::Extent new_dimension(Lowerer& lowerer, const ast::Identifier& name);
/// Declares dimensions whose names stand alone in an input, behind their first use in an expression: `input u: f64[n +
/// 1]; input p: f64[n];`. Params, variables and inputs of such a name take precedence.
void declare_late_dimensions(Lowerer& lowerer, const ast::Module& module);
/// The same for the parameters of a call.
void bind_late_dimensions(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args);

// Variables: declarations, types and the tensors that they denote.

SymbolRef declare_value(Lowerer& lowerer, const ast::Identifier& name, Symbol::Kind kind, ir::ValueId value,
                        const StorageRef& storage = {});
/// Declares a `let` or a `var`.
void declare_named(Lowerer& lowerer, const ast::Identifier& name, bool is_mutable, const Stored& stored);
/// Reports the symbol's type for `check --types`.
void tell_type(Lowerer& lowerer, const Symbol& symbol);
/// Reports a use of a name to `CompileOptions::resolved`.
void tell_use(Lowerer& lowerer, const ir::SourceRange& use, const ir::SourceRange& declaration);
Tensor lower_name(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range, bool lone_subscript);
[[nodiscard]] bool is_scalar_variable(const GraphBuilder& graph, const Names& names, const std::string& name);
SymbolRef assignable(Lowerer& lowerer, const ast::Identifier& name);

// Expressions, lowered to tensor expressions.

/// `type(operand)`.
Tensor cast_to(Lowerer& lowerer, ir::Scalar type, const Tensor& operand, const ir::SourceRange& range);
/// &=, |= and ^=.
[[nodiscard]] bool is_bitwise(ast::AssignKind kind);
/// Their monoid, whose identity is all ones, 0 and 0.
ir::Monoid bit_monoid(Reports& reports, const ast::AssignOp& op, ir::Scalar type);
ir::Expr integer_scalar(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
ir::Expr condition(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
ir::ValueId condition_value(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
Tensor lower(Lowerer& lowerer, const ast::Expr& e);
Tensor lower_plain(Lowerer& lowerer, const ast::Expr& e);  ///< also allows pad()
std::optional<ReducerName> reducer(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range);
Tensor lower_reduction(Lowerer& lowerer, const ast::Reduction& r, const ir::SourceRange& range);
Tensor reduce_whole(Lowerer& lowerer, const ReducerName& op, const Tensor& t, const ast::Call& call,
                    const ir::SourceRange& range);
/// The reduction over the marked dimensions, which stay with extent 1 if `keep`.
Tensor reduce_axes(Lowerer& lowerer, const ReducerName& op, const Tensor& t, const std::vector<bool>& reduced,
                   bool keep, const ir::SourceRange& range);
/// Puts dimensions of extent 1 in the place of the marked ones.
Tensor with_reduced_dimensions(Lowerer& lowerer, const Tensor& t, const std::vector<bool>& reduced,
                               const ir::SourceRange& range);
/// Reports `concat([A, B])`, a list where tensors are separate arguments.
void require_separate_tensors(Lowerer& lowerer, const ast::Call& call);
/// The value of `keepdims=`, by default false.
bool keeps_dimensions(Lowerer& lowerer, const ast::Call& call);
std::vector<bool> reduced_axes(Lowerer& lowerer, const ast::Call& call, std::size_t rank);
std::int64_t axis_number(Lowerer& lowerer, const ast::Expr& e, std::size_t rank);
const MonoidEntry& user_monoid(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range);

Tensor lower_array(Lowerer& lowerer, const ast::ArrayLiteral& array, const ir::SourceRange& range);
/// The tensors along a new dimension in front of dimension `axis`.
Tensor stacked(Lowerer& lowerer, const std::vector<Tensor>& parts, std::size_t axis, const ir::SourceRange& range);

/// The elements of `from`, the read of a tensor, at integer places along a dimension.
Tensor taken_along(Lowerer& lowerer, const Tensor& from, const Tensor& places, std::size_t along,
                   const ir::SourceRange& range);

// Index variables, their ranges, and subscripts.

/// A range of indices `start + step * k`, or `start - step * k`.
struct SlicePart {
  ir::Expr start;
  ir::Extent step = 1;
  bool down = false;
  ir::Extent length;  ///< from start to end, regardless of the step
  ir::Extent extent;
};

/// The range of a loop statement. With a non-constant step, the loop counts iterations.
struct LoopRange {
  ir::ValueId begin;
  ir::ValueId end;
  std::int64_t step = 1;
  ir::ValueId computed_step;
};

/// Binds `name` as an index variable over an explicit range; a range that depends on other index variables adds a
/// guard. `may_move`: the name may denote a label plus an offset, as in reductions.
void bind_range(Lowerer& lowerer, const ast::Identifier& name, const ast::ExprPtr& lower, const ast::ExprPtr& upper,
                const ast::ExprPtr& step, std::vector<std::int32_t>& labels, bool may_move = false);
std::int32_t bind_index(GraphBuilder& graph, Names& names, const ast::Identifier& name);
/// Infers the ranges of labels without explicit range from bare uses.
void resolve_labels(GraphBuilder& graph, Reports& reports, Shapes& shapes, const std::vector<std::int32_t>& labels);
std::int64_t step_of(Lowerer& lowerer, const ast::ExprPtr& step);
/// True if the step is a compile-time constant small enough to be added to any bound without overflow.
[[nodiscard]] bool has_short_step(Lowerer& lowerer, const ast::Expr& step);
/// The compile-time value of an integer scalar, such as `s` after `let s = 2;`.
[[nodiscard]] std::optional<std::int64_t> known_integer(const GraphBuilder& graph, const ir::Expr& e);
Tensor lower_subscript(Lowerer& lowerer, const ast::Subscript& s, const ir::SourceRange& range);
/// `padded`: subscripts outside the dimension are legal.
ir::Expr subscript_expr(Lowerer& lowerer, const ast::Expr& e, const Dim& dim, bool padded = false);
SlicePart slice_part(Lowerer& lowerer, const ast::SliceSubscript& s, const Dim& dim, const ir::SourceRange& range);
/// The subscript in the sliced dimension of the slice's element `label`.
ir::Expr position_in(const GraphBuilder& graph, const SlicePart& part, std::int32_t label);
/// The subscripts with `:` in place of `...`; except for `newaxis` one per dimension of `base`.
std::vector<ast::SubscriptItem> subscripts_of(Lowerer& lowerer, const std::vector<ast::SubscriptItem>& items,
                                              const Tensor& base, const std::string& name,
                                              const ir::SourceRange& range);
/// True for the word `newaxis`, unless it is a variable or a dimension.
[[nodiscard]] bool is_newaxis(Lowerer& lowerer, const ast::SubscriptItem& item);

// Calls, and arguments of built-in functions.

/// Lowers a call with one result.
Tensor lower_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// The same for a callee that is no parameter of function type.
Tensor lower_named_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// True if the call returns a scalar for scalars: `exp(x)`, `max(x, y)`.
[[nodiscard]] bool is_scalar_function(const Declarations& declared, const ast::Call& call);
/// The word given as the named argument, one of `words`; the first of them if it is omitted.
std::string option_word(Lowerer& lowerer, const ast::Call& call, const std::string& name,
                        const std::vector<std::string>& words);
/// A complex matrix (or, with `is_matrix` false, the rows of a right side) as a real tensor of twice the extents, and
/// the complex tensor of such a result. `hermitian`: imaginary parts on the diagonal are 0.
/// The first `batch` dimensions remain.
Tensor real_form(Lowerer& lowerer, const Tensor& given, bool is_matrix, bool hermitian = false, std::size_t batch = 0);
Tensor complex_form(Lowerer& lowerer, const Tensor& form, const std::vector<Dim>& shape, bool is_matrix,
                    bool hermitian = false, std::size_t batch = 0);
/// The `least` to `most` positional arguments; other arguments must be `named`.
std::vector<Tensor> arguments_in_order(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                                       const ir::SourceRange& range, const std::set<std::string>& named = {});
/// The same as operands of a built-in function (as_operand).
std::vector<Tensor> positional(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                               const ir::SourceRange& range, const std::set<std::string>& named = {});
/// The argument, or null if it is omitted.
const ast::Expr* named_argument(const ast::Call& call, const std::string& name);
/// The sizes given by the arguments from `first` to `last`, except for those that are `named`.
std::vector<Dim> extent_arguments(Lowerer& lowerer, const ast::Call& call, std::size_t first,
                                  const ir::SourceRange& range, std::size_t last = SIZE_MAX,
                                  const std::set<std::string>& named = {});

// Functions of the program: calls are inlined, applied per element, or turned into procedures.

/// The value of a condition on literal parameters, which chooses a branch at compile time; else nullopt.
std::optional<bool> decided(const Lowerer& lowerer, const ast::Expr& condition);
/// Binds the dimensions of the parameter's type and converts the argument to it.
std::pair<Tensor, ir::Type> fitted(Lowerer& lowerer, const ast::Identifier& parameter, const ast::TypeExpr& type,
                                   const Tensor& arg, const SourceRange& range);
/// A result converted to its declared type. `function`: the function's name, for messages; `bind`: see lower_type.
Tensor check_result(Lowerer& lowerer, const Tensor& t, const ast::TypeExpr& type, const std::string& function,
                    const BindDimension& bind = {});
std::vector<Tensor> call_function(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// `points`: the index variables that distinguish evaluations of the call.
std::vector<Tensor> inline_body(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                const ast::Call& call, const ir::SourceRange& range,
                                const std::vector<std::int32_t>& points);
/// The call if the whole expression is a call with several results, else null.
const ast::Call* tuple_call(const Lowerer& lowerer, const ast::ExprPtr& value);
std::vector<Tensor> lower_tuple_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// The same for a callee that is no parameter of function type.
std::vector<Tensor> lower_named_tuple_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// False, with an error, unless the body has exactly one `return`, as its last statement, and parameters with defaults
/// come last.
bool check_definition(Reports& reports, const ast::Function& f);
/// Checks names in the bodies of uncalled functions, which are not lowered.
void check_uncalled(Lowerer& lowerer);
/// False, with an error, if inlining all functions exceeds the nesting limit of expressions.
[[nodiscard]] bool calls_fit(Reports& reports, const Declarations& declared);
CallNumbers number_calls(const std::function<bool(const std::string&)>& is_function,
                         const std::function<void(const std::function<void(const ast::Expr&)>&)>& each);
/// Lowers the call of an arithmetic function to one operation; nullopt if that would evaluate arguments that the body
/// may skip.
std::optional<Tensor> call_as_procedure(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                        const ast::Call& call, const ir::SourceRange& range);
Tensor call_at_points(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                      const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at);

// Functions and kernels of C++ headers.

void declare_extern(Lowerer& lowerer, const ast::Extern& e,
                    const std::function<bool(const ast::Identifier&)>& declared);
Tensor call_foreign_function(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                             const ir::SourceRange& range);
std::vector<Tensor> call_foreign_kernel(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                                        const ir::SourceRange& range);

// Index statements and assignments to slices.

/// `let Z[i, k]: T op= e where c for i in a..b;`, or such an assignment, during lowering.
struct IndexStatement {
  SymbolRef target;              ///< of an assignment; null in a declaration
  std::optional<ir::Type> type;  ///< declared, or that of the variable
  ast::AssignOp op;
  std::vector<std::int32_t> labels;     ///< all index variables: in order on the left, then of the `for`
  std::vector<std::int32_t> lone;       ///< per left dimension: its bare label, or -1
  std::vector<std::int32_t> collected;  ///< labels that are not iterated: for each name that denotes an expression of
                                        ///< labels, the dimensions in which it is a bare subscript
  std::vector<ir::Expr> left;
  ir::Expr guard;
  Tensor value;
  ir::Type result;
};

ir::ValueId lower_index_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                    const ast::Definition& definition);
void lower_index_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol);
void begin_index_statement(Lowerer& lowerer, IndexStatement& s, const ast::Target& target,
                           const ast::Definition& definition);
void lower_right_side(Lowerer& lowerer, IndexStatement& s, const ast::Definition& definition);
ir::ValueId emit_index_statement(Lowerer& lowerer, IndexStatement& s, const std::string& name,
                                 const ir::SourceRange& range);
std::optional<ir::Monoid> combine_monoid(Lowerer& lowerer, const ast::AssignOp& op, ir::Scalar type);
void lower_slice_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol);

// User-defined storage: `storage` declarations and tensors declared with one.

void declare_storage(Reports& reports, Declarations& declared, const ast::Storage& s);
/// The storage with its arguments, for a tensor of this shape and element type.
StorageRef lower_storage(Lowerer& lowerer, const ast::StorageAnnotation& written, std::vector<ir::Extent> shape,
                         ir::Scalar scalar);
/// `e`, an element of a tensor with a storage, made absent where computed subscripts are out of the tensor's bounds,
/// because the stored tensor may have an element there.
ir::Expr inside_of_storage(GraphBuilder& graph, const ir::Expr& e, const std::vector<ast::SubscriptItem>& items,
                           const std::vector<ir::Expr>& subscripts, const Tensor& base);
Stored lower_stored_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                const ast::Definition& definition);
/// `B[i, j] op= e` for a tensor of this type; `symbol`: that of an assignment, else null.
Stored lower_stored_elements(Lowerer& lowerer, const ast::Target& target, const ir::Type& type,
                             const StorageRef& storage, const ast::Definition& definition, const SymbolRef& symbol);

// Statements, and regions of loops and branches.

void lower_block(Lowerer& lowerer, const ast::Block& block);
void lower_statement(Lowerer& lowerer, const ast::Stmt& s);
void dispatch(Lowerer& lowerer, const ast::Stmt& s);
void require_no_suffixes(Reports& reports, const ast::Suffixes& s);
/// The number of iterations of a loop with a computed step.
ir::ValueId iterations_of(Shapes& shapes, Values& values, const LoopRange& loop, const ir::SourceRange& range);
/// Lowers the loop over range `level` and the nested ones. `bounds`: of the ranges lowered so far.
void lower_for(Lowerer& lowerer, const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level,
               const ir::SourceRange& range);
void lower_while(Lowerer& lowerer, const ast::While& w, const ir::SourceRange& range);
void lower_if(Lowerer& lowerer, const ast::If& i, std::size_t arm, const ir::SourceRange& range);
/// Lowers the values of an imported file at its first import. Its random numbers are independent of the importing file.
void lower_import(Lowerer& lowerer, const ast::Import& import);

}  // namespace tdsl::frontend
