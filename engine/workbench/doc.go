// Package workbench answers the questions of people who write a configuration: what is wrong and how to fix it,
// what can be typed here, what a word means, which rules apply, what they do on each page, and what happens if
// the API misbehaves. Editors and web pages are built on it, so its types are also their JSON.
//
// A [Workbench] opens a text as a [Document], which is immutable: [Document.With] returns another one after an
// edit. While the new text does not compile, the results of the last text that compiled are used. The package
// makes no requests and reads no files. The pages of a run come from a [Source]: a recording, a built-in case, a
// model of the API, or a transport that the caller passes.
//
// All positions are those of the language server protocol: lines and UTF-16 code units, both from zero.
// Secrets of the configuration and of responses are not in any result.
//
// The files, in the order in which they are best read:
//
//   - workbench.go and document.go open a text; position.go has its positions. Package internal/syntax parses it
//     to a tree, even if it is malformed.
//   - spot.go finds the node at a position, and lex.go the part of an expression there; names.go has the names that
//     the configuration defines, and samples.go the shapes of recorded responses.
//   - completion.go (keys and values), completion_expression.go, hover.go, references.go, symbols.go, inlays.go,
//     lenses.go and format.go answer editors.
//   - diagnostics.go and explain.go return the mistakes that the engine finds, and its explanation of the rules.
//     secrets.go finds the secrets in the text, and sample.go makes a test to start from.
//   - source.go, model.go, run.go, exchange.go and response.go run it, and show each page; items.go has the shape of
//     its items, and mend.go makes the changes that stress proposes.
//   - paths.go has the paths of the values of a response, and the rules that read them; json.go walks through the
//     text of a response.
//   - error.go has the errors that editors and web pages show.
package workbench
