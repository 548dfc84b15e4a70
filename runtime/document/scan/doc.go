// Package scan validates JSON documents and locates values in them. One pass of a [Scanner] over a
// document checks it, removes insignificant whitespace in place, separates the items of a list, and
// notes the locations of the values at the paths of a [Tree] in rows of spans: one row for the
// document, and one for each item. A fuzz test compares its results and errors with the results and
// errors of a slow reader.
//
// Read scan.go first, then tree.go, object.go and scalar.go. A document may arrive in parts: wherever
// the data ends before the document, the functions of parts.go get more. Two parts of the package make
// the scanner fast and do not affect its results: stops.go finds the ends of strings in blocks of
// 4 kB, with the only assembly of the project (stops_amd64.go, and stops_other.go for other processors),
// and prefix.go expects the keys of an object in the order of earlier objects. walk.go reads valid
// documents for packages that know which value they need.
package scan
