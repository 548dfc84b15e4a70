package apinames

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The signs by which a body reports an error although the status is one of success.

// ErrorKind says which values of a key report an error.
type ErrorKind string

// The kinds of error signs.
const (
	ErrorValue  ErrorKind = "value"  // any value that is not empty, zero or a word of success
	ErrorFlag   ErrorKind = "flag"   // true
	ErrorDenial ErrorKind = "denial" // false, also as text, or 0
	ErrorWord   ErrorKind = "word"   // a word of failure
	ErrorCode   ErrorKind = "code"   // a status of HTTP from 400 on
	ErrorCount  ErrorKind = "count"  // a number above 0
)

// errorNames are the keys that report errors, by the kind of their values.
var errorNames = []struct {
	kind  ErrorKind
	names []string
}{
	{ErrorValue, []string{
		"error", "errors", "Error", "Errors", "fault", "Fault", "exception", "Exception", "error_message", "errorMessage",
		"error_msg", "errorMsg", "error_description", "error_code", "errorCode", "errcode", "errors_list", "failure",
		"ErrorResponse", "errorResponse", "error_response", "errno", "faultcode", "faultCode", "faultstring", "faultString", "stackTrace",
		"stack_trace",
	}},
	{ErrorFlag, []string{
		"isError", "is_error", "hasError", "has_error", "hasErrors", "has_errors", "timed_out", "timedOut", "partial", "is_partial",
		"isPartial", "partial_results", "partialResults", "incomplete_results", "incompleteResults",
	}},
	{ErrorDenial, []string{"success", "Success", "ok", "succeeded", "isSuccess", "is_success"}},
	{ErrorWord, []string{"status", "Status", "state", "result", "type", "response"}},
	{ErrorCode, []string{"status", "Status", "statusCode", "status_code", "code", "Code", "httpStatus", "http_status"}},
}

// errorContainers are the objects in which these keys are looked for; "" is the root.
var errorContainers = []string{"", "meta", "response", "result", "status"}

// errorMessages are the keys that say what the error is.
var errorMessages = append([]string{
	"message", "Message", "msg", "error_message", "errorMessage", "error_description", "detail",
}, captions...)

// captions are the keys among them that may describe a list as well: "Failed payments".
var captions = []string{"details", "title", "reason", "description"}

// IsCaption reports whether a key of [ErrorMessages] may describe a list as well.
func IsCaption(key string) bool { return slices.Contains(captions, key) }

// The words, in lower case, that tell success from failure, and the end of a list
// ("No more users were found") from a complaint.
var (
	successWords   = []string{"0", "ok", "success", "successful", "none", "no error", "no errors", "false", "null", "200"}
	endWords       = []string{"no", "none", "nothing", "empty", "end", "last", "done", "finished", "ok", "success", "successful", "found"}
	complaintWords = []string{
		"error", "failed", "failure", "denied", "forbidden", "unauthorized", "unauthenticated", "expired", "exceeded", "throttled", "quota",
		"unavailable", "timeout", "invalid", "internal", "unable", "rejected",
	}
	warningWords = []string{"warning", "warn", "info", "information", "informational", "notice", "deprecation", "debug"}
	failureWords = []string{"error", "errors", "err", "fail", "failed", "failure", "fault", "exception", "denied", "forbidden"}
)

// emptyResult matches a text that says that nothing was found: no records found, end of list.
var emptyResult = regexp.MustCompile(`^(no (more )?(data|entries|items|matches|records|results|rows)|end of (the )?(data|list|results))\b`)

// An ErrorSign is a path at which a body may report an error.
type ErrorSign struct {
	Keys []string
	Kind ErrorKind
}

// nextToData are the signs that count in a response with items, too.
var nextToData = []ErrorSign{
	{[]string{"errors"}, ErrorValue}, {[]string{"error"}, ErrorValue}, {[]string{"Error"}, ErrorValue},
	{[]string{"success"}, ErrorDenial}, {[]string{"ok"}, ErrorDenial},
	{[]string{"timed_out"}, ErrorFlag}, {[]string{"timedOut"}, ErrorFlag}, {[]string{"partial"}, ErrorFlag},
	{[]string{"partial_results"}, ErrorFlag}, {[]string{"partialResults"}, ErrorFlag},
	{[]string{"incomplete_results"}, ErrorFlag}, {[]string{"incompleteResults"}, ErrorFlag},
	{[]string{"_shards", "failed"}, ErrorCount},
}

// ErrorsNextToData returns the signs that count in a response with items, too. The list is shared, and
// must not be changed.
func ErrorsNextToData() []ErrorSign { return nextToData }

// ErrorSigns returns the table of signs, those nearer to the root first. It is shared,
// and must not be changed.
func ErrorSigns() []ErrorSign { return errorSigns() }

var errorSigns = sync.OnceValue(func() []ErrorSign {
	var out []ErrorSign
	for _, container := range errorContainers {
		for _, row := range errorNames {
			for _, name := range row.names {
				out = append(out, ErrorSign{within(container, name), row.kind})
			}
		}
	}
	return append(out, nextToData[len(nextToData)-1])
})

// ErrorMessages returns the paths of messages that belong to the signs. It is shared,
// and must not be changed.
func ErrorMessages() [][]string { return errorMessagePaths() }

var errorMessagePaths = sync.OnceValue(func() [][]string {
	var out [][]string
	for _, container := range errorContainers {
		for _, name := range errorMessages {
			out = append(out, within(container, name))
		}
	}
	return out
})

// Complains reports whether the message of a page without a list is about a failure, as
// far as its words tell: it does not say that there are no more items.
func Complains(message string) bool {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return slices.Contains(endWords, word) })
}

// Fails reports whether the message of a page with an empty list says that a request has failed. Its
// words must say so, since many APIs have a message on every page.
func Fails(message string) bool {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) })
	return Complains(message) && slices.ContainsFunc(words, func(word string) bool { return slices.Contains(complaintWords, word) })
}

func within(container, name string) []string {
	if container == "" {
		return []string{name}
	}
	return []string{container, name}
}

// MayReport reports whether a value, as compact JSON, may be one that [ErrorSign.Reports] takes for an
// error. It is quick.
func (s ErrorSign) MayReport(raw []byte) bool {
	word := string(raw[:min(len(raw), len("false")+1)])
	switch s.Kind {
	case ErrorFlag:
		return word == "true"
	case ErrorDenial:
		return word == "false"
	}
	return !slices.Contains([]string{"null", "[]", "{}", `""`, "false", "0"}, word)
}

// Reports reports whether a value at the sign's path reports an error.
func (s ErrorSign) Reports(v any) bool {
	switch s.Kind {
	case ErrorFlag:
		return v == true
	case ErrorDenial:
		flag, ok := Flag(v, false)
		return ok && !flag
	case ErrorWord:
		text, ok := v.(string)
		return ok && slices.Contains(failureWords, strings.ToLower(text))
	case ErrorCode:
		n, ok := v.(int)
		return ok && n >= 400 && n < 600
	case ErrorCount:
		n, ok := v.(int)
		return ok && n > 0
	}
	return isError(v)
}

// isWarning reports whether the severity of a message says that it is no error.
func isWarning(severity any) bool {
	word, _ := severity.(string)
	return slices.Contains(warningWords, strings.ToLower(word))
}

// NamesError reports whether a key is usual for errors and their messages.
func NamesError(key string) bool {
	return slices.Contains(errorMessages, key) || slices.ContainsFunc(errorNames, func(row struct {
		kind  ErrorKind
		names []string
	}) bool {
		return slices.Contains(row.names, key)
	})
}

// isError reports whether the value of a key such as error is an error, and does not
// just say that there is no error.
func isError(v any) bool {
	if object, ok := value.Members(v); ok {
		for _, name := range []string{"code", "status"} { // {"code": 0, "message": "OK"}
			if code, has := object.Get(name); has && !isError(code) {
				return false
			}
		}
		for _, name := range []string{"severity", "level", "type"} {
			if word, _ := object.Get(name); isWarning(word) {
				return false
			}
		}
		return slices.ContainsFunc(object, func(m value.Member) bool { return isError(m.Value) }) // {"total": 0} has none
	}
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, isError)
	}
	text, ok := value.Text(v)
	text = strings.ToLower(strings.TrimSpace(text))
	return ok && text != "" && !slices.Contains(successWords, text) && !emptyResult.MatchString(text)
}
