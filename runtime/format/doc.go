// Package format turns response bodies of other formats into JSON, so that rules, limits
// and guards have one form to work on: NDJSON and CSV become a list, XML an object. The
// result is written to a [spool.Buffer], so a large body needs little memory.
//
// Read convert.go first, which also has NDJSON, then detect.go, csv.go and xml.go.
//
// # Decisions
//
// Writing JSON first costs another pass over the body, and a second temporary file for a large
// one; responses in JSON do not pay for it. XML is read token by token. The members of a JSON
// object must be together and XML elements need not be, so each name collects its elements in
// a rope, which moves to a temporary file when it is long.
package format
