// Package explain describes what compiled jobs do, for people and for programs, and how two
// configurations differ.
//
// [Explain] describes jobs. An [Explanation] is JSON with a schema; [Explanation.Text] writes it
// for people, [Explanation.Mermaid] draws it, and [Explanation.Notes] says what the parts of the
// configuration do. [Diff] compares two explanations.
//
// The first requests are made as a run makes them. A value that only a response can tell is a
// placeholder of letters and digits, which no encoding of an address or a body changes. At the end,
// the placeholders are replaced by phrases. If the requests were made from the phrases, each encoding
// would need a second writer.
package explain
