// Package format turns response bodies of other formats into JSON, so that rules, limits
// and guards have one form to work on: NDJSON and CSV become a list, XML an object. The
// result is written to a [spool.Buffer], so a large body needs little memory.
//
// Read convert.go first, then detect.go and one file for each format: lines.go, csv.go
// and xml.go, which uses rope.go.
package format
