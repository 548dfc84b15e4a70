package php

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Function is a function of PHP, or of the reference implementation itself, that
// configurations may call.
type Function struct {
	Name     string // as configurations write it: base64_encode
	Builtin  string // in the rule language: phpBase64Encode
	Min, Max int    // number of arguments; Max is -1 if there is no maximum
	Timed    bool   // the last argument is a time in seconds since 1970, which configurations may leave out
	Call     func(args []any) (any, error)
}

// Functions are the functions that configurations may call, apart from time.
var Functions = []Function{
	{"md5", "phpMd5", 1, 1, false, func(args []any) (any, error) { return Hash("md5", String(args[0])) }},
	{"sha1", "phpSha1", 1, 1, false, func(args []any) (any, error) { return Hash("sha1", String(args[0])) }},
	{"hash", "phpHash", 2, 2, false, func(args []any) (any, error) { return Hash(String(args[0]), String(args[1])) }},
	{"hash_hmac", "phpHashHmac", 3, 3, false, func(args []any) (any, error) {
		return HMAC(String(args[0]), String(args[1]), String(args[2]))
	}},
	{"base64_encode", "phpBase64Encode", 1, 1, false, func(args []any) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(String(args[0]))), nil
	}},
	{"urlencode", "phpUrlencode", 1, 1, false, func(args []any) (any, error) { return URLEncode(String(args[0])), nil }},
	{"sprintf", "phpSprintf", 1, -1, false, func(args []any) (any, error) { return Sprintf(String(args[0]), args[1:]) }},
	{"concat", "phpConcat", 0, -1, false, func(args []any) (any, error) { return Implode("", args), nil }},
	{"implode", "phpImplode", 2, 2, false, implode},
	{"ifempty", "phpIfEmpty", 2, 2, false, ifEmpty},
	{"date", "phpDate", 2, 2, true, func(args []any) (any, error) { return Date(String(args[0]), Int(args[1])), nil }},
	{"strtotime", "phpStrtotime", 2, 2, true, strToTime},
}

func implode(args []any) (any, error) {
	list, ok := args[1].([]any)
	if !ok {
		return nil, fmt.Errorf("want a list to join, got %s", value.KindOf(args[1]))
	}
	return Implode(String(args[0]), list), nil
}

func ifEmpty(args []any) (any, error) {
	if EmptyConfig(args[0]) {
		return args[1], nil
	}
	return args[0], nil
}

// strToTime fails for a text that is no time. PHP returns false, which the reference
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
