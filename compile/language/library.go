package language

import (
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

// library is the table of the functions of the expression language. The functions with a predicate
// visit the same elements as the originals, in the same order.
var library = map[string]libraryFunction{
	"len":     {args: arguments{anyType}, required: 1, call: length, elements: countsElements},
	"type":    {args: arguments{anyType}, required: 1, takesNil: true, call: typeName},
	"abs":     {args: arguments{numberType}, required: 1, call: absolute},
	"ceil":    {args: arguments{numberType}, required: 1, call: roundedBy(roundUp)},
	"floor":   {args: arguments{numberType}, required: 1, call: roundedBy(roundDown)},
	"round":   {args: arguments{numberType}, required: 1, call: roundedBy(roundHalf)},
	"int":     {args: arguments{anyType}, required: 1, call: func(_ *meter, a []any) (any, error) { return integer(a[0]) }},
	"float":   {args: arguments{numberType}, required: 1, call: func(_ *meter, a []any) (any, error) { return float(a[0]), nil }},
	"bitand":  {args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x & y })},
	"bitor":   {args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x | y })},
	"bitxor":  {args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x ^ y })},
	"bitnand": {args: arguments{intType, intType}, required: 2, call: bits(func(x, y int) int { return x &^ y })},
	"bitshl":  {args: arguments{intType, intType}, required: 2, call: shifted("bitshl", func(x, n int) int { return x << n })},
	"bitshr":  {args: arguments{intType, intType}, required: 2, call: shifted("bitshr", func(x, n int) int { return x >> n })},
	"bitushr": {args: arguments{intType, intType}, required: 2, call: shifted("bitushr", func(x, n int) int { return int(uint(x) >> n) })},
	"bitnot":  {args: arguments{intType}, required: 1, call: bits(func(x, _ int) int { return ^x })},

	"string":      {args: arguments{anyType}, required: 1, call: asString},
	"trim":        {args: arguments{stringType, stringType}, required: 1, call: trim},
	"trimPrefix":  {args: arguments{stringType, stringType}, required: 1, call: trimmed(strings.TrimPrefix)},
	"trimSuffix":  {args: arguments{stringType, stringType}, required: 1, call: trimmed(strings.TrimSuffix)},
	"upper":       {args: arguments{stringType}, required: 1, call: changed(strings.ToUpper)},
	"lower":       {args: arguments{stringType}, required: 1, call: changed(strings.ToLower)},
	"split":       {args: arguments{stringType, stringType, intType}, required: 2, call: splitWith(false)},
	"splitAfter":  {args: arguments{stringType, stringType, intType}, required: 2, call: splitWith(true)},
	"replace":     {args: arguments{stringType, stringType, stringType, intType}, required: 3, call: replaceAll},
	"repeat":      {args: arguments{stringType, intType}, required: 2, call: repeat},
	"join":        {args: arguments{listType, stringType}, required: 1, call: join},
	"indexOf":     {args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.Index)},
	"lastIndexOf": {args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.LastIndex)},
	"hasPrefix":   {args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.HasPrefix)},
	"hasSuffix":   {args: arguments{stringType, stringType}, required: 2, call: searchedFor(strings.HasSuffix)},
	"toJSON":      {args: arguments{anyType}, required: 1, takesNil: true, call: toJSON},
	"fromJSON":    {args: arguments{stringType}, required: 1, call: fromJSON},
	"toBase64":    {args: arguments{stringType}, required: 1, call: toBase64},
	"fromBase64":  {args: arguments{stringType}, required: 1, call: fromBase64},

	"min":       {args: arguments{anyType}, required: 1, variadic: true, ownCheck: true, call: extremeOf(-1)},
	"max":       {args: arguments{anyType}, required: 1, variadic: true, ownCheck: true, call: extremeOf(1)},
	"mean":      {args: arguments{anyType}, required: 1, variadic: true, call: mean},
	"median":    {args: arguments{anyType}, required: 1, variadic: true, call: median},
	"first":     {args: arguments{anyType}, required: 1, call: elementAt(0), elements: selectsFirst},
	"last":      {args: arguments{anyType}, required: 1, call: elementAt(-1), elements: selectsLast},
	"get":       {args: arguments{anyType, anyType}, required: 2, takesNil: true, ownCheck: true, call: getMember},
	"take":      {args: arguments{listType, intType}, required: 2, call: take, elements: keepsElements},
	"keys":      {args: arguments{mapType}, required: 1, call: fromMembers(32, func(m rules.Member) any { return m.Name })},
	"values":    {args: arguments{mapType}, required: 1, call: fromMembers(32, func(m rules.Member) any { return m.Value })},
	"toPairs":   {args: arguments{mapType}, required: 1, call: fromMembers(80, func(m rules.Member) any { return []any{m.Name, m.Value} })},
	"fromPairs": {args: arguments{listType}, required: 1, call: fromPairs},
	"reverse":   {args: arguments{listType}, required: 1, call: reverse, elements: keepsElements},
	"uniq":      {args: arguments{listType}, required: 1, call: uniq},
	"concat":    {args: arguments{listType}, required: 1, variadic: true, call: concat},
	"flatten":   {args: arguments{listType}, required: 1, call: flatten},
	"sort":      {args: arguments{listType, stringType}, required: 1, call: sortList},

	"all":    {predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedAll},
	"any":    {predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedAny},
	"none":   {predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedNone},
	"one":    {predicate: testsElements, elements: countsElements, gives: givesBool, tested: testedOne},
	"count":  {predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedCount},
	"filter": {predicate: testsElements, elements: keepsElements, gives: givesList, tested: testedFilter},
	"find":   {predicate: testsElements, elements: selectsElement, gives: givesAny, tested: testedItem(forwards)},
	"findLast": {predicate: testsElements, elements: selectsElement, gives: givesAny, tested: testedItem(backwards),
		rewrite: findInReverse},
	"findIndex": {predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedIndex(forwards)},
	"findLastIndex": {predicate: testsElements, elements: countsElements, gives: givesInt, tested: testedIndex(backwards),
		rewrite: findIndexInReverse},

	"map":     {predicate: mapsElements, elements: countsElements},
	"reduce":  {predicate: mapsElements, elements: countsElements, countsFrom: 3, rewrite: reduceOrNil}, // with an initial value
	"groupBy": {predicate: mapsElements, call: groupBy, rewrite: callWithKeys},
	"sortBy":  {predicate: mapsElements, call: sortBy, elements: keepsElements, rewrite: callWithKeys},
	"sum":     {predicate: mapsElements, call: sum, elements: countsElements, countsFrom: 2, rewrite: callWithResults}, // with a predicate

	"now":      {call: func(*meter, []any) (any, error) { return time.Now(), nil }},
	"duration": {args: arguments{stringType}, required: 1, call: duration},
	"date":     {args: arguments{anyType, stringType, stringType}, required: 1, call: date},
	"timezone": {args: arguments{stringType}, required: 1, call: timezone},
}

// invoke calls the function. Every call is metered, even one that does little.
func (f libraryFunction) invoke(name string, m *meter, args []any) (any, error) {
	m.spend(16)
	args = slices.Clone(args) // they are the machine's
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
