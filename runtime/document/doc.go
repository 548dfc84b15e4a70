// Package document reads JSON response bodies. One pass validates a body, removes
// insignificant whitespace and finds the items and the values that rules read. The
// result is one valid document within the limits, or an error with its offset;
// items keep all other bytes.
//
// Read reader.go first, which the loop calls, and document.go; then the pass:
// scan.go, text.go, number.go, rootlists.go and pathtree.go. project.go and
// decode.go make values, items.go passes items on, digest.go and spelling.go
// compare pages.
package document
