// Package language is the language of rules: the expression language, the page context
// ([rules.Context]) and a set of functions. It is the only package that imports the expression
// language, so all questions about a syntax tree are answered here.
//
// A [Compiler] parses each source, checks its names and types, derives the values that it reads
// ([Read]), rewrites it so that absent values do not fail it and its cost is metered, and
// compiles it. A [Machine] evaluates an [Expression]. A [Prover] tells, without a page, which
// numbers an expression can have, and whether a condition can be true.
//
// The names of the files begin with their groups, in the order of the life of an expression:
//
//   - language.go sets up the expression language: its parser, its type checker and its functions.
//   - source*.go take a source from text to a program. source_mistakes.go and source_fault.go
//     explain the mistakes in a source.
//   - reads*.go find the values that an expression reads, and read the same values of a page.
//     reads_item_use.go finds the paths that it reads of the items. It is a walk of its own,
//     because it rewrites the tree as it goes, and an inner call is rewritten in a way that
//     depends on the outer one.
//   - rewrite*.go rewrite the tree to calls of the functions in eval_internal.go.
//   - eval*.go do the work of these functions; eval_meter.go limits it.
//   - rewrite_lack.go, eval_lack.go and expression_lack.go make a rule fail that would lose items because a
//     kept value or an input is nil.
//   - library*.go are the table of the functions of the expression language, with their bodies.
//   - function*.go are the tables of the functions that this package adds, with their bodies:
//     function_builtins.go, and function_php.go for dialect keboola. function_user.go calls the
//     functions of a program.
//   - expression*.go evaluate expressions and answer questions about their source; prove.go proves, and
//     inwords.go describes. rule_error.go has the error of a rule that failed.
//
// # Decisions
//
// Operators on values whose kind is known only at run time are our own, because the operators of the
// expression language fail on nil, and round long integers. Its functions are replaced, too: they
// cannot be interrupted, panic on values of another kind, compare every pair in uniq, and leave
// values on the stack when they search backwards. Every function charges a [Machine]'s meter,
// which reads the clock and the context, and ends the evaluation by a panic that the machine of
// the expression language recovers: so no function passes on an error of the meter. A JSONPath
// is parsed by its library and evaluated here, for the same reason.
//
// Rules see the items of a page as columns. The paths that an expression reads of items are
// found, and the name items is replaced by calls; a column is decoded when a rule reads it. A
// predicate that compares one field with a value is a loop over the column, and any other predicate
// is interpreted for each item. If the paths cannot be found, complete items are decoded.
package language
