package language

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// This package implements the functions of the expression language again, because its own
// functions cannot be interrupted, panic on values of an unexpected kind, and return Go types
// such as []string. The functions that take a predicate are in rewrite_predicate.go.

// A libraryFunction is one function of the expression language.
type libraryFunction struct {
	doc documentation

	args     arguments // the last may be repeated if it is variadic
	required int       // number of args that are required; the rest are optional
	variadic bool
	takesNil bool // the function takes nil; without it, the result is nil if an argument is nil
	ownCheck bool // a call is checked here, since the expression language would refuse valid arguments, such as times for min

	// call is its body. For a function with a predicate, call receives the predicate's results. If
	// it is nil, the expression language runs the function.
	call func(m *meter, args []any) (any, error)

	predicate predicateUse // use of its second argument
	elements  elementUse   // use of its first argument, a list

	// countsFrom restricts countsElements: with fewer arguments, the function reads the elements
	// themselves. sum(list) adds the elements, and sum(list, predicate) the results of its predicate.
	countsFrom int

	// rewrite completes the rewriting of a call whose predicate is safe; nil leaves the call as it is.
	rewrite func(node *ast.Node, call *ast.BuiltinNode)

	gives  []reflect.Type // the function type, one element, with which the checker sees the rewritten call
	tested testedCall     // goes over the items if the predicate is a [fieldTest]; may be nil
}

// A predicateUse says how a function uses its predicate.
type predicateUse int

const (
	noPredicate   predicateUse = iota
	testsElements              // a condition, which must be boolean
	mapsElements               // an expression of any kind
)

// An elementUse says how a function uses the elements of a list. Only readsElements decodes complete
// elements. The order matters: the uses from selectsElement on return one element, those from selectsFirst on
// one at a fixed place.
type elementUse int

const (
	readsElements  elementUse = iota // it reads the elements
	countsElements                   // it needs their number, and its predicate reads paths of them
	keepsElements                    // it returns a part of the list, or the elements in another order
	selectsElement                   // it returns one element
	selectsFirst                     // it returns the first element
	selectsLast                      // it returns the last element
)

// arguments are the kinds of values that a function takes.
type arguments []reflect.Type

// argumentOf returns a value as an argument of a kind. Numbers may be given as strings.
func argumentOf(kind reflect.Type, v any) (any, bool) {
	switch kind {
	case stringType, listType:
		return v, reflect.TypeOf(v) == kind
	case numberType, intType:
		n, err := number(v)
		if kind == intType && err == nil {
			i, ok := toInt(n)
			return i, ok
		}
		return n, err == nil
	case mapType:
		v = fieldsOf(v)
		return v, isObject(v)
	}
	return v, true
}

// documentation is what the reference says about a function.
type documentation struct {
	signature, example string
	result             string // result of the example, as JSON
	text               string
}

// Library returns the functions of the expression language itself, in alphabetical order. Each is documented
// with an example, like those of [Language.Functions]. A predicate is an expression in which # is the element,
// and .name a member of it.
func Library() []Function {
	var functions []Function
	for name, f := range library {
		if d := f.doc; d.signature != "" {
			functions = append(functions, Function{Name: name, Signature: d.signature, Example: d.example, Result: d.result, Doc: d.text})
		}
	}
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	return functions
}

// library is the table of the functions of the expression language. The functions with a predicate
// visit the same elements as the originals, in the same order.
var library = map[string]libraryFunction{
	"len": {doc: documentation{"len(v)", "len([1, 2])", "2", "the number of elements, members or characters"},
		args: arguments{anyType}, required: 1, call: length, elements: countsElements},
	"type": {doc: documentation{"type(v)", "type(1)", `"int"`, "the name of the kind of a value"},
		args: arguments{anyType}, required: 1, takesNil: true, call: typeName},
	"abs": {doc: documentation{"abs(n)", "abs(-3)", "3", "the absolute value of a number"},
		args: arguments{numberType}, required: 1, call: absolute},
	"ceil": {doc: documentation{"ceil(n)", "ceil(1.5)", "2", "the least whole number that is not less than n"},
		args: arguments{numberType}, required: 1, call: roundedBy(roundUp)},
	"floor": {doc: documentation{"floor(n)", "floor(1.5)", "1", "the greatest whole number that is not greater than n"},
		args: arguments{numberType}, required: 1, call: roundedBy(roundDown)},
	"round": {doc: documentation{"round(n)", "round(1.5)", "2", "the nearest whole number"},
		args: arguments{numberType}, required: 1, call: roundedBy(roundHalf)},
	"int": {doc: documentation{"int(v)", `int("12")`, "12", "v as a whole number"},
		args: arguments{anyType}, required: 1, call: func(_ *meter, a []any) (any, error) { return integer(a[0]) }},
	"float": {doc: documentation{"float(v)", `float("1.5")`, "1.5", "v as a number, which may have a fraction"},
		args: arguments{numberType}, required: 1, call: func(_ *meter, a []any) (any, error) { return float(a[0]), nil }},
	"bitand": {doc: documentation{"bitand(m, n)", "bitand(6, 3)", "2", "bitwise and"},
		args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x & y })},
	"bitor": {doc: documentation{"bitor(m, n)", "bitor(6, 3)", "7", "bitwise or"},
		args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x | y })},
	"bitxor": {doc: documentation{"bitxor(m, n)", "bitxor(6, 3)", "5", "bitwise exclusive or"},
		args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x ^ y })},
	"bitnand": {doc: documentation{"bitnand(m, n)", "bitnand(6, 3)", "4", "bitwise and not"},
		args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x &^ y })},
	"bitshl": {doc: documentation{"bitshl(n, bits)", "bitshl(1, 4)", "16", "n shifted to the left"},
		args: arguments{intType, intType}, required: 2, call: shifted("bitshl", func(x, n int) int { return x << n })},
	"bitshr": {doc: documentation{"bitshr(n, bits)", "bitshr(16, 4)", "1", "n shifted to the right"},
		args: arguments{intType, intType}, required: 2, call: shifted("bitshr", func(x, n int) int { return x >> n })},
	"bitushr": {doc: documentation{"bitushr(n, bits)", "bitushr(16, 4)", "1", "n shifted to the right as a number without a sign"},
		args: arguments{intType, intType}, required: 2, call: shifted("bitushr", func(x, n int) int { return int(uint(x) >> n) })},
	"bitnot": {doc: documentation{"bitnot(n)", "bitnot(0)", "-1", "bitwise not"},
		args: arguments{intType}, required: 1, call: bits(func(x, _ int) int { return ^x })},

	"string": {doc: documentation{"string(v)", "string(1)", `"1"`, "v as a text, for people; text(…) is for what is sent"},
		args: arguments{anyType}, required: 1, call: asString},
	"trim": {doc: documentation{"trim(text[, characters])", `trim(" a ")`, `"a"`,
		"the text without white space, or without characters, at both ends"},
		args: arguments{stringType, stringType}, required: 1, call: trim},
	"trimPrefix": {doc: documentation{"trimPrefix(text, prefix)", `trimPrefix("abc", "a")`, `"bc"`, "the text without a beginning"},
		args: arguments{stringType, stringType}, required: 1, call: trimmed(strings.TrimPrefix)},
	"trimSuffix": {doc: documentation{"trimSuffix(text, suffix)", `trimSuffix("abc", "c")`, `"ab"`, "the text without an end"},
		args: arguments{stringType, stringType}, required: 1, call: trimmed(strings.TrimSuffix)},
	"upper": {doc: documentation{"upper(text)", `upper("Ab")`, `"AB"`, "the text in upper case"},
		args: arguments{stringType}, required: 1, call: changed(strings.ToUpper)},
	"lower": {doc: documentation{"lower(text)", `lower("Ab")`, `"ab"`, "the text in lower case"},
		args: arguments{stringType}, required: 1, call: changed(strings.ToLower)},
	"split": {doc: documentation{"split(text, separator[, n])", `split("a-b", "-")`, `["a","b"]`,
		"the parts of a text between separators, n at most; an empty text is one part"},
		args: arguments{stringType, stringType, intType}, required: 2, call: splitWith(false)},
	"splitAfter": {doc: documentation{"splitAfter(text, separator[, n])", `splitAfter("a-b", "-")`, `["a-","b"]`,
		"the parts of a text after each separator, n at most"},
		args: arguments{stringType, stringType, intType}, required: 2, call: splitWith(true)},
	"replace": {doc: documentation{"replace(text, old, new[, n])", `replace("aa", "a", "b", 1)`, `"ba"`,
		"the text with a part replaced by another, everywhere or n times"},
		args: arguments{stringType, stringType, stringType, intType}, required: 3, call: replaceAll},
	"repeat": {doc: documentation{"repeat(text, n)", `repeat("ab", 2)`, `"abab"`, "the text n times"},
		args: arguments{stringType, intType}, required: 2, call: repeat},
	"join": {doc: documentation{"join(list[, separator])", `join(["a", "b"], "-")`, `"a-b"`, "the texts of a list as one"},
		args: arguments{listType, stringType}, required: 1, call: join},
	"indexOf": {doc: documentation{"indexOf(text, part)", `indexOf("abc", "c")`, "2",
		"where a text contains another, -1 when it does not"},
		args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.Index)},
	"lastIndexOf": {doc: documentation{"lastIndexOf(text, part)", `lastIndexOf("abab", "a")`, "2",
		"where a text contains another for the last time, -1 when it does not"},
		args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.LastIndex)},
	"hasPrefix": {doc: documentation{"hasPrefix(text, prefix)", `hasPrefix("abc", "a")`, "true", "whether a text begins with another"},
		args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.HasPrefix)},
	"hasSuffix": {doc: documentation{"hasSuffix(text, suffix)", `hasSuffix("abc", "c")`, "true", "whether a text ends with another"},
		args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.HasSuffix)},
	"toJSON": {doc: documentation{"toJSON(v)", `toJSON([1])`, `"[1]"`, "v as a text of JSON"},
		args: arguments{anyType}, required: 1, takesNil: true, call: toJSON},
	"fromJSON": {doc: documentation{"fromJSON(text)", `fromJSON("[1]")`, "[1]", "the value that is encoded as JSON"},
		args: arguments{stringType}, required: 1, call: fromJSON},
	"toBase64": {doc: documentation{"toBase64(text)", `toBase64("hi")`, `"aGk="`, "the text in base64"},
		args: arguments{stringType}, required: 1, call: toBase64},
	"fromBase64": {doc: documentation{"fromBase64(text)", `fromBase64("aGk=")`, `"hi"`, "the text that is encoded in base64"},
		args: arguments{stringType}, required: 1, call: fromBase64},

	"min": {doc: documentation{"min(v, …)", "min(1, 3, 2)", "1", "the least of several values, or of a list"},
		args: arguments{anyType}, required: 1, variadic: true, ownCheck: true, call: extremeOf(-1)},
	"max": {doc: documentation{"max(v, …)", "max(1, 3, 2)", "3", "the greatest of several values, or of a list"},
		args: arguments{anyType}, required: 1, variadic: true, ownCheck: true, call: extremeOf(1)},
	"mean": {doc: documentation{"mean(n, …)", "mean(1, 3)", "2", "the mean of several numbers, or of a list"},
		args: arguments{anyType}, required: 1, variadic: true, call: mean},
	"median": {doc: documentation{"median(n, …)", "median(1, 5, 2)", "2", "the median of several numbers, or of a list"},
		args: arguments{anyType}, required: 1, variadic: true, call: median},
	"first": {doc: documentation{"first(list)", "first([1, 2])", "1", "the first element, nil of an empty list"},
		args: arguments{anyType}, required: 1, call: elementAt(0), elements: selectsFirst},
	"last": {doc: documentation{"last(list)", "last([1, 2])", "2", "the last element, nil of an empty list"},
		args: arguments{anyType}, required: 1, call: elementAt(-1), elements: selectsLast},
	"get": {doc: documentation{"get(v, key)", `get({"a": 1}, "a")`, "1",
		"a member of an object, or an element of a list; nil when absent"},
		args: arguments{anyType, anyType}, required: 2, takesNil: true, ownCheck: true, call: getMember},
	"take": {doc: documentation{"take(list, n)", "take([1, 2, 3], 2)", "[1,2]", "the first n elements"},
		args: arguments{listType, intType}, required: 2, call: take, elements: keepsElements},
	"keys": {doc: documentation{"keys(object)", `keys({"a": 1})`, `["a"]`, "the names of the members"},
		args: arguments{mapType}, required: 1, call: fromMembers(32, func(m rules.Member) any { return m.Name })},
	"values": {doc: documentation{"values(object)", `values({"a": 1})`, "[1]", "the values of the members"},
		args: arguments{mapType}, required: 1, call: fromMembers(32, func(m rules.Member) any { return m.Value })},
	"toPairs": {doc: documentation{"toPairs(object)", `toPairs({"a": 1})`, `[["a",1]]`, "pairs of the key and the value of each member"},
		args: arguments{mapType}, required: 1, call: fromMembers(80, func(m rules.Member) any { return []any{m.Name, m.Value} })},
	"fromPairs": {doc: documentation{"fromPairs(list)", `fromPairs([["a", 1]])`, `{"a":1}`, "an object from pairs of a key and a value"},
		args: arguments{listType}, required: 1, call: fromPairs},
	"reverse": {doc: documentation{"reverse(list)", "reverse([1, 2])", "[2,1]", "the list from its end to its beginning"},
		args: arguments{listType}, required: 1, call: reverse, elements: keepsElements},
	"uniq": {doc: documentation{"uniq(list)", "uniq([1, 1, 2])", "[1,2]", "the list with each element once"},
		args: arguments{listType}, required: 1, call: uniq},
	"concat": {doc: documentation{"concat(list, …)", "concat([1], [2])", "[1,2]", "one list with the elements of all"},
		args: arguments{listType}, required: 1, variadic: true, call: concat},
	"flatten": {doc: documentation{"flatten(list)", "flatten([1, [2, 3]])", "[1,2,3]", "the elements of the lists in a list"},
		args: arguments{listType}, required: 1, call: flatten},
	"sort": {doc: documentation{`sort(list[, "desc"])`, "sort([2, 1])", "[1,2]", "the elements in ascending order"},
		args: arguments{listType, stringType}, required: 1, call: sortList},

	"all": {doc: documentation{"all(list, predicate)", "all([1, 2], # > 0)", "true", "whether the predicate is true for every element"},
		predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedAll},
	"any": {doc: documentation{"any(list, predicate)", "any([1, 2], # > 1)", "true", "whether the predicate is true for an element"},
		predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedAny},
	"none": {doc: documentation{"none(list, predicate)", "none([1, 2], # > 2)", "true", "whether the predicate is true for no element"},
		predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedNone},
	"one": {doc: documentation{"one(list, predicate)", "one([1, 2], # > 1)", "true",
		"whether the predicate is true for exactly one element"},
		predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedOne},
	"count": {doc: documentation{"count(list[, predicate])", "count([1, 2, 3], # > 1)", "2",
		"how many elements the predicate is true for"},
		predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedCount},
	"filter": {doc: documentation{"filter(list, predicate)", "filter([1, 2, 3], # > 1)", "[2,3]",
		"the elements for which the predicate is true"},
		predicate: testsElements, elements: keepsElements, gives: givesList, tested: testedFilter},
	"find": {doc: documentation{"find(list, predicate)", "find([1, 2, 3], # > 1)", "2",
		"the first element for which the predicate is true, nil if there is none"},
		predicate: testsElements, elements: selectsElement, gives: givesAny, tested: testedItem(forwards)},
	"findLast": {doc: documentation{"findLast(list, predicate)", "findLast([1, 2, 3], # > 1)", "3",
		"the last element for which the predicate is true, nil if there is none"},
		predicate: testsElements, elements: selectsElement, gives: givesAny, tested: testedItem(backwards), rewrite: findInReverse},
	"findIndex": {doc: documentation{"findIndex(list, predicate)", "findIndex([1, 2, 3], # > 1)", "1",
		"the index of the first element for which the predicate is true, nil if there is none"},
		predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedIndex(forwards)},
	"findLastIndex": {doc: documentation{"findLastIndex(list, predicate)", "findLastIndex([1, 2, 3], # > 1)", "2",
		"the index of the last element for which the predicate is true, nil if there is none"},
		predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedIndex(backwards), rewrite: findIndexInReverse},

	"map": {doc: documentation{"map(list, predicate)", "map([1, 2], # * 2)", "[2,4]", "the values of the predicate for every element"},
		predicate: mapsElements, elements: countsElements},
	"reduce": {doc: documentation{"reduce(list, predicate[, initial])", "reduce([1, 2], #acc + #, 10)", "13",
		"the elements joined to one value; #acc is the value so far"},
		predicate: mapsElements, elements: countsElements, countsFrom: 3, rewrite: reduceOrNil}, // with an initial value
	"groupBy": {doc: documentation{"groupBy(list, predicate)", "groupBy([1, 2], # > 1)", `{"false":[1],"true":[2]}`,
		"the elements by the value of the predicate"},
		predicate: mapsElements, call: groupBy, rewrite: callWithKeys},
	"sortBy": {doc: documentation{`sortBy(list, predicate[, "desc"])`, `sortBy([{"a": 2}, {"a": 1}], .a)[0].a`, "1",
		"the elements in the order of the predicate's values"},
		predicate: mapsElements, call: sortBy, elements: keepsElements, rewrite: callWithKeys},
	"sum": {doc: documentation{"sum(list[, predicate])", "sum([1, 2])", "3", "the sum of the numbers, or of the predicate's values"},
		predicate: mapsElements, call: sum, elements: countsElements, countsFrom: 2, rewrite: callWithResults}, // with a predicate

	"now": {call: func(*meter, []any) (any, error) { return time.Now(), nil }}, // a field of the context, and documented there
	"duration": {doc: documentation{"duration(text)", `duration("1h30m").Minutes()`, "90", "the duration that a text such as 1h30m names"},
		args: arguments{stringType}, required: 1, call: duration},
	"date": {
		doc: documentation{"date(v[, layout[, timezone]])", `date("2026-03-01").Year()`, "2026",
			"the time that a text names; a number counts seconds since 1970 or, if it is too large for seconds, milliseconds"},
		args: arguments{anyType, stringType, stringType}, required: 1, call: date,
	},
	"timezone": {
		doc:  documentation{"timezone(name)", `date("2026-03-01T12:00:00Z").In(timezone("Europe/Berlin")).Hour()`, "13", "a time zone"},
		args: arguments{stringType}, required: 1, call: timezone,
	},
}

// invoke calls the function. Every call is metered, even one that does little.
func (f libraryFunction) invoke(name string, m *meter, args []any) (any, error) {
	m.spend(16)
	args = slices.Clone(args) // the VM reuses its slice
	for i, v := range args {
		if v == nil && !f.takesNil {
			return nil, nil
		}
		if v == nil {
			continue
		}
		args[i] = must(f.accept(name, i, v))
	}
	return f.call(m, args)
}

// argumentHint says how to convert an argument of the wrong kind.
func argumentHint(kind reflect.Type, v any) string {
	switch _, isList := v.([]any); {
	case kind == stringType && isNumber(v):
		return "; text(…) converts a number to a string"
	case kind == stringType && isList:
		return "; map(…) applies a function to each element of a list"
	}
	return ""
}

// checkCalls finds calls of the library's functions that have too many or too few
// arguments, or constant arguments of the wrong kind. It runs before the checker of the
// expression language, whose messages are about Go types.
func checkCalls(tree ast.Node) error {
	for node := range nodes(tree) {
		name, arguments := called(node)
		if f, ok := library[name]; ok && f.predicate == noPredicate && name != "now" { // now is a field of the context
			if err := f.checkCall(name, node, arguments); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f libraryFunction) checkCall(name string, node ast.Node, arguments []ast.Node) error {
	switch {
	case len(arguments) < f.required:
		return faultAt(node, "not enough arguments in call to %s", name)
	case len(arguments) > len(f.args) && !f.variadic:
		return faultAt(node, "too many arguments in call to %s", name)
	}
	for i, a := range arguments {
		v, isConstant := constant(a)
		if !isConstant || v == nil {
			continue
		}
		if _, err := f.accept(name, i, v); err != nil {
			return faultAt(a, "%v", err)
		}
	}
	return nil
}

// accept returns an argument as the function takes it.
func (f libraryFunction) accept(name string, i int, v any) (any, error) {
	want := f.args[min(i, len(f.args)-1)]
	if accepted, ok := argumentOf(want, v); ok {
		return accepted, nil
	}
	return nil, fmt.Errorf("argument %d of %s must be %s, got %s%s",
		i+1, name, kindName(want), Described(v), argumentHint(want, v))
}
