package language

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// phpBuiltins is the table of functions of the dialect keboola: conversions of values, and
// the functions that configurations of the reference implementation may call.
var phpBuiltins = []function{
	documented(`phpTruthy(v)`, `phpTruthy("")`, `false`,
		"dialect keboola: the reference's boolean: nil, false, 0, \"\", \"0\" and [] are false, every other value is true",
		function{types: types(func(any) bool { return false }), call: unary(php.Truthy)}),
	documented(`phpEmpty(v)`, `phpEmpty(body.flags)`, `true`,
		"dialect keboola: the reference's empty value: nil, false, 0, \"\", \"0\" or []",
		function{types: types(func(any) bool { return false }), call: unary(php.Empty)}),
	documented(`phpInt(v)`, `phpInt("7 items")`, `7`,
		"dialect keboola: any value as an integer, as the reference converts it",
		function{types: types(func(any) any { return nil }), call: unary(php.Int)}),
	documented(`phpNumeric(v)`, `phpNumeric("1e2")`, `true`,
		"dialect keboola: whether the reference accepts v as a number",
		function{types: types(func(any) bool { return false }), call: unary(php.IsNumeric)}),
	documented(`phpTotal(v)`, `phpTotal("3 items")`, `3`,
		"dialect keboola: v as the reference compares a total with a count: nil, false and a text that does not begin with a number are 0",
		function{types: types(func(any) any { return nil }), call: unary(php.Number)}),
	documented(`phpQuery(v)`, `phpQuery("?a=1").a`, `"1"`,
		"dialect keboola: the parameters of a query string, as the reference parses it",
		function{types: types(func(any) any { return nil }), call: unaryOrError(phpQuery), grows: 64}),
	documented(`phpGreatest(items, "id"[, v])`, `phpGreatest([{"id": "3"}, {"id": 7.9}], "id")`, `7`,
		"dialect keboola: the greatest identifier, compared as integers",
		function{types: types(func(any, string, ...any) any { return nil }), call: extreme(phpIdentifier, 1)}),
	documented(`phpLeast(items, "id"[, v])`, `phpLeast([{"id": "3"}, {"id": 7.9}], "id")`, `3`,
		"dialect keboola: like phpGreatest, but returns the least identifier",
		function{types: types(func(any, string, ...any) any { return nil }), call: extreme(phpIdentifier, -1)}),
	documented(`phpText(v)`, `phpText(true)`, `"1"`,
		"dialect keboola: v as text; true is \"1\", nil and false are \"\"",
		function{types: types(func(any) string { return "" }), call: unary(php.String)}),
	phpFunction("concat", 4, `phpConcat(v, …)`, `phpConcat("Hen", "Or", "Egg")`, `"HenOrEgg"`,
		"dialect keboola: the values as text, one after the other, as they are: in an address, they are not escaped"),
	phpFunction("implode", 4, `phpImplode(glue, list)`, `phpImplode(",", [1, true, "a"])`, `"1,1,a"`,
		"dialect keboola: the members of a list as text, with the glue between them"),
	phpFunction("ifempty", 1, `phpIfEmpty(v, other)`, `phpIfEmpty("0", "all")`, `"all"`,
		"dialect keboola: v, or the other value if the reference takes v for empty"),
	phpFunction("md5", 0, `phpMd5(v)`, `phpMd5("abc")`, `"900150983cd24fb0d6963f7d28e17f72"`,
		"dialect keboola: the MD5 hash of v as text, in hexadecimal"),
	phpFunction("sha1", 0, `phpSha1(v)`, `phpSha1("abc")`, `"a9993e364706816aba3e25717850c26c9cd0d89d"`,
		"dialect keboola: the SHA-1 hash of v as text, in hexadecimal"),
	phpFunction("hash", 0, `phpHash("crc32b", v)`, `phpHash("crc32b", "123456789")`, `"cbf43926"`,
		"dialect keboola: a hash of v as text, in hexadecimal, by the name of its algorithm"),
	phpFunction("hash_hmac", 0, `phpHashHmac("sha256", v, key)`, `phpHashHmac("md5", "what do ya want for nothing?", "Jefe")`,
		`"750c783e6ab0b503eaa86e310a5db738"`, "dialect keboola: a keyed hash of v as text, in hexadecimal"),
	phpFunction("base64_encode", 2, `phpBase64Encode(v)`, `phpBase64Encode("TeaPot")`, `"VGVhUG90"`,
		"dialect keboola: v as text, in base64"),
	phpFunction("urlencode", 3, `phpUrlencode(v)`, `phpUrlencode("a b/c")`, `"a+b%2Fc"`,
		"dialect keboola: v as text, encoded as in a query"),
	phpFunction("sprintf", php.MaxWidth/4, `phpSprintf(format, v, …)`, `phpSprintf("%05d-%s", 42, "a")`, `"00042-a"`,
		"dialect keboola: the format with its directives replaced by the values"),
	phpFunction("date", 32, `phpDate(format, seconds)`, `phpDate("Y-m-d", 1490000000)`, `"2017-03-20"`,
		"dialect keboola: a time in seconds since 1970 as text, in UTC"),
	phpFunction("strtotime", 0, `phpStrtotime(text, base)`, `phpStrtotime("-7 days", 1490000000)`, `1489395200`,
		"dialect keboola: the time that a text describes, in seconds since 1970; what it leaves open is taken from the base"),
	documented(`phpCompare(a, b)`, `phpCompare(10, "9")`, `1`,
		"dialect keboola: -1, 0 or 1: how two values compare as text: as numbers if both are numeric",
		function{
			types: types(func(any, any) int { return 0 }),
			call:  func(args ...any) (any, error) { return php.Compare(php.String(args[0]), php.String(args[1])), nil },
		}),
	documented(`phpLike(v, "%pattern%")`, `phpLike("administrator", "%min%")`, `true`,
		"dialect keboola: whether v as text has the pattern, in which % stands for any characters",
		function{
			types: types(func(any, string) bool { return false }),
			call:  func(args ...any) (any, error) { return php.Like(php.String(args[0]), args[1].(string)), nil },
		}),
	documented(`phpFound(v, "name")`, `phpFound(body.done, "done")`, `"no"`,
		"dialect keboola: v; if it is nil, the rule fails, and the error has the name",
		function{types: types(func(any, string) any { return nil }), call: phpFound}),
	documented(`phpEach(v)`, `phpEach("a")`, `["a"]`,
		"dialect keboola: the members of a list, or v alone, as text",
		function{types: types(func(any) any { return nil }), call: phpEach, grows: 16}),
	documented(`phpAddress(url, "hostname")`, `phpAddress("https://api.test/v1?a=1", "resource")`, `"/v1?a=1"`,
		"dialect keboola: a part of an address: its hostname, its port, or its resource, which is path and query",
		function{types: types(func(string, string) any { return nil }), call: phpAddress, grows: 2}),
	documented(`phpOAuth1(request, key, secret, token, tokenSecret, nonce, seconds)`,
		`phpOAuth1({"method": "GET", "url": "https://api.test/"}, "k", "s", "t", "ts", "n", 1)`,
		`"OAuth oauth_consumer_key=\"k\", oauth_nonce=\"n\", oauth_signature=\"c2eFd9%2BXZhV9jJraUKq7eaDKkTg%3D\", `+
			`oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp=\"1\", oauth_token=\"t\", oauth_version=\"1.0\""`,
		"dialect keboola: the header Authorization of OAuth 1.0 (RFC 5849), with HMAC-SHA1",
		function{types: types(func(any, string, string, string, string, string, int) any { return nil }), call: phpOAuth1, grows: 16}),
}

func phpQuery(v any) (any, error) {
	address, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("want a query string, got %s", KindOf(v))
	}
	if err := requests.CheckURLLength(address); err != nil {
		return nil, err
	}
	return php.ParseQuery(address), nil
}

func phpIdentifier(id any, place string) (any, error) {
	if !php.IsNumeric(id) {
		return nil, fmt.Errorf("%s is %s, not a number", place, kindOrAbsent(id))
	}
	return php.Int(id), nil
}

// phpFunction returns the function of the rule language for a function of [php.Functions]. Its result takes at most
// grows bytes for each byte of the arguments.
func phpFunction(name string, grows int, signature, example, result, doc string) function {
	f, _ := php.FunctionNamed(name)
	shape := make([]reflect.Type, f.Min)
	for i := range shape {
		shape[i] = anyType
	}
	if f.Max < 0 {
		shape = append(shape, listType)
	}
	return documented(signature, example, result, doc, function{
		grows: grows, types: []reflect.Type{reflect.FuncOf(shape, []reflect.Type{anyType}, f.Max < 0)},
		call: func(args ...any) (any, error) { return f.Call(args) },
	})
}

func phpFound(args ...any) (any, error) {
	if args[0] == nil {
		return nil, fmt.Errorf("there is no %s", args[1])
	}
	return args[0], nil
}

func phpAddress(args ...any) (any, error) {
	u, err := url.Parse(args[0].(string))
	if err != nil {
		return nil, errors.New("not an address")
	}
	switch args[1] {
	case "hostname":
		return u.Hostname(), nil
	case "port":
		if u.Port() != "" {
			return strconv.Atoi(u.Port())
		}
		return map[string]int{"http": 80, "https": 443}[u.Scheme], nil
	}
	return u.RequestURI(), nil
}

func phpOAuth1(args ...any) (any, error) {
	request, _ := value.Members(args[0])
	text := func(o rules.Object, name string) string { v, _ := o.Get(name); return php.String(v) }
	headers, _ := request.Get("headers")
	own, _ := value.Members(headers)
	form := ""
	if strings.HasPrefix(text(own, "Content-Type"), "application/x-www-form-urlencoded") {
		form = text(request, "body")
	}
	credentials := php.OAuth1{Key: args[1].(string), Secret: args[2].(string), Token: args[3].(string), TokenSecret: args[4].(string)}
	return credentials.Header(text(request, "method"), text(request, "url"), form, args[5].(string), args[6].(int))
}

func phpEach(args ...any) (any, error) {
	list, isList := args[0].([]any)
	if !isList {
		list = args
	}
	out := make([]any, len(list))
	for i, v := range list {
		if _, isText := value.Text(v); !isText {
			return nil, fmt.Errorf("want a value that an address can have, got %s", kindOrAbsent(v))
		}
		out[i] = php.String(v)
	}
	return out, nil
}
