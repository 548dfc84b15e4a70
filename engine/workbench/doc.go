// Package workbench answers what somebody who writes a configuration asks: what is wrong with it and how to
// fix it, what may stand here, what a word means, what the rules are, what they do on each page of a list, and
// what happens when the API misbehaves. Editors and pages are built on it: its types are their JSON.
//
// A [Workbench] opens a text as a [Document], which never changes: after an edit, [Document.With] returns
// another one, and what was known of the earlier text answers as long as the new one does not compile. The
// package makes no requests and reads no files. The pages of a run come from a [Source]: a recording, a
// built-in case, a model of the API, or a transport that the caller passes.
//
// All positions are those of the language server protocol: lines and UTF-16 code units, both from zero.
// Secrets of the configuration and of responses are not in any result.
//
// The files, in the order in which they are best read:
//
//   - workbench.go and document.go open a text; position.go has its positions. Package internal/syntax reads it
//     as a tree, also if it is malformed.
//   - spot.go finds what stands at a place, and lex.go what stands at a place in an expression; names.go has the
//     names that the configuration gives, and samples.go the shapes of recorded responses.
//   - completion.go, hover.go, references.go, symbols.go, inlays.go, lenses.go and format.go answer editors.
//   - diagnostics.go and explain.go say what the engine says about it.
//   - source.go, model.go, run.go, exchange.go and response.go run it, and show each page; items.go has the shape of
//     its items, and mend.go makes the changes that stress proposes.
//   - paths.go has the paths of the values of a response, and the rules that read them.
//   - call.go is the package as calls by name, with JSON in and out.
package workbench
