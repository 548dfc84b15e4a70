package apinames

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The signs by which a body reports an error although the status is one of success.

// ErrorKind says which values of a key report an error.
type ErrorKind string

// The kinds of error signs.
const (
	ErrorValue  ErrorKind = "value"  // any value that is not empty, zero or a word of success
	ErrorFlag   ErrorKind = "flag"   // true
	ErrorDenial ErrorKind = "denial" // false, "false" or 0
	ErrorWord   ErrorKind = "word"   // a word of failure
	ErrorStatus ErrorKind = "status" // a word of failure, several words that have one, or the text of an ErrorCode
	ErrorCode   ErrorKind = "code"   // a status of HTTP from 400 on, or a negative number
	ErrorCount  ErrorKind = "count"  // a number above 0
	ErrorEntry  ErrorKind = "entry"  // a list with a message that calls itself an error, or has a code of one: [{"type": "error"}]
	ErrorRemark ErrorKind = "remark" // a text that begins with the words runtime error
	ErrorList   ErrorKind = "list"   // a list that is not empty
	ErrorCut    ErrorKind = "cut"    // a text that says that results are truncated, or a list or an object with such a text

	ErrorDiagnostic ErrorKind = "diagnostic" // an object or a list with a diagnostic of SRU, other than that of a position after the end
)

// errorNames are the keys that report errors, by the kind of their values.
var errorNames = []struct {
	kind  ErrorKind
	names []string
}{
	{ErrorValue, []string{
		"ERROR", "Error Message",
		"error", "errors", "Error", "Errors", "fault", "Fault", "exception", "Exception", "error_message", "errorMessage",
		"error_msg", "errorMsg", "error_description", "error_code", "errorCode", "errcode", "errors_list", "failure",
		"ErrorResponse", "errorResponse", "error_response", "errno", "faultcode", "faultCode", "faultstring", "faultString", "stackTrace",
		"stack_trace", "err", "Err", "ErrorCode", "ErrorMessage", "errorMessages",
		"error_messages", "errorList", "error_list", "exceptions", "apiError", "api_error", "error_info",
		"errorInfo", "error_details", "errorDetails", "error_type", "errorType", "ServiceExceptionReport", "ExceptionReport",
	}},
	{ErrorFlag, []string{
		"isError", "is_error", "hasError", "has_error", "hasErrors", "has_errors", "timed_out", "timedOut", "partial", "is_partial",
		"isPartial", "partial_results", "partialResults", "incomplete_results", "incompleteResults", "failed", "timeout", "timedout",
		"throttled", "rateLimited", "rate_limited", "isIncomplete", "is_incomplete", "partialData", "partial_data", "PartialData",
		"partialResult", "isPartialResult", "incompleteData", "incompleteResult", "resultsIncomplete", "partialFailure",
	}},
	{ErrorDenial, []string{"success", "Success", "ok", "succeeded", "isSuccess", "is_success", "IsSuccess", "isSuccessful", "IsSuccessful"}},
	{ErrorWord, []string{"state", "result", "type", "response"}},
	{ErrorStatus, slices.Concat([]string{"status", "Status", "stat", "ack", "Ack", "responseStatus", "code", "Code", "__type"}, resultCodes)},
	{ErrorCode, slices.Concat([]string{"status", "Status", "code", "Code", "httpStatus", "http_status"}, resultCodes)},
	{ErrorEntry, []string{"messages", "Messages"}},
	{ErrorDiagnostic, []string{"diagnostics"}},
}

// resultCodes are the keys whose values are a word or a number that says how a request went.
var resultCodes = []string{
	"statusCode", "status_code", "resultCode", "result_code", "returnCode", "return_code", "retCode", "ret_code", "retcode",
	"responseCode", "response_code", "respCode", "resp_code", "ret",
}

// errorContainers are the objects in which these keys are looked for; "" is the root.
var errorContainers = []string{
	"", "meta", "response", "result", "status", "header", "responseStatus", "ResponseStatus", "responseHeader", "info", "cmmMsgHeader",
	"messages", // Authorize.Net
}

// errorMessages are the keys that say what the error is.
var errorMessages = append([]string{
	"message", "Message", "msg", "error_message", "errorMessage", "error_description", "detail", "errmsg", "errMsg", "err_msg", "retMsg",
	"ret_msg", "remark", "notice", "info", "returnMessage", "resultMessage", "result_message", "warning", "Note", "Information",
	"resultMsg", "result_msg", "returnAuthMsg", "retmsg", "returnMsg", "return_msg", "retMessage", "statusMessage", "status_message",
	"statusText", "status_text", "responseMessage", "response_message", "respMsg", "resp_msg", "errorText", "error_text", "userMessage",
	"developerMessage", "failureReason", "failure_reason",
}, captions...)

// captions are the keys among them that may describe a list as well: "Failed payments".
var captions = []string{"details", "title", "reason", "description"}

// IsErrorCaption reports whether the key, which [Key.IsErrorMessage], may describe a list as well: title, details.
func (k Key) IsErrorCaption() bool { return slices.Contains(captions, string(k)) }

// The words, in lower case, that tell success from failure.
var (
	successWords = []string{
		"ok", "success", "successful", "none", "no error", "no errors", "no_error", "noerror", "false", "null", "no", "n", "f", "200",
		"n/a", "normal service", "normal service.", "successfully", "succeeded",
		"成功", "操作成功", "请求成功", "查询成功", "正常", "正常終了", "성공", "정상", "정상 처리",
		"успешно", "успех", "erfolg", "erfolgreich",
		"succès", "éxito", "exito", "exitoso", "sucesso", "successo", "úspěch", "sukces",
	}
	warningWords = []string{"warning", "warn", "info", "information", "informational", "notice", "deprecation", "debug"}
	failureWords = []string{
		"error", "errors", "err", "fail", "failed", "failure", "fault", "exception", "denied", "forbidden",
		"nok", "ko", "timeout", "fatal",
	}
)

// codeText matches the text of an [ErrorCode].
var codeText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-[1-9][0-9]*|[45][0-9][0-9])$`) })

// zeros matches a code of no error.
var zeros = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^s?0+$`) })

// saysSuccess reports whether a text, in lower case, says that there is no error.
func saysSuccess(text string) bool {
	return slices.Contains(successWords, text) || zeros().MatchString(text)
}

// IsSuccess reports whether the value under the key says that the request has succeeded: "success": true, "code": 0.
func (k Key) IsSuccess(v any) bool {
	for _, row := range errorNames {
		if !slices.Contains(row.names, string(k)) {
			continue
		}
		switch row.kind {
		case ErrorDenial:
			flag, ok := Flag(v)
			return ok && flag
		case ErrorStatus, ErrorCode:
			text, ok := value.Text(v)
			return ok && saysSuccess(strings.ToLower(text))
		}
	}
	return false
}

// HoldsErrors reports whether the object under the key may hold errors and their messages.
func (k Key) HoldsErrors() bool { return k != "" && slices.Contains(errorContainers, string(k)) }

// An ErrorSign is a path at which a body may report an error.
type ErrorSign struct {
	Keys []string
	Kind ErrorKind
}

// nextToData are the signs that count in a response with items, too, and in the objects of containersNextToData.
var nextToData = []ErrorSign{
	{[]string{"errors"}, ErrorValue}, {[]string{"error"}, ErrorValue}, {[]string{"Error"}, ErrorValue},
	{[]string{"success"}, ErrorDenial}, {[]string{"ok"}, ErrorDenial},
	{[]string{"timed_out"}, ErrorFlag}, {[]string{"timedOut"}, ErrorFlag}, {[]string{"partial"}, ErrorFlag},
	{[]string{"isPartial"}, ErrorFlag}, {[]string{"is_partial"}, ErrorFlag},
	{[]string{"partial_results"}, ErrorFlag}, {[]string{"partialResults"}, ErrorFlag},
	{[]string{"incomplete_results"}, ErrorFlag}, {[]string{"incompleteResults"}, ErrorFlag},
	{[]string{"_shards", "failed"}, ErrorCount},
	{[]string{"incompleteSearch"}, ErrorFlag}, {[]string{"terminated_early"}, ErrorFlag}, {[]string{"jobComplete"}, ErrorDenial},
	{[]string{"unreachable"}, ErrorValue}, {[]string{"UnprocessedKeys"}, ErrorValue},
	{[]string{"responseHeader", "partialResults"}, ErrorFlag},
	{[]string{"Errors"}, ErrorValue}, {[]string{"fault"}, ErrorValue}, {[]string{"Fault"}, ErrorValue},
	{[]string{"exception"}, ErrorValue}, {[]string{"hasErrors"}, ErrorFlag}, {[]string{"has_errors"}, ErrorFlag},
	{[]string{"hasError"}, ErrorFlag}, {[]string{"has_error"}, ErrorFlag},
	{[]string{"isIncomplete"}, ErrorFlag}, {[]string{"partialData"}, ErrorFlag}, {[]string{"partial_data"}, ErrorFlag},
	{[]string{"PartialData"}, ErrorFlag}, {[]string{"partialResult"}, ErrorFlag}, {[]string{"isPartialResult"}, ErrorFlag},
	{[]string{"incompleteData"}, ErrorFlag}, {[]string{"incompleteResult"}, ErrorFlag}, {[]string{"resultsIncomplete"}, ErrorFlag},
	{[]string{"partialFailure"}, ErrorFlag}, {[]string{"partialFailureError"}, ErrorValue}, {[]string{"partialErrors"}, ErrorList},
	{[]string{"shardFailures"}, ErrorList}, {[]string{"failedShards"}, ErrorCount}, {[]string{"search_cutoff"}, ErrorFlag}, // Typesense
	{[]string{"UnprocessedItems"}, ErrorValue}, {[]string{"UnprocessedTraceIds"}, ErrorList}, // AWS
	{[]string{"OverallStatus"}, ErrorCut},                                        // Salesforce
	{[]string{"unreachables"}, ErrorList}, {[]string{"missingZones"}, ErrorList}, // Google
	{[]string{"failures"}, ErrorList}, {[]string{"numErrors"}, ErrorCount}, // AWS, HubSpot
	{[]string{"execute_errors"}, ErrorList}, {[]string{"omitted"}, ErrorValue}, // VK, Drupal
	{[]string{"_clusters", "skipped"}, ErrorCount}, {[]string{"_clusters", "failed"}, ErrorCount},
	{[]string{"_clusters", "partial"}, ErrorCount},
	{[]string{"request_status"}, ErrorCut},                                                           // Notion
	{[]string{"warnings"}, ErrorCut}, {[]string{"warning"}, ErrorCut}, {[]string{"infos"}, ErrorCut}, // Prometheus, EIA
}

// aboveLists are further signs that count in a response with items, too. A status there may be that of an item
// which has the list.
var aboveLists = []ErrorSign{
	{[]string{"remark"}, ErrorRemark}, // Overpass
	{[]string{"status"}, ErrorStatus}, {[]string{"responseStatus"}, ErrorStatus},
	{[]string{"meta", "status"}, ErrorStatus},
}

// containersNextToData are the objects beside a list in which the signs of nextToData count, too.
var containersNextToData = []string{"meta", "metadata", "status"}

// ErrorSignsNextToData returns the signs that count in a response with items, too: in its root, in objects that
// describe it, and in each object above the lists of items, whose paths are given. Callers must not change the result.
func ErrorSignsNextToData(lists [][]string) []ErrorSign {
	if slices.ContainsFunc(lists, func(list []string) bool { return len(list) > 1 }) {
		return errorsNextToLists(lists)
	}
	return errorsNextToRoot()
}

// errorsNextToRoot returns the signs for lists that are no deeper than a member of the root: the same for all.
var errorsNextToRoot = sync.OnceValue(func() []ErrorSign { return errorsNextToLists(nil) })

func errorsNextToLists(lists [][]string) []ErrorSign {
	everywhere := slices.Concat(nextToData, aboveLists)
	signs := slices.Clone(everywhere)
	addIn := func(parent []string, from []ErrorSign) {
		for _, sign := range from {
			if keys := slices.Concat(parent, sign.Keys); !slices.ContainsFunc(lists, func(list []string) bool {
				return len(list) >= len(keys) && slices.Equal(list[:len(keys)], keys)
			}) {
				signs = append(signs, ErrorSign{keys, sign.Kind})
			}
		}
	}
	for _, name := range containersNextToData {
		addIn([]string{name}, nextToData)
	}
	for _, list := range lists {
		for depth := 1; depth < len(list); depth++ {
			addIn(list[:depth], everywhere)
		}
	}
	return signs
}

// ErrorSignBeside returns the sign that the name of a member beside a list is, or in the place of one. It reports
// false for any other name. If the list has items, only the names of [ErrorSignsNextToData] are signs.
func ErrorSignBeside(name string, hasItems bool) (sign ErrorSign, ok bool) {
	table := errorsBeside()
	if sign, ok = table.nextToData[name]; !ok && !hasItems {
		if sign, ok = table.others[name]; !ok {
			sign, ok = table.codes[name]
		}
	}
	return sign, ok
}

// errorsBeside has the signs of one key: those next to data, the names of other values, and those of codes.
var errorsBeside = sync.OnceValue(func() (table struct{ nextToData, others, codes map[string]ErrorSign }) {
	table.nextToData, table.others, table.codes = map[string]ErrorSign{}, map[string]ErrorSign{}, map[string]ErrorSign{}
	for _, sign := range nextToData {
		if len(sign.Keys) == 1 && !sign.IsCode() {
			table.nextToData[sign.Keys[0]] = sign
		}
	}
	for _, row := range errorNames {
		for _, name := range row.names {
			switch row.kind {
			case ErrorValue:
				table.others[name] = ErrorSign{[]string{name}, row.kind}
			case ErrorCode:
				table.codes[name] = ErrorSign{[]string{name}, row.kind}
			}
		}
	}
	return table
})

// HasError reports whether an object has an error under a name that has no other meaning: {"error": "denied"}. An item
// that says that nothing was found has one, too.
func HasError(object value.Object) bool {
	return slices.ContainsFunc(object, func(m value.Member) bool {
		sign, ok := errorsBeside().others[m.Name]
		return ok && (sign.Matches(m.Value) || memberSaysEmpty(m))
	})
}

// IsErrorObject reports whether an object has only members that errors usually have, and one of them
// says that there is an error.
func IsErrorObject(object value.Object) bool {
	reports := false
	for _, m := range object {
		if !Key(m.Name).NamesErrors() {
			return false
		}
		text, _ := m.Value.(string)
		reports = reports || SaysFailure(text) || IsError(m) || Key(m.Name).NamesOnlyErrors() && saysEmpty(text)
	}
	return reports
}

// MayBeError reports whether a member of an object that is not like the items of its list tells of an error: [IsError]
// reports true, or the member is a status, a message about a failure, or an identifier that is one. Prefixes and capitals
// of a status do not count: "$severity", "Code".
func MayBeError(m value.Member) bool {
	name := strings.TrimLeft(m.Name, "$@_")
	text, _ := m.Value.(string)
	return IsError(m) || Key(name).IsFailedStatus(m.Value) || Key(strings.ToLower(name)).IsFailedStatus(m.Value) ||
		slices.Contains(severities, strings.ToLower(name)) && isFailureWord(m.Value) || IsIdentifier(m.Name) && SaysFailure(text)
}

// IsError reports whether a member has the name of a sign, and a value that reports an error.
func IsError(m value.Member) bool {
	return slices.ContainsFunc(Key(m.Name).ErrorSigns(), func(sign ErrorSign) bool { return sign.Matches(m.Value) })
}

// IsErrorEvent reports whether an object has nothing but errors, and one of them is an object, as in the events of streams:
// {"type": "ERROR", "object": {"status": "Failure", "code": 410}}.
func IsErrorEvent(object value.Object) bool {
	wraps := false
	for _, m := range object {
		inner, isObject := value.Members(m.Value)
		isError := isObject && slices.ContainsFunc(inner, IsError)
		if !isError && !IsError(m) {
			return false
		}
		wraps = wraps || isError
	}
	return wraps
}

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
	for _, sign := range nextToData {
		if !slices.ContainsFunc(out, func(s ErrorSign) bool { return s.Kind == sign.Kind && slices.Equal(s.Keys, sign.Keys) }) {
			out = append(out, sign)
		}
	}
	return out
})

// ErrorSigns returns the signs whose path is the key alone. The list is shared, and must not be changed.
func (k Key) ErrorSigns() []ErrorSign { return errorSignsByKey()[string(k)] }

var errorSignsByKey = sync.OnceValue(func() map[string][]ErrorSign {
	byKey := map[string][]ErrorSign{}
	for _, sign := range errorSigns() {
		if len(sign.Keys) == 1 {
			byKey[sign.Keys[0]] = append(byKey[sign.Keys[0]], sign)
		}
	}
	return byKey
})

// ErrorMessagePaths returns the paths of messages that belong to the signs. It is shared,
// and must not be changed.
func ErrorMessagePaths() [][]string { return errorMessagePaths() }

var errorMessagePaths = sync.OnceValue(func() [][]string {
	var out [][]string
	for _, container := range errorContainers {
		for _, name := range errorMessages {
			out = append(out, within(container, name))
		}
	}
	return out
})

func within(container, name string) []string {
	if container == "" {
		return []string{name}
	}
	return []string{container, name}
}

// MayMatch is a fast test of compact JSON: if it reports false, Matches reports false, too, save for a denial of 0.
// Next to items, that may be the number of those that have succeeded.
func (s ErrorSign) MayMatch(raw []byte) bool {
	word := string(raw[:min(len(raw), len("false")+1)])
	switch s.Kind {
	case ErrorFlag:
		return word == "true" || strings.EqualFold(word, `"true"`)
	case ErrorDenial:
		return word == "false" || strings.EqualFold(word, `"false`)
	case ErrorStatus:
		return raw[0] == '"' && s.Matches(string(raw[1:len(raw)-1]))
	case ErrorRemark:
		return raw[0] == '"' && s.Matches(string(raw[1:min(len(raw), len(runtimeError)+1)]))
	}
	return !slices.Contains([]string{"null", "[]", "{}", `""`, "false", "0"}, word)
}

// Matches reports whether a value at the sign's path reports an error.
func (s ErrorSign) Matches(v any) bool {
	switch s.Kind {
	case ErrorFlag:
		text, _ := v.(string)
		return v == true || strings.EqualFold(text, "true")
	case ErrorDenial:
		flag, ok := Flag(v)
		return ok && !flag
	case ErrorWord:
		return isFailureWord(v)
	case ErrorStatus:
		text, _ := v.(string)
		words := wordsOf(splitCamel(text))
		return isFailureWord(v) || len(words) > 1 && haveFailure(words) || codeText().MatchString(text)
	case ErrorCode:
		n, ok := wholeNumber(v)
		return ok && (n < 0 || n >= 400 && n < 600)
	case ErrorCount:
		n, ok := wholeNumber(v)
		return ok && n > 0
	case ErrorEntry:
		list, _ := v.([]any)
		return slices.ContainsFunc(list, isErrorEntry)
	case ErrorRemark:
		text, _ := v.(string)
		return strings.HasPrefix(text, runtimeError)
	case ErrorDiagnostic:
		return hasDiagnostic(v)
	case ErrorList:
		list, _ := v.([]any)
		return len(list) > 0
	case ErrorCut:
		return saysCut(v)
	}
	return isErrorValue(v)
}

// wholeNumber returns a number that is no text, in any type that JSON is decoded to.
func wholeNumber(v any) (n int, ok bool) {
	if _, isText := v.(string); isText {
		return 0, false
	}
	text, _ := value.Text(v)
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// splitCamel separates the words of a name in camel case.
func splitCamel(name string) string { return camelWord().ReplaceAllString(name, "$1 $2") }

var camelWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z])([A-Z])`) })

const runtimeError = "runtime error"

// hasDiagnostic reports whether a value is the address of a diagnostic of SRU, or contains one. Number 61 says that a
// position is out of range, as that after the last record is.
func hasDiagnostic(v any) bool {
	return slices.ContainsFunc(value.Texts(v), func(text string) bool {
		return strings.HasPrefix(text, "info:srw/diagnostic/") && !strings.HasSuffix(text, "/61")
	})
}

// saysCut reports whether a text says that results are truncated, or a list or an object has such a text.
func saysCut(v any) bool { return slices.ContainsFunc(value.Texts(v), cutWords().MatchString) }

// cutWords matches a warning that a response lacks results: "results truncated due to limit", "incomplete return".
var cutWords = sync.OnceValue(func() *regexp.Regexp {
	const noun = `(results?|result set|responses?|returns?|data|rows|records|series|list|output)`
	const state = `(truncated|incomplete|partial|cut off)`
	return regexp.MustCompile(`(?i)\b` + noun + ` (is |are |was |were |has been |have been )?` + state + `\b|\b` + state + ` ` + noun + `\b` +
		`|^` + state + `$|\btoo many (results|rows|records)\b|\bonly the first\b|\bresults hold data from\b|^receive series from ` +
		`|^unreachable$|^more ?data ?available$`)
})

// isErrorEntry reports whether a message calls itself an error, or has a code of one, and does not just say that there
// is nothing.
func isErrorEntry(v any) bool {
	entry, _ := value.Members(v)
	isKind := func(m value.Member) bool {
		code, _ := value.Text(m.Value)
		return slices.Contains(severities, m.Name) && isFailureWord(m.Value) || m.Name == "code" && codeText().MatchString(code)
	}
	saysNoMore := func(m value.Member) bool { text, _ := m.Value.(string); return SaysNoMore(text) }
	return slices.ContainsFunc(entry, isKind) && !slices.ContainsFunc(entry, saysNoMore)
}

// severities are the keys that say whether a message is about an error.
var severities = []string{"severity", "level", "type"}

// IsCode reports whether the sign is a number or a word that may also say that there are no items.
func (s ErrorSign) IsCode() bool { return s.Kind == ErrorCode || s.Kind == ErrorStatus }

// isFailureWord reports whether a value is a word of failure.
func isFailureWord(v any) bool {
	text, ok := v.(string)
	return ok && slices.Contains(failureWords, strings.ToLower(text))
}

// isWarning reports whether the severity of a message says that it is no error.
func isWarning(severity any) bool {
	word, _ := severity.(string)
	return slices.Contains(warningWords, strings.ToLower(word))
}

// IsErrorMessage reports whether the key is usual for the message of an error.
func (k Key) IsErrorMessage() bool { return slices.Contains(errorMessages, string(k)) }

// NamesOnlyErrors reports whether the key has no other meaning than an error or errors.
func (k Key) NamesOnlyErrors() bool {
	_, ok := errorsBeside().others[string(k)]
	return ok
}

// NamesErrors reports whether the key is usual for errors and their messages.
func (k Key) NamesErrors() bool { return namesOfErrors()[string(k)] }

var namesOfErrors = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, row := range errorNames {
		for _, name := range row.names {
			names[name] = true
		}
	}
	for _, name := range errorMessages {
		names[name] = true
	}
	return names
})

// MayNameErrors reports whether the key is usual for errors and their messages, or has a word for an error in it.
func (k Key) MayNameErrors() bool { return k.NamesErrors() || namesErrorByWord(string(k)) }

// namesErrorByWord reports whether a word of a key, in camel case or snake case, names an error.
func namesErrorByWord(key string) bool { return errorWord().MatchString(key) }

// errorWord matches a word for an error in camel case or snake case.
var errorWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|_|-)(error|exception|fault|failure)s?([A-Z_-]|$)|` +
		`(E|[a-z0-9]E)(rror|xception)s?([A-Z_-]|$)|[a-z0-9](Fault|Failure)s?([A-Z_-]|$)`)
})

// IsFailedStatus reports whether the value under the key, which names a status, reports an error, given that a good page of
// the same list has no such value.
func (k Key) IsFailedStatus(v any) bool {
	text, _ := v.(string)
	isSign := func(s ErrorSign) bool { return s.Matches(v) }
	return k.IsErrorMessage() && SaysFailure(text) || namesErrorByWord(string(k)) && isErrorValue(v) ||
		slices.ContainsFunc(k.ErrorSigns(), isSign)
}

// IsOwnCode reports whether the value under the key is a code of an API's own, or a word for a result that is not ready, which tells of an
// error if good pages of the same list have another one. Small numbers have other meanings, and those from 200 to 299 are success.
func (k Key) IsOwnCode(v any) bool {
	text, _ := value.Text(v)
	return isCode(string(k)) && (ownCode().MatchString(text) || unsettled().MatchString(text))
}

// unsettled matches a word for a result that is not ready.
var unsettled = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(processing|running|pending|queued|in[ _]?progress|scheduled|partial|partial[ _]?data|incomplete)$`)
})

// SaysPending reports whether a text says that a result is not ready, or was given up: PENDING, EXPORT_IN_PROGRESS. Words
// that a name often ends with count alone, in capitals or after a space: FAILED, but not emails_failed.
func SaysPending(text string) bool {
	text = strings.TrimRight(text, " .!…")
	if text == strings.ToUpper(text) {
		text = strings.ReplaceAll(text, "_", " ")
	}
	return unsettledEnd().MatchString(text)
}

var unsettledEnd = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[ _-])(pending|queued|in[ _-]?progress|not[ _-](yet[ _-])?(ready|available|finished|completed?))$|` +
		`(^| )(cancell?ed|aborted|expired|locked|busy|throttled|overloaded|failed)$|` +
		`^(processing|running|scheduled|accepted|submitted|started|preparing|generating|building|initiali[sz]ing|waiting|` +
		`系统繁忙|处理中|正在处理|排队中|请稍后(再试|重试)?|处理失败|処理中|準備中|처리 ?중|대기 ?중)$`)
})

// isCode reports whether a key is usual for a code or word that says how a request went.
func isCode(key string) bool { return slices.ContainsFunc(Key(key).ErrorSigns(), ErrorSign.IsCode) }

var ownCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-[0-9]+|1[0-9][0-9]|[3-9][0-9][0-9]|[0-9]{4,})$`) })

// isErrorValue reports whether the value of a key such as error is an error, and does not
// just say that there is no error.
func isErrorValue(v any) bool {
	if object, ok := value.Members(v); ok {
		if slices.ContainsFunc(object, memberSaysEmpty) { // {"code": 404, "message": "No records found"}
			return slices.ContainsFunc(object, isFailedRequest)
		}
		if text, has := object.Get("#text"); has {
			return isErrorValue(text)
		}
		for _, name := range []string{"code", "status"} { // {"code": 0, "message": "OK"}
			if code, has := object.Get(name); has && !isErrorValue(code) {
				return false
			}
		}
		for _, name := range severities {
			if word, _ := object.Get(name); isWarning(word) {
				return false
			}
		}
		return slices.ContainsFunc(object, func(m value.Member) bool { // {"total": 0} has none, and neither has {"warnings": […]}
			return !isWarning(strings.TrimSuffix(m.Name, "s")) && isErrorValue(m.Value)
		})
	}
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, isErrorValue)
	}
	text, ok := value.Text(v)
	text = strings.TrimSpace(text)
	return ok && text != "" && !saysSuccess(strings.ToLower(text)) && !saysEmpty(text)
}

// memberSaysEmpty reports whether a member is a message, or a code, that nothing was found.
func memberSaysEmpty(m value.Member) bool { text, _ := m.Value.(string); return saysEmpty(text) }

// isFailedRequest reports whether a member is the status of a refused credential, a rate limit or a failure of the server.
func isFailedRequest(m value.Member) bool {
	text, _ := value.Text(m.Value)
	return requestFailure().MatchString(text)
}

var requestFailure = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(40[138]|429|5[0-9][0-9])$`) })
