// Package rules models configurations: the tables of methods, guards and stopping
// rules, and the vocabulary of the expressions that they are written in. The package
// holds data; it evaluates no expression.
//
// To see how an API is paged, read the table of methods (method.go), then those of
// the guards (guard.go) and of the stopping rules that all methods share (stop.go).
// [Context] and the functions of package compile are what their expressions can name.
// [ParseJSON] and [Decode] read a configuration, and [Config.Lower] turns it into one
// list of [Rule] per job. Package compile compiles these lists.
package rules
