// Package explain describes what compiled jobs do, for people and for programs, and how two
// configurations differ.
//
// [Explain] describes jobs. An [Explanation] is JSON with a schema; [Explanation.Text] writes it
// for people, [Explanation.Mermaid] draws it, and [Explanation.Notes] says what the parts of the
// configuration do. [Diff] compares two explanations.
//
// The first requests are made as a run makes them. What only a response can tell is a mark of
// letters and digits, which every encoding of an address and a body leaves as it is, and which is
// replaced by a phrase in the end. Parts with phrases would need a second writer of each encoding.
package explain
