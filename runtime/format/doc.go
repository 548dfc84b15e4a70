// Package format converts response bodies of other formats to JSON, so that rules, limits and
// guards apply to one form: NDJSON and CSV become a list, XML an object. The result is written to a
// [spool.Buffer], so that a large body needs little memory.
//
// Read convert.go first, which also converts NDJSON, then detect.go, csv.go and xml.go, whose ropes
// are in xml_heap.go.
//
// # Decisions
//
// The conversion costs another pass over the body, and a second temporary file for a large one;
// JSON responses do not pay for it. XML is read token by token. The values of a JSON member must be
// adjacent, but XML elements of one name need not be: so each name collects its elements in a rope,
// which moves to a temporary file when it is long.
package format
