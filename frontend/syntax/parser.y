/* The grammar of TDSL. Actions only call AstBuilder; syntax_errors.cpp makes the messages; ParseDriver supplies the
   tokens. Left sides and expressions share the nonterminal `postfix`; the builder checks that a left side is
   assignable. */
%require "3.8"
%skeleton "lalr1.cc"
%define api.namespace {tdsl::frontend}
%define api.parser.class {GeneratedParser}
%define api.token.constructor
%define api.token.prefix {TOK_}
%define api.value.type variant
%define api.value.automove
%define api.location.type {tdsl::ir::SourceRange}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param { tdsl::frontend::ParseDriver& driver }

%code requires {
#include <string>
#include <utility>
#include <vector>
#include "frontend/syntax/ast.h"
#include "frontend/syntax/ast_builder.h"

namespace tdsl::frontend {
class ParseDriver;
}
}

%code {
#include "frontend/syntax/parse_driver.h"

#define YYLLOC_DEFAULT(current, rhs, n)                                                                  \
  do {                                                                                                   \
    if (n) {                                                                                             \
      (current) = YYRHSLOC(rhs, 1).to(YYRHSLOC(rhs, n));                                                 \
    } else {                                                                                             \
      (current) = YYRHSLOC(rhs, 0);                                                                      \
      (current).line = (current).end_line;                                                               \
      (current).column = (current).end_column;                                                           \
    }                                                                                                    \
  } while (false)

namespace tdsl::frontend {
namespace {

/// Appends `item` to `list`.
template <typename List, typename Item>
List append(List list, Item item) {
  list.push_back(std::move(item));
  return list;
}

}  // namespace
}  // namespace tdsl::frontend

#define BUILD driver.builder()
}

%token END 0 "the end of the file"
%token <std::string> NAME "a name" INTEGER "an integer" FLOAT "a number" STRING "a string" TYPE "a type"
%token <std::string> BY "by" OUT "out" KERNEL "kernel" TILE "tile" LITERAL "literal" EVERY "every"
%token LET "let" VAR "var" PARAM "param" INPUT "input" OUTPUT "output" IMPORT "import"
       FN "fn" RETURN "return" MONOID "monoid"
       EXTERN "extern" STORAGE "storage" FOR "for" IN "in" WHILE "while" IF "if" THEN "then" ELSE "else"
       WHERE "where" SPARSE "sparse" TRUE "true" FALSE "false" INF "inf" NAN "nan"
%token PLUS "+" MINUS "-" STAR "*" SLASH "/" PERCENT "%" AT "@" POWER "**" NOT "!" QUOTE "'"
       EQUAL "==" NOT_EQUAL "!=" LESS "<" LESS_EQUAL "<=" GREATER ">" GREATER_EQUAL ">=" AND "&&" OR "||"
       ASSIGN "=" ADD_ASSIGN "+=" SUB_ASSIGN "-=" MUL_ASSIGN "*=" DIV_ASSIGN "/="
       BIT_AND "&" BIT_OR "|" BIT_XOR "^" BIT_NOT "~" SHIFT_LEFT "<<" SHIFT_RIGHT ">>"
       BIT_AND_ASSIGN "&=" BIT_OR_ASSIGN "|=" BIT_XOR_ASSIGN "^="
       LEFT_PAREN "(" RIGHT_PAREN ")" LEFT_BRACKET "[" RIGHT_BRACKET "]" LEFT_BRACE "{" RIGHT_BRACE "}"
       COMMA "," SEMICOLON ";" COLON ":" DOT "." DOT_DOT ".." ELLIPSIS "..." ARROW "->"

%type <ast::Identifier> identifier path
%type <std::vector<ast::Identifier>> identifiers
%type <TypedName> declared
%type <std::vector<TypedName>> declared_names
%type <ast::ExprPtr> expr disjunction conjunction comparison bitor bitxor bitand shift sum product unary power exponent operand primary
%type <ast::ExprPtr> value tuple optional_expr optional_step every
%type <ast::ExprPtr> extent extent_term extent_factor
%type <ast::BinaryOp> comparison_op
%type <std::vector<ast::ExprPtr>> exprs
%type <PostfixDraft> postfix
%type <SubscriptDraft> subscript
%type <std::vector<SubscriptDraft>> subscripts
%type <ast::Argument> argument
%type <std::vector<ast::Argument>> arguments argument_list
%type <ast::TypeExpr> type
%type <std::vector<ast::TypeExpr>> types optional_types results required_results
%type <ast::Dimension> dimension
%type <std::vector<ast::Dimension>> dimensions
%type <ast::Annotations> annotations
%type <ast::AssignOp> assign_op
%type <ast::Definition> definition tuple_definition
%type <ast::Suffixes> suffixes
%type <ast::IndexRange> range
%type <std::vector<ast::IndexRange>> ranges
%type <ast::Target> target
%type <bool> let_or_var
%type <ast::StmtPtr> statement
%type <std::vector<ast::StmtPtr>> statements top_statements
%type <ast::Block> block
%type <ast::If> if_chain
%type <SignatureDraft> signature
%type <ast::FunctionParameter> parameter
%type <ast::ExprPtr> lambda default_value
%type <ast::FunctionType> function_type
%type <ast::TypeParameter> type_parameter
%type <std::vector<ast::TypeParameter>> type_parameters type_parameter_list
%type <std::vector<ast::FunctionParameter>> parameters parameter_list
%type <ast::KernelParameter> kernel_parameter
%type <std::vector<ast::KernelParameter>> kernel_parameters
%type <ast::Extern> extern_items
%type <std::vector<MonoidField>> monoid_fields
%type <std::vector<StorageField>> storage_fields

%%

module: top_statements                            { BUILD.top_level($1); };

top_statements:
  %empty                                          { }
| top_statements statement                        { $$ = append($1, $2); BUILD.reached($$.back()); }
| top_statements "}"                              { $$ = $1; BUILD.unmatched_brace(@2); }
;

statements:
  %empty                                          { }
| statements statement                            { $$ = append($1, $2); }
;

block:
  "{" statements "}"                              { $$ = BUILD.block($2, @$); }
| "{" statements error "}"                        { $$ = BUILD.block($2, @$); yyerrok; }
;

statement:
  ";"                                             { }
| block                                           { BUILD.bare_block(@$); }
| error ";"                                       { yyerrok; }
| "import" path ";"                               { $$ = BUILD.statement(ast::Import{$2.name, false, @2}, @$); }
| "import" STRING ";"                             { $$ = BUILD.statement(ast::Import{$2, true, @2}, @$); }
| "param" identifier ":" type ";"                 { $$ = BUILD.statement(ast::Param{$2, $4, nullptr}, @$); }
| "param" identifier ":" type "=" expr ";"        { $$ = BUILD.statement(ast::Param{$2, $4, $6}, @$); }
| "input" identifier ":" type annotations ";"     { auto notes = $5; notes.type = $4;
                                                    $$ = BUILD.statement(ast::Input{$2, std::move(notes)}, @$); }
| "output" target annotations every ";"           { $$ = BUILD.output({$2, $3, {}, $4, {}}, @$); }
| "output" target ":" type annotations every ";"  { auto notes = $5; notes.type = $4;
                                                    $$ = BUILD.output({$2, std::move(notes), {}, $6, {}}, @$); }
| "output" target annotations definition every ";"
                                                  { $$ = BUILD.output({$2, $3, $4, $5, {}}, @$); }
| "output" target ":" type annotations definition every ";"
                                                  { auto notes = $5; notes.type = $4;
                                                    $$ = BUILD.output({$2, std::move(notes), $6, $7, {}}, @$); }
| let_or_var target annotations definition ";"    { $$ = BUILD.let({$1, $2, $3, $4}, @$); }
| let_or_var target ":" type annotations definition ";"
                                                  { auto notes = $5; notes.type = $4;
                                                    $$ = BUILD.let({$1, $2, std::move(notes), $6}, @$); }
| let_or_var "(" declared "," declared_names ")" tuple_definition ";"
                                                  { auto names = $5; names.insert(names.begin(), $3);
                                                    $$ = BUILD.tuple_let($1, std::move(names), $7, @$); }
| postfix definition ";"                          { $$ = BUILD.assign($1, $2, @$); }
| "(" expr "," exprs ")" tuple_definition ";"     { auto targets = $4; targets.insert(targets.begin(), $2);
                                                    $$ = BUILD.tuple_assign(std::move(targets), $6, @$); }
| postfix ";"                                     { $$ = BUILD.expression_statement($1, @$); }
| "return" value suffixes ";"                     { $$ = BUILD.statement(ast::Return{$2, $3}, @$); }
| "for" ranges block                              { $$ = BUILD.statement(ast::For{$2, $3}, @$); }
| "for" error block                               { yyerrok; }
| "while" expr block                              { $$ = BUILD.statement(ast::While{$2, $3}, @$); }
| "while" error block                             { yyerrok; }
| if_chain                                        { $$ = BUILD.statement($1, @$); }
| if_chain "else" block                           { auto chain = $1; chain.else_body = $3;
                                                    $$ = BUILD.statement(std::move(chain), @$); }
| "fn" signature block                            { auto s = $2;
                                                    $$ = BUILD.statement(
                                                        ast::Function{s.name, s.parameters, s.results, $3, s.type_parameters},
                                                        @$); }
| "fn" signature "=" expr ";"                     { auto s = $2;
                                                    $$ = BUILD.statement(
                                                        ast::Function{s.name, s.parameters, s.results, $4, s.type_parameters},
                                                        @$); }
| "fn" error block                                { yyerrok; }
| "fn" error ";"                                  { yyerrok; }
| "monoid" signature "{" monoid_fields "}"        { $$ = BUILD.monoid($2, $4, @$); }
| "monoid" error block                            { yyerrok; }
| "extern" STRING "{" extern_items "}"            { auto e = $4; e.header = $2; e.header_range = @2;
                                                    $$ = BUILD.statement(std::move(e), @$); }
| "extern" error "{" extern_items "}"             { yyerrok; }
| "storage" identifier "(" identifiers ")" "{" storage_fields "}"
                                                  { $$ = BUILD.storage($2, $4, $7, @$); }
| "storage" error block                           { yyerrok; }
;

let_or_var: "let" { $$ = false; } | "var" { $$ = true; };

identifier:
  NAME                                            { $$ = {$1, @1}; }
| BY                                              { $$ = {$1, @1}; }
| OUT                                             { $$ = {$1, @1}; }
| KERNEL                                          { $$ = {$1, @1}; }
| TILE                                            { $$ = {$1, @1}; }
| EVERY                                           { $$ = {$1, @1}; }
;

identifiers:
  identifier                                      { $$.push_back($1); }
| identifiers "," identifier                      { $$ = append($1, $3); }
;

declared:
  identifier                                      { $$ = {$1, {}}; }
| identifier ":" type                             { $$ = {$1, $3}; }
;

declared_names:
  declared                                        { $$.push_back($1); }
| declared_names "," declared                     { $$ = append($1, $3); }
;

path:
  identifier                                      { $$ = $1; }
| path "." identifier                             { auto p = $1; p.name += "." + $3.name; $$ = std::move(p); }
;

target:
  identifier                                      { $$ = BUILD.target($1, {}, @$); }
| identifier "[" subscripts "]"                   { $$ = BUILD.target($1, $3, @$); }
;

if_chain:
  "if" expr block                                 { $$.arms.push_back({$2, $3}); }
| "if" error block                                { $$.arms.push_back({BUILD.boolean(false, @2), $3}); yyerrok; }
| if_chain "else" "if" expr block                 { auto c = $1; $$ = BUILD.with_arm(std::move(c), {$4, $5}, @3); }
| if_chain "else" "if" error block                { auto c = $1;
                                                  $$ = BUILD.with_arm(std::move(c), {BUILD.boolean(false, @4), $5}, @3);
                                                    yyerrok; }
;

/* --- annotations of a declared name ------------------------------------------------------------------------------- */

annotations:
  %empty                                          { }
| annotations "tile" "(" exprs ")"                { $$ = BUILD.with_tile($1, {$4, @2.to(@5)}); }
| annotations "storage" identifier "(" exprs ")"  { $$ = BUILD.with_storage($1, {$3, $5, @2.to(@6)}); }
;

definition: assign_op value suffixes              { $$ = BUILD.definition($1, $2, $3); };

tuple_definition: "=" value suffixes              { $$ = {BUILD.assign_op(ast::AssignKind::kSet, @1), $2, $3}; };

value: expr { $$ = $1; } | tuple { $$ = $1; };

tuple: "(" expr "," exprs ")"                     { auto all = $4; all.insert(all.begin(), $2);
                                                    $$ = BUILD.tuple(std::move(all), @$); };

assign_op:
  "="                                             { $$ = BUILD.assign_op(ast::AssignKind::kSet, @1); }
| "+="                                            { $$ = BUILD.assign_op(ast::AssignKind::kAdd, @1); }
| "-="                                            { $$ = BUILD.assign_op(ast::AssignKind::kSub, @1); }
| "*="                                            { $$ = BUILD.assign_op(ast::AssignKind::kMul, @1); }
| "/="                                            { $$ = BUILD.assign_op(ast::AssignKind::kDiv, @1); }
| "&="                                            { $$ = BUILD.assign_op(ast::AssignKind::kBitAnd, @1); }
| "|="                                            { $$ = BUILD.assign_op(ast::AssignKind::kBitOr, @1); }
| "^="                                            { $$ = BUILD.assign_op(ast::AssignKind::kBitXor, @1); }
| identifier "="                                  { $$ = BUILD.monoid_assign($1, @2); }
;

suffixes:
  %empty                                          { }
| suffixes "where" expr                           { $$ = BUILD.with_where($1, {$3, @2.to(@3)}); }
| suffixes "for" ranges                           { $$ = BUILD.with_for($1, {$3, @2.to(@3)}); }
;

every: %empty { } | "every" expr                  { $$ = $2; };

ranges:
  range                                           { $$.push_back($1); }
| ranges "," range                                { $$ = append($1, $3); }
;

range: identifier "in" expr ".." expr optional_step { $$ = {$1, $3, $5, $6, @$}; };

optional_step: %empty { } | "by" expr             { $$ = $2; };

/* --- types -------------------------------------------------------------------------------------------------------- */

type:
  TYPE                                            { $$ = BUILD.type($1, false, {}, @$); }
| TYPE "[" dimensions "]"                         { $$ = BUILD.type($1, false, $3, @$); }
| "sparse" TYPE "[" dimensions "]"                { $$ = BUILD.type($2, true, $4, @$); }
;

types:
  type                                            { $$.push_back($1); }
| types "," type                                  { $$ = append($1, $3); }
;

dimensions:
  dimension                                       { $$.push_back($1); }
| dimensions "," dimension                        { $$ = append($1, $3); }
;

dimension:
  extent                                          { $$ = {$1, false, @$}; }
| "..."                                           { $$ = {nullptr, false, @$}; }
| "sparse" extent                                 { $$ = {$2, true, @$}; }
;

extent:
  extent_term                                     { $$ = $1; }
| extent "+" extent_term                          { $$ = BUILD.binary(ast::BinaryOp::kAdd, $1, $3, @2); }
| extent "-" extent_term                          { $$ = BUILD.binary(ast::BinaryOp::kSub, $1, $3, @2); }
;

extent_term:
  extent_factor                                   { $$ = $1; }
| extent_term "*" extent_factor                   { $$ = BUILD.binary(ast::BinaryOp::kMul, $1, $3, @2); }
| extent_term "/" extent_factor                   { $$ = BUILD.binary(ast::BinaryOp::kDiv, $1, $3, @2); }
| extent_term "%" extent_factor                   { $$ = BUILD.binary(ast::BinaryOp::kMod, $1, $3, @2); }
;

extent_factor:
  INTEGER                                         { $$ = BUILD.integer($1, @1); }
| identifier                                      { $$ = BUILD.name($1); }
| "-" extent_factor                               { $$ = BUILD.unary(ast::UnaryOp::kNegate, $2, @$); }
| "(" extent ")"                                  { $$ = BUILD.parenthesised($2, @$); }
;

/* --- expressions, loosest first ----------------------------------------------------------------------------------- */

exprs:
  expr                                            { $$.push_back($1); }
| exprs "," expr                                  { $$ = append($1, $3); }
;

optional_expr: %empty { } | expr                  { $$ = $1; };

expr:
  disjunction                                     { $$ = $1; }
| "if" expr "then" expr "else" expr               { $$ = BUILD.conditional($2, $4, $6, @$); }
;

disjunction:
  conjunction                                     { $$ = $1; }
| disjunction "||" conjunction                    { $$ = BUILD.binary(ast::BinaryOp::kOr, $1, $3, @2); }
;

conjunction:
  comparison                                      { $$ = $1; }
| conjunction "&&" comparison                     { $$ = BUILD.binary(ast::BinaryOp::kAnd, $1, $3, @2); }
;

comparison:
  bitor                                           { $$ = $1; }
| comparison comparison_op bitor                  { $$ = BUILD.comparison($2, $1, $3, @2); }
;

comparison_op:
  "==" { $$ = ast::BinaryOp::kEq; } | "!=" { $$ = ast::BinaryOp::kNe; }
| "<"  { $$ = ast::BinaryOp::kLt; } | "<=" { $$ = ast::BinaryOp::kLe; }
| ">"  { $$ = ast::BinaryOp::kGt; } | ">=" { $$ = ast::BinaryOp::kGe; }
;

bitor:
  bitxor                                          { $$ = $1; }
| bitor "|" bitxor                                { $$ = BUILD.binary(ast::BinaryOp::kBitOr, $1, $3, @2); }
;

bitxor:
  bitand                                          { $$ = $1; }
| bitxor "^" bitand                               { $$ = BUILD.binary(ast::BinaryOp::kBitXor, $1, $3, @2); }
;

bitand:
  shift                                           { $$ = $1; }
| bitand "&" shift                                { $$ = BUILD.binary(ast::BinaryOp::kBitAnd, $1, $3, @2); }
;

shift:
  sum                                             { $$ = $1; }
| shift "<<" sum                                  { $$ = BUILD.binary(ast::BinaryOp::kShiftLeft, $1, $3, @2); }
| shift ">>" sum                                  { $$ = BUILD.binary(ast::BinaryOp::kShiftRight, $1, $3, @2); }
;

sum:
  product                                         { $$ = $1; }
| sum "+" product                                 { $$ = BUILD.binary(ast::BinaryOp::kAdd, $1, $3, @2); }
| sum "-" product                                 { $$ = BUILD.binary(ast::BinaryOp::kSub, $1, $3, @2); }
;

product:
  unary                                           { $$ = $1; }
| product "*" unary                               { $$ = BUILD.binary(ast::BinaryOp::kMul, $1, $3, @2); }
| product "/" unary                               { $$ = BUILD.binary(ast::BinaryOp::kDiv, $1, $3, @2); }
| product "%" unary                               { $$ = BUILD.binary(ast::BinaryOp::kMod, $1, $3, @2); }
| product "@" unary                               { $$ = BUILD.binary(ast::BinaryOp::kMatMul, $1, $3, @2); }
;

unary:
  power                                           { $$ = $1; }
| "-" unary                                       { $$ = BUILD.unary(ast::UnaryOp::kNegate, $2, @$); }
| "!" unary                                       { $$ = BUILD.unary(ast::UnaryOp::kNot, $2, @$); }
| "~" unary                                       { $$ = BUILD.unary(ast::UnaryOp::kInvert, $2, @$); }
;

power:
  operand                                         { $$ = $1; }
| operand "**" exponent                           { $$ = BUILD.binary(ast::BinaryOp::kPow, $1, $3, @2); }
;

exponent:
  power                                           { $$ = $1; }
| "-" exponent                                    { $$ = BUILD.unary(ast::UnaryOp::kNegate, $2, @$); }
;

operand: postfix                                  { $$ = BUILD.finish($1); };

postfix:
  primary                                         { $$ = BUILD.postfix($1); }
| postfix "[" subscripts "]"                      { $$ = BUILD.subscripted($1, $3, @$); }
| postfix "(" arguments ")"                       { $$ = BUILD.called($1, $3, @$); }
| postfix "'"                                     { $$ = BUILD.transposed($1, @$); }
;

primary:
  identifier                                      { $$ = BUILD.name($1); }
| INTEGER                                         { $$ = BUILD.integer($1, @1); }
| FLOAT                                           { $$ = BUILD.floating($1, @1); }
| "inf"                                           { $$ = BUILD.floating("inf", @1); }
| "nan"                                           { $$ = BUILD.floating("nan", @1); }
| "true"                                          { $$ = BUILD.boolean(true, @1); }
| "false"                                         { $$ = BUILD.boolean(false, @1); }
| "(" expr ")"                                    { $$ = BUILD.parenthesised($2, @$); }
| TYPE "(" arguments ")"                          { $$ = BUILD.cast($1, $3, @$); }
| "where" "(" arguments ")"                       { $$ = BUILD.call({"where", @1}, $3, @$); }
| "sparse" "(" arguments ")"                      { $$ = BUILD.call({"sparse", @1}, $3, @$); }
| "[" exprs "]"                                   { $$ = BUILD.array($2, @$); }
| "[" "]"                                         { $$ = BUILD.array({}, @$); }
;

arguments: %empty { } | argument_list             { $$ = $1; };

argument_list:
  argument                                        { $$.push_back($1); }
| argument_list "," argument                      { $$ = append($1, $3); }
;

argument:
  expr                                            { $$ = {{}, $1, @$}; }
| lambda                                          { $$ = {{}, $1, @$}; }
| identifier "=" lambda                           { $$ = {$1, $3, @$}; }
| STRING                                          { $$ = {{}, BUILD.string($1, @1), @$}; }
| identifier "=" value                            { $$ = {$1, $3, @$}; }
;

subscripts:
  subscript                                       { $$.push_back($1); }
| subscripts "," subscript                        { $$ = append($1, $3); }
;

subscript:
  expr                                            { $$ = {ast::IndexSubscript{$1}, nullptr, @$}; }
| optional_expr ":" optional_expr                 { $$ = {ast::SliceSubscript{$1, $3, nullptr}, nullptr, @$}; }
| optional_expr ":" optional_expr ":" optional_expr
                                                  { $$ = {ast::SliceSubscript{$1, $3, $5}, nullptr, @$}; }
| "..."                                           { $$ = {ast::EllipsisSubscript{}, nullptr, @$}; }
| identifier "where" expr                         { $$ = {
                                                      ast::ReductionIndex{$1, nullptr, nullptr, nullptr, @1}, $3, @$}; }
| range                                           { auto r = $1;
                                                    $$ = {
                                              ast::ReductionIndex{r.name, r.lower, r.upper, r.step, @1}, nullptr, @$}; }
| range "where" expr                              { auto r = $1;
                                                    $$ = {
                                                   ast::ReductionIndex{r.name, r.lower, r.upper, r.step, @1}, $3, @$}; }
;

/* --- functions, monoids, extern, storage -------------------------------------------------------------------------- */

signature: identifier type_parameters "(" parameters ")" results  { $$ = {$1, $4, $6, $2}; };

type_parameters: %empty { } | "[" type_parameter_list "]"  { $$ = BUILD.type_parameters($2); };

type_parameter_list:
  type_parameter                                  { $$.push_back($1); }
| type_parameter_list "," type_parameter          { $$ = append($1, $3); }
;

type_parameter:
  TYPE                                            { $$ = BUILD.type_parameter({$1, @1}, {}); }
| TYPE ":" identifier                             { $$ = BUILD.type_parameter({$1, @1}, $3); }
;

results: %empty { } | required_results            { $$ = $1; };

required_results:
  "->" type                                       { $$.push_back($2); }
| "->" "(" types ")"                              { $$ = $3; }
;

function_type: "fn" "(" optional_types ")" required_results
                                                  { $$ = {$3, $5, @$}; };

optional_types: %empty { } | types                { $$ = $1; };

lambda:
  "fn" "(" parameters ")" "=" expr                { $$ = BUILD.lambda($3, $6, @1, @$); }
| "fn" "(" parameters ")" block                   { $$ = BUILD.lambda($3, $5, @1, @$); }
;

default_value: %empty { } | "=" expr { $$ = $2; } | "=" lambda { $$ = $2; };

parameters: %empty { } | parameter_list           { $$ = $1; };

parameter_list:
  parameter                                       { $$.push_back($1); }
| parameter_list "," parameter                    { $$ = append($1, $3); }
;

parameter:
  identifier default_value                        { $$ = {$1, {}, {}, false, $2}; }
| identifier ":" type default_value               { $$ = {$1, $3, {}, false, $4}; }
| identifier ":" "literal" type default_value     { $$ = {$1, $4, {}, true, $5}; }
| identifier ":" function_type default_value      { $$ = {$1, {}, $3, false, $4}; }
;

monoid_fields:
  %empty                                          { }
| monoid_fields identifier "=" expr ";"           { $$ = append($1, MonoidField{$2, $4}); }
| monoid_fields error ";"                         { $$ = append($1, MonoidField{}); yyerrok; }
;

extern_items:
  %empty                                          { }
| extern_items "fn" signature ";"                 { auto e = $1; auto s = $3;
                                                    e.items.push_back(
                                                       ast::ExternFunction{s.name, s.parameters, s.results, @2.to(@4)});
                                                    $$ = std::move(e); }
| extern_items "kernel" identifier "(" kernel_parameters ")" ";"
                                                  { auto e = $1;
                                                    e.items.push_back(ast::ExternKernel{$3, $5, @2.to(@7)});
                                                    $$ = std::move(e); }
| extern_items error ";"                          { $$ = $1; yyerrok; }
;

kernel_parameters:
  kernel_parameter                                { $$.push_back($1); }
| kernel_parameters "," kernel_parameter          { $$ = append($1, $3); }
;

kernel_parameter:
  identifier ":" "in" type                        { $$ = {$1, false, $4}; }
| identifier ":" "out" type                       { $$ = {$1, true, $4}; }
;

storage_fields:
  %empty                                          { }
| storage_fields postfix ";"                      { $$ = append($1, StorageField{$2, nullptr, {}, @2.to(@3)}); }
| storage_fields postfix "=" value suffixes ";"   { $$ = append($1, StorageField{$2, $4, $5, @2.to(@6)}); }
| storage_fields error ";"                        { $$ = append($1, StorageField{}); yyerrok; }
;

%%

void tdsl::frontend::GeneratedParser::report_syntax_error(const context& yyctx) const {
  constexpr int kMaximum = static_cast<int>(symbol_kind::YYNTOKENS);
  std::vector<symbol_kind_type> kinds(static_cast<std::size_t>(kMaximum));
  const int count = yyctx.expected_tokens(kinds.data(), kMaximum);
  std::vector<std::string> expected;
  for (int i = 0; i < count; ++i) {
    expected.emplace_back(symbol_name(kinds[static_cast<std::size_t>(i)]));
  }
  driver.syntax_error(std::move(expected));
}

void tdsl::frontend::GeneratedParser::error(const location_type& range, const std::string& message) {
  driver.internal_error(range, message);
}
