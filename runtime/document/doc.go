// Package document reads JSON response bodies. One pass validates a body, removes
// insignificant whitespace and finds the items and the values that rules read. The
// result is one valid document within the limits, or an error with its offset;
// items keep all other bytes.
//
// Package scan is the pass. Here, read reader.go first, which the loop calls, and
// document.go. paths.go, values.go and decode.go make values, items.go passes items on,
// gather.go collects those of several lists, edit.go changes them, and digest.go
// compares pages.
//
// # Decisions
//
// Decoding is our own: the scanner has validated the values, and libraries misread some of
// them (long integers, surrogates, numbers with an exponent). The package is not called page,
// which is the name of every variable that holds one.
package document
