package apinames

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/value"
)

// doubts are the members beside an empty list that may say why it is empty, by their names and values. Each may mean
// something else: E001 may be the code for a list without items.
var doubts = []struct {
	names []string
	says  func(v any) bool
	isOwn bool // whether an object with an identifier may have the member as a part of its own
}{
	{resultCodes, func(v any) bool { return isCodeOfError(v) || isRefusal(v) }, false},
	{[]string{"code"}, isRefusal, true},
	{stateNames, func(v any) bool { text, _ := v.(string); return unsettled().MatchString(text) || isFailureWord(v) }, true},
	{[]string{"warnings"}, warns, false},
	{[]string{
		"ready", "isReady", "dataReady", "authenticated", "isAuthenticated", "authorized", "isAuthorized", "loggedIn", "isLoggedIn",
	}, func(v any) bool { flag, ok := Flag(v); return ok && !flag }, true},
	{[]string{"retryAfter", "retryAfterSeconds", "retryAfterMs", "retryIn"}, ErrorSign{Kind: ErrorCount}.Matches, false},
}

// stateNames are the names of what says whether a result is ready, and jobs the objects that have them, too.
var (
	stateNames = []string{
		"status", "state", "jobStatus", "jobState", "queryStatus", "queryState", "executionStatus", "executionState",
		"reportStatus", "exportStatus", "taskStatus", "processingStatus", "asyncStatus",
	}
	jobs = []string{"job", "query", "execution", "export", "report", "task", "reportRequestStatus"}
)

// DoubtsIn returns the paths of the members of a body without items that may say why its list is empty: a code of an error
// as E001 or 50001, a word or a flag for a result that is not ready or has failed, a time to wait, or warnings. The state of an
// object with an identifier is its own, except that of a job.
func DoubtsIn(body any) (paths [][]string) {
	for parent, object := range errorObjects(body) {
		hasID := slices.ContainsFunc(object, func(m value.Member) bool { return IsIdentifier(m.Name) })
		for _, m := range object {
			if i := indexOfDoubt(m); i >= 0 && !(hasID && doubts[i].isOwn) {
				paths = append(paths, append(slices.Clip(parent), m.Name))
			}
		}
	}
	root, _ := value.Members(body)
	for _, m := range root {
		job, _ := value.Members(m.Value)
		for _, state := range job {
			if AlikeAny(m.Name, jobs) && AlikeAny(state.Name, stateNames) && indexOfDoubt(state) >= 0 {
				paths = append(paths, []string{m.Name, state.Name})
			}
		}
	}
	return paths
}

// indexOfDoubt returns the index of the row of doubts that a member meets, or -1.
func indexOfDoubt(m value.Member) int {
	for i, row := range doubts {
		if AlikeAny(m.Name, row.names) && row.says(m.Value) {
			return i
		}
	}
	return -1
}

// isCodeOfError reports whether a value is a code of an API's own whose letter stands for an error: E001, but not E000.
func isCodeOfError(v any) bool {
	text, _ := v.(string)
	return codeOfError().MatchString(text)
}

var codeOfError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^E[-_]?0*[1-9][0-9]*$`) })

// isRefusal reports whether a value is a code of an API's own that is hardly one of success: those are often round.
func isRefusal(v any) bool {
	text, ok := value.Text(v)
	return ok && ownCode().MatchString(text) && !roundCode().MatchString(text)
}

var roundCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[12]0+$`) })

// warns reports whether warnings say something else than that there is nothing, or that something is deprecated.
func warns(v any) bool {
	if _, isScalar := value.Text(v); isScalar {
		return false
	}
	isHarmless := func(text string) bool {
		return saysEmpty(text) || SaysNoMore(text) || strings.Contains(strings.ToLower(text), "deprecat")
	}
	texts := slices.DeleteFunc(value.Texts(v), func(text string) bool {
		return len(wordsOf(text)) == 0 || saysSuccess(strings.ToLower(text))
	})
	return len(texts) > 0 && !slices.ContainsFunc(texts, isHarmless)
}
