// Package document reads JSON response bodies. One pass validates a body, removes insignificant
// whitespace, and finds the items and the values that rules read. The result is a valid document
// within the limits, or an error with its offset. Items keep all other bytes.
//
// Package scan makes that pass. In this package, read reader.go first, then locate.go, which finds the
// items, and document.go. paths.go, values.go and decode.go decode values, items.go passes items on,
// gather.go collects the items of several lists, located.go finds values in items for filter and fields, and
// edit.go changes items. digest.go and spelling.go compare pages, identity.go compares items, and columns.go compares their
// members as the columns of a table.
// arrival.go sums up the items of a document that goes to a file. nested.go, stray.go and suggest.go look
// for lists within items that go on, for errors in place of items, and for the existing path that is
// nearest to a missing path.
//
// # Decisions
//
// The package has its own decoder: the scanner has validated the values already, and libraries
// misread some of them (long integers, surrogates, numbers with an exponent). If a key occurs twice in
// an object, the last value counts, as in most libraries. The package is not called page, because that
// is the usual name of a variable that holds a page.
package document
