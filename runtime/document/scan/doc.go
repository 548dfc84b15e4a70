// Package scan validates JSON documents and notes where the values are that others
// look for. One pass of a [Scanner] over a document checks it, removes insignificant
// whitespace in place, separates the items of a list, and notes in rows of spans where
// the values at the paths of a [Tree] are: one row for the document, and one for each
// item. What it finds and the errors are the same as those of the slow reader in
// its tests, with which a fuzz target compares it.
//
// Read scan.go first, then tree.go, object.go and scalar.go. Two things make the scanner
// fast, and nothing depends on them: stops.go finds where strings end for 4 kB at a
// time, with the only assembly of the project, and prefix.go expects the keys of an object in
// the order in which they came before. walk.go reads valid documents for packages that
// know which value they want.
package scan
