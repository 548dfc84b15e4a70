// Package php holds the value conversions of the keboola dialect.
//
// The reference implementation is written in PHP, and its users' configurations
// must behave the same here; these are the conversions it applies: what counts
// as empty ([Empty]), casts ([Int], [Bool], [String]), comparison with a count
// ([Number]), times as text ([StrToTime]), query strings and URLs ([BuildQuery],
// [ParseQuery], [MergeURL]) and JSON ([EncodeJSON], [EncodedLen]).
//
// They follow PHP 7.4, which the reference runs on; where PHP 8 differs, the
// function says so. Everything here is pure: no clock, no locale, no I/O.
//
// PHP has two forms of a JSON object. The reference decodes a configuration's
// objects to arrays and a response's to objects, and they are not alike: the
// empty array is empty, the empty object is not. Where this matters there are
// two functions ([Empty] and [EmptyConfig]), or the Go type tells them apart
// ([EncodeJSON]).
package php
