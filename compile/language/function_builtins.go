package language

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// builtins is the table of the functions that this package adds to the expression language for all
// dialects. [phpBuiltins] has the functions of dialect keboola. The examples see the body
// {"meta": {"next": "p2", "total": 25}, "done": "no", "flags": []}.
var builtins = []function{
	documented(`at([v, ]"a.b")`, `at("meta.next")`, `"p2"`,
		"the value at a path of the body, or of v, nil when absent; `\\.` is a dot in a key, a number is an index of a list",
		function{types: types(func(string) any { return nil }, func(any, string) any { return nil }), access: valueAtPath}),
	documented(`has([v, ]"a.b")`, `has("meta.prev")`, `false`,
		"whether the body, or v, has the path, even if its value is null",
		function{types: types(func(string) bool { return false }, func(any, string) bool { return false }), access: presenceOfPath}),
	documented(`truthy(v)`, `truthy(body.done)`, `true`,
		"the specification's boolean (2.2): false, 0, null, \"0\" and [] are false, every other value is true",
		function{types: types(func(any) bool { return false }), call: unary(value.Truthy), toBoolean: true}),
	documented(`empty(v)`, `empty(body.meta.prev)`, `true`,
		"the specification's empty value (3.1): absent, null, \"\" or false",
		function{types: types(func(any) bool { return false }), call: unary(value.Empty)}),
	documented(`number(v)`, `number("25") + 1`, `26`,
		"v as a number: a numeric string is converted, a number or nil is returned unchanged, and any other value fails the rule",
		function{types: types(func(any) any { return nil }), call: unaryOrError(number)}),
	documented(`text(v)`, `text(body.meta.total)`, `"25"`,
		"a scalar as it is sent: numbers with all their digits, less zeros at the end of a fraction, times as RFC 3339, nil as nil; "+
			"a list or an object fails the rule",
		function{types: types(func(any) any { return nil }), call: unaryOrError(text)}),
	documented(`query(url[, name])`, `query("/x?page=2&q=a", "page")`, `"2"`,
		"the value of a parameter in a URL or query string, nil when absent; without name all parameters, as an object",
		function{types: types(func(any, ...string) any { return nil }), call: query, grows: 16}),
	documented(`greatest(items, "id"[, v])`, `greatest([{"id": 3}, {"id": 7}], "id", 5)`, `7`,
		"the greatest of v and the values at a path in the items: numbers, also in texts, compared as numbers, times as times, and other "+
			"texts as texts; "+
			"both together fail the rule, unless all are identifiers of one length, and so does an item without the path",
		function{types: types(func(any, string, ...any) any { return nil }), call: extreme(identifier, 1), ofItems: true}),
	documented(`least(items, "id"[, v])`, `least([{"id": 3}, {"id": 7}], "id", 5)`, `3`,
		"the least of v and the values at a path in the items: numbers, also in texts, compared as numbers, times as times, and other "+
			"texts as texts; "+
			"both together fail the rule, unless all are identifiers of one length, and so does an item without the path",
		function{types: types(func(any, string, ...any) any { return nil }), call: extreme(identifier, -1), ofItems: true}),
	documented(`latestOf(items, "at"[, v[, layout]])`,
		`latestOf([{"at": "2026-03-01"}, {"at": "N/A"}, {}], "at", "2026-02-01")`, `"2026-03-01"`,
		"the greatest of v and the values at a path in the items: of the times or, if there is none, of the numbers (also in "+
			"texts), or else of the texts; "+
			"a date of an unknown form that does not sort as a text, such as 31/12/2025, fails the rule, and so do numbers "+
			"beside other texts, save for words such as N/A and identifiers of one length. "+
			"With a layout (or time, unix, unixms), its form is known, too, and texts that are not dates are left out",
		function{types: types(func(any, string, ...any) any { return nil }), call: latestOf, ofItems: true, lenient: true}),
	documented(`earlier(v, lag[, layout])`, `earlier("2026-03-01T00:30:00Z", "1h")`, `"2026-02-28T23:30:00Z"`,
		"a time less a length such as 1h, 7d or 1mo, or a number less a number, with the zeros before it; "+
			"if v is nil, so is the result, and a lag that is nil is 0. "+
			"A time keeps its form unless a layout is given, which shows how 2 January 2006 at 15:04:05 is written; "+
			"if the lag is a length of time, or a layout is given, a number is a Unix time",
		function{types: types(func(any, any, ...any) any { return nil }), call: earlier}),
	documented(`jsonpath("$..x")`, `jsonpath("$.meta.*")`, `["p2",25]`,
		"the values that a JSONPath selects in the body, as a list",
		function{types: types(func(string) any { return nil }), access: searchByPath}),
	documented(`segment(v)`, `segment("a/b c")`, `"a%2Fb%20c"`,
		"v as one segment of a path, or one value of a query: everything but letters, digits and -._~ is percent-encoded, "+
			"as in endpoint: orders/{order.id}; nil or an empty text fails the rule",
		function{types: types(func(any) any { return nil }), call: unaryOrError(segment), grows: 3}),
	documented(`reserved(v)`, `reserved("a/b c")`, `"a/b%20c"`,
		"v as a part of an address, whose reserved characters keep their meaning, as in endpoint: {+order.path}; "+
			"nil, an empty text, and a path with the segments . or .. fail the rule",
		function{types: types(func(any) any { return nil }), call: unaryOrError(reserved), grows: 3}),
	documented(`hmac(algorithm, key, v)`, `base64(hmac("sha256", "key", "text"))`, `"avqQRqlXnK0UOjhMG1ZLmiUNJ9b2pj+fIL86dZTJ4sY="`,
		"the keyed hash of v (RFC 2104), with md5, sha1, sha256, sha384 or sha512; as text it is its hexadecimal digits, "+
			"and base64, hex, hmac, rsa and the hashes take its bytes",
		function{types: types(func(string, any, any) any { return nil }), call: onKeyAndBytes("hmac", keyedHash), givesDigest: true}),
	documented(`rsa(algorithm, key, v)`, `base64(rsa("sha256", nil, "text"))`, `null`,
		"the signature of v with a private RSA key in PEM (RFC 8017, RSASSA-PKCS1-v1_5), with the hashes of hmac, as in the tokens of RS256; "+
			"as text it is its hexadecimal digits, and base64, hex, hmac, rsa and the hashes take its bytes; nil is nil",
		function{types: types(func(string, any, any) any { return nil }), call: onKeyAndBytes("rsa", rsaSignature), givesDigest: true}),
	hashFunction("md5", `"1cb251ec0d568de6a929b520c4aed8d1"`),
	hashFunction("sha1", `"372ea08cab33e71c02c651dbc83a474d32c676ea"`),
	hashFunction("sha256", `"982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"`),
	hashFunction("sha512", `"eaf2c12742cb8c161bcbd84b032b9bb98999a23282542672ca01cc6edd268f7d`+
		`ce9987ad6b2bc79305634f89d90b90102bcd59a57e7135b8e3ceb93c0597117b"`),
	documented(`base64(v)`, `base64(md5("text"))`, `"HLJR7A1WjeapKbUgxK7Y0Q=="`,
		"v in base64 (RFC 4648, 4): the bytes of a hash, or of a text",
		function{types: types(func(any) any { return nil }), call: onBytes(inBase64), grows: 2, takesBytes: true}),
	documented(`hex(v)`, `hex("text")`, `"74657874"`,
		"v in hexadecimal digits: the bytes of a hash, or of a text",
		function{types: types(func(any) any { return nil }), call: onBytes(inHex), grows: 2, takesBytes: true}),
}

// hashFunction returns the row of a hash, with the hash of "text".
func hashFunction(name, result string) function {
	return documented(name+"(v)", name+`("text")`, result,
		"the hash of v; as text it is its hexadecimal digits, and base64, hex, hmac, rsa and the hashes take its bytes",
		function{types: types(func(any) any { return nil }), call: hashed(name), givesDigest: true})
}

// documented returns a function with its documentation. Its name is that in the signature.
func documented(signature, example, result, doc string, f function) function {
	f.Name, _, _ = strings.Cut(signature, "(")
	f.Signature, f.Example, f.Result, f.Doc = signature, example, result, doc
	return f
}

func types(functions ...any) []reflect.Type {
	return lists.Map(functions, reflect.TypeOf)
}

// unary returns the body of a function of one value that cannot fail.
func unary[T any](f func(any) T) func(...any) (any, error) {
	return func(args ...any) (any, error) { return f(args[0]), nil }
}

// unaryOrError returns the body of a function of one value.
func unaryOrError(f func(any) (any, error)) func(...any) (any, error) {
	return func(args ...any) (any, error) { return f(args[0]) }
}

func text(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t, ok := value.Text(Sendable(v)); ok {
		return t, nil
	}
	return nil, fmt.Errorf("want a string or a number to send, got %s", KindOf(v))
}

func query(args ...any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	address, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("want a URL or a query string, got %s", KindOf(args[0]))
	}
	if err := requests.CheckURLLength(address); err != nil {
		return nil, err
	}
	params := requests.ParseQuery(address)
	if len(args) == 1 {
		return params, nil
	}
	v, _ := params.Get(args[1].(string))
	return v, nil
}

// extreme returns the body of greatest (sign 1) or least (sign -1). It compares the
// values at a path of the items, and an earlier value.
func extreme(read func(id any, place string) (any, error), sign int) func(args ...any) (any, error) {
	return func(args ...any) (any, error) {
		items, _ := args[0].([]any)
		keys := keypath.Split(args[1].(string))
		var best any
		if len(args) > 2 {
			best = args[2]
		}
		for i, item := range items {
			found, _, err := fieldAt(item, keys)
			id := must(read(must(found, err), fmt.Sprintf("item %d of the page: %s", i+1, args[1])))
			further, err := beyond(id, best, sign)
			if err != nil {
				return nil, fmt.Errorf("item %d of the page: %s: %w", i+1, args[1], err)
			}
			if further {
				best = id
			}
		}
		return best, nil
	}
}

// identifier accepts any number and any string.
func identifier(id any, place string) (any, error) {
	if _, isText := id.(string); !isText && !isNumber(id) {
		return nil, fmt.Errorf("%s is %s; an identifier is a number or a string", place, kindOrAbsent(id))
	}
	return id, nil
}

func kindOrAbsent(v any) string {
	if v == nil {
		return "absent"
	}
	return KindOf(v)
}

// beyond compares identifiers: as numbers if both are numbers or strings that hold numbers, and as times or strings if neither is, or if
// both have one form, as 650000000000000000000001 and 65000000000000000000000a have.
func beyond(id, best any, sign int) (bool, error) {
	if best == nil {
		return true, nil
	}
	a, errA := numberInID(id)
	b, errB := numberInID(best)
	isNumber, wasNumber := errA == nil, errB == nil
	x, isText := id.(string)
	y, wasText := best.(string)
	switch {
	case isText && wasText && saysNoValue(x) != saysNoValue(y) && (hasDigit(x) || hasDigit(y)):
		return false, fmt.Errorf("%s and %s cannot be compared; latestOf leaves out texts that say that there is no value",
			value.Preview(id), value.Preview(best))
	case isText && wasText && (!isNumber && !wasNumber || isNumber != wasNumber && haveOneForm(x, y)):
		order, areTimes := orderOfTimes(nil, x, y)
		if !areTimes {
			order = strings.Compare(x, y)
		}
		return order*sign > 0, nil
	case isNumber && wasNumber:
		return order(a, b)*sign > 0, nil
	}
	return false, fmt.Errorf("%s and %s cannot be compared; identifiers are either all numbers or all strings",
		value.Preview(id), value.Preview(best))
}
