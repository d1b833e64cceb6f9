" Vim syntax of TDSL, a language for tensor programs.
if exists("b:current_syntax")
  finish
endif

syntax keyword tdslDeclaration let var param input output import fn monoid extern storage kernel
syntax keyword tdslStatement return print assert
syntax keyword tdslRepeat for while in by every
syntax keyword tdslConditional if then else where
syntax keyword tdslModifier tile sparse out identity combine
syntax keyword tdslType bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 c64 c128
syntax keyword tdslConstant true false inf nan

" Built-in functions and reductions, where they are called.
syntax match tdslBuiltin "\v<(abs|sqrt|exp|log|log1p|expm1|pow|sin|cos|tan|tanh|erf|floor|ceil|round|sign|mod|isnan|isinf|sigmoid|relu|asin|acos|atan|atan2|sinh|cosh|asinh|acosh|atanh|hypot|cbrt|log2|log10|exp2|erfc|gamma|lgamma|digamma|copysign|real|imag|conj|arg|polar|popcount|trunc|clip|isfinite|isclose|allclose)>\ze\s*\("
syntax match tdslBuiltin "\v<(zeros|ones|full|eye|iota|random|randn|sprandom|concat|reshape|diag|trace|tril|triu|roll|flip|pad|outer)>\ze\s*\("
syntax match tdslBuiltin "\v<(linspace|zeros_like|ones_like|full_like|stack|tile|repeat|flatten|take|kron|diff|variance|std|median|quantile)>\ze\s*\("
syntax match tdslBuiltin "\v<(cumprod|cummax|cummin|searchsorted|interp|histogram|bincount|filter|nonzero|unique|groups|join|randint|permutation)>\ze\s*\("
syntax match tdslBuiltin "\v<(cumsum|sort|argsort|topk|size|nnz|dense|sparse|transpose|einsum|where|grad)>\ze\s*\("
syntax match tdslBuiltin "\v<(solve|cholesky|lu|qr|svd|eigh|eig|inv|det|lstsq|norm)>\ze\s*\("
syntax match tdslBuiltin "\v<(fft|ifft|fft2|ifft2|fftn|ifftn|rfft|irfft|fftfreq|rfftfreq|fftshift|ifftshift)>\ze\s*\("
syntax match tdslReduction "\v<(sum|prod|min|max|mean|any|all|count|argmin|argmax)>\ze\s*[\(\[]"
syntax match tdslReduction "\v<(min|max)>\ze\="

syntax match tdslNumber "\v<0x[0-9A-Fa-f_]+>|<0b[01_]+>"
syntax match tdslNumber "\v<\d(_?\d)*(\.\d(_?\d)*)?([eE][+-]?\d+)?>"
syntax match tdslOperator "[-+*/%@<>=!&|^~]"
syntax match tdslOperator "\.\."
syntax match tdslTranspose "\v[A-Za-z0-9_\)\]']@<='"

syntax region tdslString start=+"+ skip=+\\.+ end=+"+ oneline contains=tdslEscape
syntax match tdslEscape +\\[nt"\\]+ contained
syntax keyword tdslTodo TODO FIXME NOTE contained
syntax match tdslComment "//.*$" contains=tdslTodo,@Spell
syntax region tdslComment start="/\*" end="\*/" contains=tdslTodo,@Spell

highlight default link tdslDeclaration Keyword
highlight default link tdslStatement Statement
highlight default link tdslRepeat Repeat
highlight default link tdslConditional Conditional
highlight default link tdslModifier StorageClass
highlight default link tdslType Type
highlight default link tdslConstant Constant
highlight default link tdslBuiltin Function
highlight default link tdslReduction Function
highlight default link tdslNumber Number
highlight default link tdslOperator Operator
highlight default link tdslTranspose Operator
highlight default link tdslString String
highlight default link tdslEscape SpecialChar
highlight default link tdslTodo Todo
highlight default link tdslComment Comment

let b:current_syntax = "tdsl"
