// Package compile turns rules into programs. It is the only package that
// imports the expression language.
//
// A [rules.Rule] is a source with an origin. [Rulesets] parses it, checks it
// against the page context ([rules.Context]), derives what it reads ([Read]),
// makes it safe on missing values (safe.go: a comparison with nil is false,
// arithmetic with nil is nil, integers keep all digits) and compiles it to an
// [Expression]. A [Job] is all expressions of one job; it never changes and may
// be shared between goroutines. [Explain] prints it, for people and programs.
package compile
