// Package importer turns descriptions of APIs that other programs read into configurations. A
// package below it reads one format to the intermediate form ([Source]), and [Write] turns the form
// into configurations that a person would have written, with tests, and a [Report] that grades each
// stream.
//
// Read format.go first (the types that callers use), then form.go (the intermediate form) and write.go, which
// makes configurations of it: job.go and pagination.go write each stream, share.go what several have in common,
// input.go the inputs, tests.go the tests, and comment.go the comment at the top. names.go, document.go, jsonpath.go,
// list.go and setting.go help the packages of the formats; of those, odata is the shortest. In the others, a reader
// reads a document, and a translation makes one stream of it.
//
// # Decisions
//
// The form has the concepts of configurations: jobs with variables, pagination by its kind, fields.
// So a reader interprets a document, and the writer decides how that is written best. A reader translates
// the expressions of its format; the writer never looks into an expression.
//
// A configuration is loaded and its tests are run before it is written, so that nothing leaves the
// package that check refuses. A stream that does not pass is refused, with the reason.
package importer
