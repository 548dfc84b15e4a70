// Package document reads JSON response bodies. In one pass it validates a body,
// finds the items and the values that rules read, and removes insignificant
// whitespace, so that items are passed on without being copied.
//
// Read reader.go first, which the loop calls for every response, then
// document.go and the pass itself: scan.go with text.go, number.go and
// rootlists.go. pathtree.go holds the paths to look for; project.go and decode.go
// make values of what was found; items.go, digest.go and spelling.go pass items
// on and compare pages.
//
// A body is one valid document within the limits, or an error with its offset.
// Items keep every byte that is not insignificant whitespace.
package document
