// Package language is the language of rules: the expression language, the page context
// ([rules.Context]) and a set of functions. It is the only package that imports the expression
// language, so all that is known about a syntax tree is asked for here.
//
// A [Compiler] parses each source, checks its names and types, derives the values that it reads
// ([Read]), rewrites it so that absent values do not fail it and its cost is metered, and
// compiles it. A [Machine] evaluates an [Expression]. A [Prover] tells, without a page, which
// numbers an expression can have, and whether a condition can be true.
//
// One walk over a tree finds what it reads. Which paths of the items are read is found by another
// one (itemUse), because it rewrites the tree as it goes, and what an outer call needs of the items
// decides how an inner one is rewritten.
//
// # Decisions
//
// Operators on values whose kind is known only at run time are our own: those of the
// expression language fail on nil, and round long integers. So are its functions, which cannot
// be interrupted, panic on values of another kind, compare every pair in uniq, and leave
// values on the stack when they search backwards. Every function charges a [Machine]'s meter,
// which reads the clock and the context. A JSONPath is parsed by its library and evaluated
// here, for the same reason.
//
// Rules see the items of a page as columns. The paths that an expression reads of items are
// found, and the name items is replaced by calls; a column is decoded when a rule reads it. A
// predicate that compares one field with a value is a loop over the column, and any other is
// interpreted for each item. An expression that is not understood so far reads all of every
// item.
package language
