// Package php has the value conversions of the keboola dialect.
//
// The reference implementation is written in PHP, and the configurations of its
// users must behave the same here. The package has the conversions that it applies:
// emptiness ([Empty]), casts ([Int], [Bool], [String]), comparison with a count
// ([Number]) and of texts ([Compare]), texts as times ([StrToTime]), query strings
// and URLs ([BuildQuery], [ParseQuery], [MergeURL]) and JSON ([EncodeJSON], [EncodedLen]);
// and the functions that configurations may call ([Functions]).
//
// They follow PHP 7.4, which the reference runs on. Where PHP 8 differs, the function
// says so. All functions are pure: no clock, no locale, no I/O.
//
// PHP has two forms of a JSON object. The reference decodes the objects of a
// configuration to arrays and those of a response to objects, and the two differ: the
// empty array is empty, the empty object is not. Where this matters there are two
// functions ([Empty] and [EmptyConfig]), or the Go type distinguishes them
// ([EncodeJSON]).
package php
