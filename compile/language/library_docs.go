package language

import (
	"cmp"
	"slices"
)

// Library returns the functions of the expression language itself, in alphabetical order. Each is documented
// with an example, like those of [Language.Functions]. A predicate is an expression in which # is the element,
// and .name a member of it.
func Library() []Function {
	functions := make([]Function, 0, len(libraryDocs))
	for name, f := range libraryDocs {
		functions = append(functions, Function{Name: name, Signature: f[0], Example: f[1], Result: f[2], Doc: f[3]})
	}
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	return functions
}

// libraryDocs are, by the name of a function: its signature, an example, the result of the example as JSON, and
// a description.
var libraryDocs = map[string][4]string{
	"abs":      {"abs(n)", "abs(-3)", "3", "the absolute value of a number"},
	"all":      {"all(list, predicate)", "all([1, 2], # > 0)", "true", "whether the predicate is true for every element"},
	"any":      {"any(list, predicate)", "any([1, 2], # > 1)", "true", "whether the predicate is true for an element"},
	"bitand":   {"bitand(m, n)", "bitand(6, 3)", "2", "bitwise and"},
	"bitnand":  {"bitnand(m, n)", "bitnand(6, 3)", "4", "bitwise and not"},
	"bitnot":   {"bitnot(n)", "bitnot(0)", "-1", "bitwise not"},
	"bitor":    {"bitor(m, n)", "bitor(6, 3)", "7", "bitwise or"},
	"bitshl":   {"bitshl(n, bits)", "bitshl(1, 4)", "16", "n shifted to the left"},
	"bitshr":   {"bitshr(n, bits)", "bitshr(16, 4)", "1", "n shifted to the right"},
	"bitushr":  {"bitushr(n, bits)", "bitushr(16, 4)", "1", "n shifted to the right as a number without a sign"},
	"bitxor":   {"bitxor(m, n)", "bitxor(6, 3)", "5", "bitwise exclusive or"},
	"ceil":     {"ceil(n)", "ceil(1.5)", "2", "the least whole number that is not less than n"},
	"concat":   {"concat(list, …)", "concat([1], [2])", "[1,2]", "one list with the elements of all"},
	"count":    {"count(list[, predicate])", "count([1, 2, 3], # > 1)", "2", "how many elements the predicate is true for"},
	"date":     {"date(v[, layout[, timezone]])", `date("2026-03-01").Year()`, "2026", "the time that a text names"},
	"duration": {"duration(text)", `duration("1h30m").Minutes()`, "90", "the duration that a text such as 1h30m names"},
	"filter":   {"filter(list, predicate)", "filter([1, 2, 3], # > 1)", "[2,3]", "the elements for which the predicate is true"},
	"find":     {"find(list, predicate)", "find([1, 2, 3], # > 1)", "2", "the first element for which the predicate is true"},
	"findIndex": {"findIndex(list, predicate)", "findIndex([1, 2, 3], # > 1)", "1",
		"the index of the first element for which the predicate is true"},
	"findLast": {"findLast(list, predicate)", "findLast([1, 2, 3], # > 1)", "3", "the last element for which the predicate is true"},
	"findLastIndex": {"findLastIndex(list, predicate)", "findLastIndex([1, 2, 3], # > 1)", "2",
		"the index of the last element for which the predicate is true"},
	"first":      {"first(list)", "first([1, 2])", "1", "the first element, nil of an empty list"},
	"flatten":    {"flatten(list)", "flatten([1, [2, 3]])", "[1,2,3]", "the elements of the lists in a list"},
	"float":      {"float(v)", `float("1.5")`, "1.5", "v as a number, which may have a fraction"},
	"floor":      {"floor(n)", "floor(1.5)", "1", "the greatest whole number that is not greater than n"},
	"fromBase64": {"fromBase64(text)", `fromBase64("aGk=")`, `"hi"`, "the text that is encoded in base64"},
	"fromJSON":   {"fromJSON(text)", `fromJSON("[1]")`, "[1]", "the value that is encoded as JSON"},
	"fromPairs":  {"fromPairs(list)", `fromPairs([["a", 1]])`, `{"a":1}`, "an object from pairs of a key and a value"},
	"get":        {"get(v, key)", `get({"a": 1}, "a")`, "1", "a member of an object, or an element of a list; nil when absent"},
	"groupBy": {"groupBy(list, predicate)", "groupBy([1, 2], # > 1)", `{"false":[1],"true":[2]}`,
		"the elements by the value of the predicate"},
	"hasPrefix": {"hasPrefix(text, prefix)", `hasPrefix("abc", "a")`, "true", "whether a text begins with another"},
	"hasSuffix": {"hasSuffix(text, suffix)", `hasSuffix("abc", "c")`, "true", "whether a text ends with another"},
	"indexOf":   {"indexOf(text, part)", `indexOf("abc", "c")`, "2", "where a text contains another, -1 when it does not"},
	"int":       {"int(v)", `int("12")`, "12", "v as a whole number"},
	"join":      {"join(list[, separator])", `join(["a", "b"], "-")`, `"a-b"`, "the texts of a list as one"},
	"keys":      {"keys(object)", `keys({"a": 1})`, `["a"]`, "the names of the members"},
	"last":      {"last(list)", "last([1, 2])", "2", "the last element, nil of an empty list"},
	"lastIndexOf": {"lastIndexOf(text, part)", `lastIndexOf("abab", "a")`, "2",
		"where a text contains another for the last time, -1 when it does not"},
	"len":    {"len(v)", "len([1, 2])", "2", "the number of elements, members or characters"},
	"lower":  {"lower(text)", `lower("Ab")`, `"ab"`, "the text in lower case"},
	"map":    {"map(list, predicate)", "map([1, 2], # * 2)", "[2,4]", "the values of the predicate for every element"},
	"max":    {"max(v, …)", "max(1, 3, 2)", "3", "the greatest of several values, or of a list"},
	"mean":   {"mean(n, …)", "mean(1, 3)", "2", "the mean of several numbers, or of a list"},
	"median": {"median(n, …)", "median(1, 5, 2)", "2", "the median of several numbers, or of a list"},
	"min":    {"min(v, …)", "min(1, 3, 2)", "1", "the least of several values, or of a list"},
	"none":   {"none(list, predicate)", "none([1, 2], # > 2)", "true", "whether the predicate is true for no element"},
	"one":    {"one(list, predicate)", "one([1, 2], # > 1)", "true", "whether the predicate is true for exactly one element"},
	"reduce": {"reduce(list, predicate[, initial])", "reduce([1, 2], #acc + #, 10)", "13",
		"the elements joined to one value; #acc is the value so far"},
	"repeat": {"repeat(text, n)", `repeat("ab", 2)`, `"abab"`, "the text n times"},
	"replace": {"replace(text, old, new[, n])", `replace("aa", "a", "b", 1)`, `"ba"`,
		"the text with a part replaced by another, everywhere or n times"},
	"reverse": {"reverse(list)", "reverse([1, 2])", "[2,1]", "the list from its end to its beginning"},
	"round":   {"round(n)", "round(1.5)", "2", "the nearest whole number"},
	"sort":    {`sort(list[, "desc"])`, "sort([2, 1])", "[1,2]", "the elements in ascending order"},
	"sortBy": {`sortBy(list, predicate[, "desc"])`, `sortBy([{"a": 2}, {"a": 1}], .a)[0].a`, "1",
		"the elements in the order of the predicate's values"},
	"split": {"split(text, separator[, n])", `split("a-b", "-")`, `["a","b"]`, "the parts of a text between separators, n at most"},
	"splitAfter": {"splitAfter(text, separator[, n])", `splitAfter("a-b", "-")`, `["a-","b"]`,
		"the parts of a text after each separator, n at most"},
	"string":     {"string(v)", "string(1)", `"1"`, "v as a text, for people; text(…) is for what is sent"},
	"sum":        {"sum(list[, predicate])", "sum([1, 2])", "3", "the sum of the numbers, or of the predicate's values"},
	"take":       {"take(list, n)", "take([1, 2, 3], 2)", "[1,2]", "the first n elements"},
	"timezone":   {"timezone(name)", `date("2026-03-01T12:00:00Z").In(timezone("Europe/Berlin")).Hour()`, "13", "a time zone"},
	"toBase64":   {"toBase64(text)", `toBase64("hi")`, `"aGk="`, "the text in base64"},
	"toJSON":     {"toJSON(v)", `toJSON([1])`, `"[1]"`, "v as JSON"},
	"toPairs":    {"toPairs(object)", `toPairs({"a": 1})`, `[["a",1]]`, "pairs of the key and the value of each member"},
	"trim":       {"trim(text[, characters])", `trim(" a ")`, `"a"`, "the text without white space, or without characters, at both ends"},
	"trimPrefix": {"trimPrefix(text, prefix)", `trimPrefix("abc", "a")`, `"bc"`, "the text without a beginning"},
	"trimSuffix": {"trimSuffix(text, suffix)", `trimSuffix("abc", "c")`, `"ab"`, "the text without an end"},
	"type":       {"type(v)", "type(1)", `"int"`, "the name of the kind of a value"},
	"uniq":       {"uniq(list)", "uniq([1, 1, 2])", "[1,2]", "the list with each element once"},
	"upper":      {"upper(text)", `upper("Ab")`, `"AB"`, "the text in upper case"},
	"values":     {"values(object)", `values({"a": 1})`, "[1]", "the values of the members"},
}
