package apinames

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
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
	ErrorDenial ErrorKind = "denial" // false, "false" or 0
	ErrorWord   ErrorKind = "word"   // a word of failure
	ErrorStatus ErrorKind = "status" // a word of failure, with a number or among others, or the text of an ErrorCode
	ErrorCode   ErrorKind = "code"   // a status of HTTP from 400 on, or a negative number
	ErrorCount  ErrorKind = "count"  // a number above 0
	ErrorEntry  ErrorKind = "entry"  // a list with a message that calls itself an error, or has a code of one: [{"type": "error"}]
	ErrorRemark ErrorKind = "remark" // a text that begins with the words runtime error
	ErrorList   ErrorKind = "list"   // a list that is not empty
	ErrorState  ErrorKind = "state"  // a word for a result that is not ready, or not whole
	ErrorCut    ErrorKind = "cut"    // a text that says that results are truncated, or a list or an object with such a text

	ErrorDiagnostic ErrorKind = "diagnostic" // an object or a list with a diagnostic of SRU, other than that of a position after the end
)

// errorNames are the names that report errors, by the kind of their values. Like all names of errors, each stands for
// its other spellings, too: errorCode for error_code, ErrorCode and errorcode. A name with an underscore before it has one.
var errorNames = []struct {
	kind  ErrorKind
	names []string
}{
	{ErrorValue, []string{
		"error", "errors", "fault", "exception", "errorMessage", "errorMsg", "errorDescription", "errorCode", "errCode", "errorsList",
		"failure", "errorResponse", "errno", "faultCode", "faultString", "stackTrace", "err", "errorMessages", "errorList", "exceptions",
		"apiError", "errorInfo", "errorDetails", "errorType", "exceptionMessage", "exceptionType", "serviceExceptionReport",
		"exceptionReport",
	}},
	{ErrorFlag, []string{
		"isError", "hasError", "hasErrors", "timedOut", "partial", "isPartial", "partialResults", "incompleteResults", "failed",
		"timeout", "throttled", "rateLimited", "isIncomplete", "partialData", "partialResult", "isPartialResult", "incompleteData",
		"incompleteResult", "resultsIncomplete", "partialFailure",
	}},
	{ErrorDenial, []string{"success", "ok", "succeeded", "isSuccess", "isSuccessful"}},
	{ErrorWord, []string{"state", "result", "type", "response"}},
	{ErrorStatus, slices.Concat([]string{"status", "stat", "ack", "responseStatus", "code", "__type"}, resultCodes)},
	{ErrorCode, slices.Concat([]string{"status", "code", "httpStatus"}, resultCodes)},
	{ErrorEntry, []string{"messages"}},
	{ErrorDiagnostic, []string{"diagnostics"}},
}

// resultCodes are the names whose values are a word or a number that says how a request went.
var resultCodes = []string{"statusCode", "resultCode", "returnCode", "retCode", "responseCode", "respCode", "ret"}

// errorContainers are the objects in which these names are looked for; "" is the root.
var errorContainers = []string{
	"", "meta", "response", "result", "status", "header", "responseStatus", "responseHeader", "info", "cmmMsgHeader",
	"messages", // Authorize.Net
}

// errorMessages are the names that say what the error is.
var errorMessages = append([]string{
	"message", "msg", "errorMessage", "errorDescription", "detail", "errMsg", "retMsg", "remark", "notice", "info", "returnMessage",
	"resultMessage", "warning", "note", "information", "resultMsg", "returnAuthMsg", "returnMsg", "retMessage", "statusMessage",
	"statusText", "responseMessage", "respMsg", "errorText", "userMessage", "developerMessage", "failureReason", "exceptionMessage",
}, captions...)

// captions are the names among them that may describe a list as well: "Failed payments".
var captions = []string{"details", "title", "reason", "description"}

// IsErrorCaption reports whether the key, which [Key.IsErrorMessage], may describe a list as well: title, details.
func (k Key) IsErrorCaption() bool { return AlikeAny(string(k), captions) }

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

// failureCode matches a word of failure with a number: ERROR-300.
var failureCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(error|err|fail|failed|failure|fault|exception)[-_ ]?0*[1-9][0-9]*$`)
})

// zeros matches a code of no error.
var zeros = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^s?0+$`) })

// saysSuccess reports whether a text, in lower case, says that there is no error.
func saysSuccess(text string) bool {
	return slices.Contains(successWords, text) || zeros().MatchString(text)
}

// IsSuccess reports whether the value under the key says that the request has succeeded: "success": true, "code": 0.
func (k Key) IsSuccess(v any) bool {
	for _, sign := range k.ErrorSigns() {
		switch sign.Kind {
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
func (k Key) HoldsErrors() bool { return k != "" && AlikeAny(string(k), errorContainers) }

// An ErrorSign is a path at which a body may report an error.
type ErrorSign struct {
	Keys []string
	Kind ErrorKind
}

// nextToData are the signs that count in a response with items, too, and in the objects of containersNextToData. Such a
// path is looked up in each page while it is scanned, so it is known in the spellings of [spellings] alone.
var nextToData = sync.OnceValue(func() []ErrorSign {
	return spelled(slices.Concat(
		signsOf(ErrorValue, "errors", "error", "unreachable", "unprocessedKeys", "fault", "exception", "partialFailureError",
			"unprocessedItems", // AWS
			"omitted",          // Drupal
		),
		signsOf(ErrorDenial, "success", "ok", "jobComplete"),
		signsOf(ErrorFlag, "timedOut", "partial", "isPartial", "partialResults", "incompleteResults", "incompleteSearch",
			"terminatedEarly", "hasErrors", "hasError", "isIncomplete", "partialData", "partialResult", "isPartialResult",
			"incompleteData", "incompleteResult", "resultsIncomplete", "partialFailure",
			"searchCutoff",         // Typesense
			"dataLossFromOtherRow", // Google Analytics
		),
		signsOf(ErrorList, "partialErrors", "shardFailures",
			"unprocessedTraceIds", "failures", // AWS
			"unreachables", "missingZones", // Google
			"executeErrors", // VK
		),
		signsOf(ErrorCount, "failedShards",
			"numErrors", // HubSpot
		),
		signsOf(ErrorCut,
			"overallStatus",                // Salesforce
			"requestStatus",                // Notion
			"warnings", "warning", "infos", // Prometheus, EIA
			"exceptions", // Kusto
		),
		[]ErrorSign{
			{[]string{"_shards", "failed"}, ErrorCount},
			{[]string{"responseHeader", "partialResults"}, ErrorFlag},
			{[]string{"_clusters", "skipped"}, ErrorCount}, {[]string{"_clusters", "failed"}, ErrorCount},
			{[]string{"_clusters", "partial"}, ErrorCount},
			{[]string{"columns", "columnErrors"}, ErrorList}, // Adobe Analytics
		},
	))
})

// signsOf returns signs of one key.
func signsOf(kind ErrorKind, names ...string) []ErrorSign {
	signs := make([]ErrorSign, len(names))
	for i, name := range names {
		signs[i] = ErrorSign{[]string{name}, kind}
	}
	return signs
}

// spelled returns signs in all spellings of their last keys.
func spelled(signs []ErrorSign) []ErrorSign {
	var out []ErrorSign
	for _, sign := range signs {
		last := len(sign.Keys) - 1
		for _, name := range spellings(sign.Keys[last]) {
			out = append(out, ErrorSign{slices.Concat(sign.Keys[:last], []string{name}), sign.Kind})
		}
	}
	return out
}

// spellings returns the usual spellings of a name in camel case: itself, with a capital before it, and in snake case.
func spellings(name string) []string {
	out := []string{name, strings.ToUpper(name[:1]) + name[1:]}
	if words := strings.ToLower(camelWord().ReplaceAllString(name, "${1}_${2}")); words != name {
		out = append(out, words)
	}
	return out
}

// aboveLists are further signs that count in a response with items, too. A status there may be that of an item
// which has the list.
var aboveLists = []ErrorSign{
	{[]string{"remark"}, ErrorRemark}, // Overpass
	{[]string{"status"}, ErrorStatus}, {[]string{"responseStatus"}, ErrorStatus},
	{[]string{"meta", "status"}, ErrorStatus},
	{[]string{"status"}, ErrorState}, {[]string{"meta", "status"}, ErrorState},
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
	everywhere := slices.Concat(nextToData(), spelled(aboveLists))
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
	hasCapital := func(sign ErrorSign) bool { return unicode.IsUpper(rune(sign.Keys[len(sign.Keys)-1][0])) }
	small := slices.DeleteFunc(slices.Clone(nextToData()), hasCapital)
	capital := slices.DeleteFunc(slices.Clone(nextToData()), func(sign ErrorSign) bool { return !hasCapital(sign) })
	for _, container := range containersNextToData { // an API begins all of its names with a capital, or none
		addIn([]string{container}, small)
		addIn([]string{strings.ToUpper(container[:1]) + container[1:]}, capital)
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
	signs := signsNamed(Key(name))
	for _, isSign := range []func(named) bool{
		func(n named) bool { return n.nextToData && !n.IsCode() },
		func(n named) bool { return !hasItems && n.Kind == ErrorValue },
		func(n named) bool { return !hasItems && n.Kind == ErrorCode },
	} {
		if i := slices.IndexFunc(signs, isSign); i >= 0 {
			return signs[i].ErrorSign, true
		}
	}
	return ErrorSign{}, false
}

// A named sign has a single key.
type named struct {
	ErrorSign
	rank       int  // place in the table
	nextToData bool // whether it counts in a response with items
	always     bool // whether it counts in a response without items
}

// signsNamed returns the signs with a name, in any spelling.
func signsNamed(k Key) []named {
	var buffer [maxBare]byte
	table := errorSignsByName()
	signs := table[string(appendBare(buffer[:0], string(k)))]
	if exact := table[string(k)]; exact != nil && k[0] == '_' {
		return slices.Concat(exact, signs)
	}
	return signs
}

// errorSignsByName holds the signs of one key by bare names, and those with an underscore before them by their own.
var errorSignsByName = sync.OnceValue(func() map[string][]named {
	table, rank := map[string][]named{}, 0
	add := func(name string, kind ErrorKind) *named {
		key := name
		if name[0] != '_' {
			key = string(appendBare(nil, name))
		}
		i := slices.IndexFunc(table[key], func(n named) bool { return n.Kind == kind })
		if i < 0 {
			i, rank = len(table[key]), rank+1
			table[key] = append(table[key], named{ErrorSign: ErrorSign{[]string{name}, kind}, rank: rank})
		}
		return &table[key][i]
	}
	for _, row := range errorNames {
		for _, name := range row.names {
			add(name, row.kind).always = true
		}
	}
	for _, sign := range nextToData() {
		if len(sign.Keys) == 1 {
			add(sign.Keys[0], sign.Kind).nextToData = true
		}
	}
	return table
})

// HasError reports whether an object has an error under a name that has no other meaning: {"error": "denied"}. An item
// that says that nothing was found has one, too.
func HasError(object value.Object) bool {
	return slices.ContainsFunc(object, func(m value.Member) bool {
		return Key(m.Name).NamesOnlyErrors() && (ErrorSign{Kind: ErrorValue}.Matches(m.Value) || memberSaysEmpty(m))
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

// ErrorSignsIn returns the signs that a body without items has, those nearer to the root first, whatever
// their values say. Each has its path in the body.
func ErrorSignsIn(body any) []ErrorSign {
	var signs []ErrorSign
	for parent, object := range errorObjects(body) {
		var found []named
		for _, m := range object {
			for _, n := range signsNamed(Key(m.Name)) {
				n.Keys = append(slices.Clip(parent), m.Name)
				found = append(found, n)
			}
		}
		slices.SortStableFunc(found, func(a, b named) int { return a.rank - b.rank })
		for _, n := range found {
			signs = append(signs, n.ErrorSign)
		}
	}
	for _, sign := range nextToData() {
		if _, ok := value.At(body, sign.Keys); ok && len(sign.Keys) > 1 {
			signs = append(signs, sign)
		}
	}
	return signs
}

// errorObjects iterates over the objects of a body in which errors are looked for, with their paths, those nearer to
// the root first.
func errorObjects(body any) iter.Seq2[[]string, value.Object] {
	return func(yield func([]string, value.Object) bool) {
		root, ok := value.Members(body)
		if !ok || !yield(nil, root) {
			return
		}
		for _, container := range errorContainers[1:] {
			for _, m := range root {
				if inner, ok := value.Members(m.Value); ok && Alike(m.Name, container) && !yield([]string{m.Name}, inner) {
					return
				}
			}
		}
	}
}

// ErrorSigns returns the signs whose path is the key alone. Their keys are the names of the table.
func (k Key) ErrorSigns() []ErrorSign {
	var signs []ErrorSign
	for _, n := range signsNamed(k) {
		signs = append(signs, n.ErrorSign)
	}
	return signs
}

// ErrorMessagesIn returns the paths of the messages that a body has, or of values with their names, those nearer to
// the root first.
func ErrorMessagesIn(body any) [][]string {
	var paths [][]string
	for parent, object := range errorObjects(body) {
		for _, name := range errorMessages {
			for _, m := range object {
				if Alike(m.Name, name) {
					paths = append(paths, append(slices.Clip(parent), m.Name))
				}
			}
		}
	}
	return paths
}

// ErrorMessagePaths returns the paths of messages in their usual spellings. It is shared, and must not be changed.
func ErrorMessagePaths() [][]string { return errorMessagePaths() }

var errorMessagePaths = sync.OnceValue(func() [][]string {
	var out [][]string
	for _, container := range errorContainers {
		for _, message := range errorMessages {
			for _, name := range spellings(message) {
				if container == "" {
					out = append(out, []string{name})
					continue
				}
				for _, parent := range spellings(container) {
					out = append(out, []string{parent, name})
				}
			}
		}
	}
	return out
})

// MayMatch is a fast test of compact JSON: if it reports false, Matches reports false, too, except for a denial of 0.
// Next to items, that may be the number of those that have succeeded.
func (s ErrorSign) MayMatch(raw []byte) bool {
	word := string(raw[:min(len(raw), len("false")+1)])
	switch s.Kind {
	case ErrorFlag:
		return word == "true" || strings.EqualFold(word, `"true"`)
	case ErrorDenial:
		return word == "false" || strings.EqualFold(word, `"false`)
	case ErrorStatus, ErrorState:
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
		return isFailureWord(v) || len(words) > 1 && haveFailure(words) || codeText().MatchString(text) || failureCode().MatchString(text)
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
	case ErrorState:
		text, _ := v.(string)
		return unfinished().MatchString(text)
	}
	return isErrorValue(v)
}

// wholeNumber returns a number that is not a text, in any type that JSON is decoded to.
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
	return regexp.MustCompile(`(?i)\b` + noun + ` (is |are |was |were |has been |have been |may be )?` + state + `\b` +
		`|\b` + state + ` ` + noun + `\b` +
		`|^` + state + `$|\btoo many (results|rows|records)\b|\bonly the first\b` +
		`|\bresult set has exceeded\b|\bresults hold data from\b|^receive series from ` +
		`|^unreachable$|^more ?data ?available$` +
		`|\b(exceeds|exceeded|exceeding) (the |its )?(maximum |max )?(row|record|result|item)s? ?limit\b` +
		`|\b(row|record|result|item)s? limit (was |has been )?exceeded\b` +
		`|\b(some|several|[0-9]+( of [0-9]+)?) (shards?|partitions?|nodes?|segments?|sources?|backends?|servers?) ` +
		`(have |has |were |was )?(failed|timed out|skipped|unavailable|unreachable)\b`)
})

// SaysPartial reports whether a warning, or one in a list or an object, says that a response has a part of the results. It may
// only mean the page.
func SaysPartial(v any) bool { return slices.ContainsFunc(value.Texts(v), partialWords().MatchString) }

var partialWords = sync.OnceValue(func() *regexp.Regexp {
	const noun = `(results?|rows|records|items|entries|documents|hits|matches)`
	return regexp.MustCompile(`(?i)\b` + noun + ` (is |are |was |were |has been |have been )?limited to (the )?(first )?[0-9]` +
		`|\bmaximum (number of )?` + noun + ` (was |has been |is )?(reached|exceeded|returned)\b` +
		`|\bnot all ` + noun + ` (are|were|is|was|could|have|has|can)\b|\b` + noun + ` limit (was |has been |is )?reached\b` +
		`|\b(there are|are) more ` + noun + `\b|\b(more|additional|further) ` + noun + ` (are |is )?(available|exist)\b`)
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
func (s ErrorSign) IsCode() bool {
	return s.Kind == ErrorCode || s.Kind == ErrorStatus || s.Kind == ErrorState
}

// isFailureWord reports whether a value is a word of failure.
func isFailureWord(v any) bool {
	text, ok := v.(string)
	return ok && slices.Contains(failureWords, strings.ToLower(text))
}

// isWarning reports whether the severity of a message says that it is not an error.
func isWarning(severity any) bool {
	word, _ := severity.(string)
	return slices.Contains(warningWords, strings.ToLower(word))
}

// IsErrorMessage reports whether the key is usual for the message of an error.
func (k Key) IsErrorMessage() bool {
	var buffer [maxBare]byte
	return messagesByName()[string(appendBare(buffer[:0], string(k)))]
}

// messagesByName has the bare names of messages.
var messagesByName = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, name := range errorMessages {
		names[string(appendBare(nil, name))] = true
	}
	return names
})

// NamesOnlyErrors reports whether the key has no other meaning than an error or errors.
func (k Key) NamesOnlyErrors() bool {
	return slices.ContainsFunc(signsNamed(k), func(n named) bool { return n.Kind == ErrorValue && n.always })
}

// NamesErrors reports whether the key is usual for errors and their messages.
func (k Key) NamesErrors() bool {
	return k.IsErrorMessage() || slices.ContainsFunc(signsNamed(k), func(n named) bool { return n.always })
}

// MayNameErrors reports whether the key is usual for errors and their messages, or has a word for an error in it.
func (k Key) MayNameErrors() bool { return k.NamesErrors() || namesErrorByWord(string(k)) }

// ListsFailures reports whether a list under the key, beside the list of the items, is about failures: "executionErrors",
// "failedLocation", "unreachable", "warnings".
func (k Key) ListsFailures() bool {
	_, isSign := ErrorSignBeside(string(k), true)
	return isSign || namesErrorByWord(string(k)) || haveFailure(wordsOf(splitCamel(string(k))))
}

// ListsReports reports whether a list under the key is about errors, warnings or messages: [Key.ListsFailures] reports true, or
// its entries are signs of errors. A list of items may be called messages, too.
func (k Key) ListsReports() bool {
	hasSigns := func(s ErrorSign) bool { return s.Kind == ErrorEntry || s.Kind == ErrorDiagnostic }
	return k.ListsFailures() || slices.ContainsFunc(k.ErrorSigns(), hasSigns)
}

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

// unfinished matches such a word if it seldom says what the items of a list have in common, as pending does.
var unfinished = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(processing|running|queued|in[ _]?progress|partial|partial[ _]?data|incomplete)$`)
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
		`系统繁忙|处理中|正在处理|排队中|` +
		`请稍后(再试|重试)?|处理失败|処理中|準備中|처리 ?중|대기 ?중)$`)
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
