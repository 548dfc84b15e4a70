// Package rules is what can be said: the model of a configuration, the tables
// of methods and stopping rules, and the vocabulary of the expressions that
// both are written in. It holds data, and no expression is evaluated here.
//
// To see how an API is paged, read the table [Methods] (method.go), then
// [SharedStops] (stop.go); [Context] (context.go) holds the words they are
// written in, beside the functions of package compile. A configuration is read by [ParseJSON] and
// [Decode]; [Config.Lower] turns it into a list of [Rule] a job, and nothing
// else. Package compile takes it from there.
package rules
