package php

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Function is a function of PHP, or of the reference implementation itself, that
// configurations may call.
type Function struct {
	Name     string // its name in configurations: base64_encode
	Builtin  string // its name in the rule language: phpBase64Encode
	Min, Max int    // number of arguments; Max is -1 if there is no maximum
	Timed    bool   // the last argument is a time in seconds since 1970, which configurations may leave out
	Call     func(args []any) (any, error)
}

// functions is the table of the functions that configurations may call, apart from time.
var functions = []Function{
	{Name: "md5", Builtin: "phpMd5", Min: 1, Max: 1, Call: func(args []any) (any, error) {
		return hashText("md5", String(args[0]))
	}},
	{Name: "sha1", Builtin: "phpSha1", Min: 1, Max: 1, Call: func(args []any) (any, error) {
		return hashText("sha1", String(args[0]))
	}},
	{Name: "hash", Builtin: "phpHash", Min: 2, Max: 2, Call: func(args []any) (any, error) {
		return hashText(String(args[0]), String(args[1]))
	}},
	{Name: "hash_hmac", Builtin: "phpHashHmac", Min: 3, Max: 3, Call: func(args []any) (any, error) {
		return hmacText(String(args[0]), String(args[1]), String(args[2]))
	}},
	{Name: "base64_encode", Builtin: "phpBase64Encode", Min: 1, Max: 1, Call: func(args []any) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(String(args[0]))), nil
	}},
	{Name: "urlencode", Builtin: "phpUrlencode", Min: 1, Max: 1, Call: func(args []any) (any, error) {
		return escape(String(args[0])), nil
	}},
	{Name: "sprintf", Builtin: "phpSprintf", Min: 1, Max: -1, Call: func(args []any) (any, error) {
		return sprintf(String(args[0]), args[1:])
	}},
	{Name: "concat", Builtin: "phpConcat", Min: 0, Max: -1, Call: func(args []any) (any, error) {
		return join("", args), nil
	}},
	{Name: "implode", Builtin: "phpImplode", Min: 2, Max: 2, Call: implode},
	{Name: "ifempty", Builtin: "phpIfEmpty", Min: 2, Max: 2, Call: ifEmpty},
	{Name: "date", Builtin: "phpDate", Min: 2, Max: 2, Timed: true, Call: func(args []any) (any, error) {
		return date(String(args[0]), Int(args[1])), nil
	}},
	{Name: "strtotime", Builtin: "phpStrtotime", Min: 2, Max: 2, Timed: true, Call: strToTime},
}

// Functions returns the functions that configurations may call, apart from time.
func Functions() []Function { return slices.Clone(functions) }

// FunctionNamed returns the function that configurations call by a name, and whether there is one.
func FunctionNamed(name string) (f Function, ok bool) {
	i := slices.IndexFunc(functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return functions[i], true
}

func implode(args []any) (any, error) {
	list, ok := args[1].([]any)
	if !ok {
		return nil, fmt.Errorf("want a list to join, got %s", value.KindOf(args[1]))
	}
	return join(String(args[0]), list), nil
}

func ifEmpty(args []any) (any, error) {
	if EmptyConfig(args[0]) {
		return args[1], nil
	}
	return args[0], nil
}

// strToTime fails for a text that is not a time. PHP returns false, which the reference
// then takes for a time in 1970.
func strToTime(args []any) (any, error) {
	text := String(args[0])
	if text == "" {
		return nil, errors.New("want a time, got an empty text")
	}
	seconds, ok := StrToTime(text, Int(args[1]))
	if !ok {
		return nil, fmt.Errorf("%s is not a time", value.Preview(text))
	}
	return seconds, nil
}
