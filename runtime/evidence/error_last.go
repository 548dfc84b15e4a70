package evidence

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// noticeLastLine notices a page in NDJSON or CSV whose last line is not an item: a message of the server in place of a row,
// or an error, which has no member of the other lines, or nothing but errors: {"type": "ERROR", "object": {"status": "Failure"}}.
// If it shares members with the other lines but lacks their identifier, and they lack its error, it may still be an item. The
// only line of the first page is an error if [apinames.IsErrorObject] says so.
func (s errorSearch) noticeLastLine() {
	lines := s.reading.Compared
	if !s.reading.Lines || len(lines) == 0 || s.subject.listsErrors {
		return
	}
	n := len(lines) - 1
	if n > 0 && isMessageRow(valuesIn(lines[n])) && !isLikeMessage(valuesIn(lines[n-1])) {
		s.reportError("its last line is "+value.Clip(string(lines[n]), maxShown)+", which is a message and no row", rules.DoubtNone)
		return
	}
	last, ok := membersOf(lines[n])
	if !ok {
		return
	}
	first := s.context.Page == 1 && n == 0
	names := s.first.FirstNames
	if n > 0 {
		members, _ := membersOf(lines[0])
		names = namesOf(members)
	}
	isLikeItem := func(m rules.Member) bool {
		return first && !apinames.NamesError(m.Name) || !first && slices.Contains(names, m.Name)
	}
	isEnvelope := func(line []byte) bool { members, _ := membersOf(line); return apinames.WrapsError(members) }
	switch isLike := slices.ContainsFunc(last, isLikeItem); {
	case !isLike:
		if slices.ContainsFunc(last, apinames.ReportsError) {
			s.reportError("its last line is "+shortText(last)+", which has no member of the other lines", rules.DoubtNone)
		}
	case n > 0 && isEnvelope(lines[n]) && !slices.ContainsFunc(lines[:n], isEnvelope):
		s.reportError("its last line is "+value.Clip(string(lines[n]), maxShown)+", and no other line is an error", rules.DoubtNone)
	default:
		isNewError := func(m rules.Member) bool { return apinames.HasError(rules.Object{m}) && s.isNew(m.Name) }
		identifies := func(m rules.Member) bool {
			return apinames.IsIdentifier(m.Name) && !value.Empty(m.Value) && m.Value != 0
		}
		identified := slices.ContainsFunc(names, apinames.IsIdentifier) && !slices.ContainsFunc(last, identifies)
		if !first && identified && slices.ContainsFunc(last, isNewError) {
			s.reportError("its last line is "+shortText(last)+", which has no identifier", rules.DoubtItem)
		}
	}
}

// maxShown is the length of the longest part of a line in a message.
const maxShown = 120

// isNew reports whether no line of the page has a member with the given name, apart from the last line.
func (p *lastPage) isNew(name string) bool {
	lines := p.reading.Compared
	return !slices.ContainsFunc(lines[:len(lines)-1], func(line []byte) bool {
		object, _ := membersOf(line)
		_, has := object.Get(name)
		return has
	})
}

// valuesIn returns the values of a line: of the members of an object, or of the elements of a list.
func valuesIn(line []byte) []any {
	var v any
	if len(line) > maxErrorBody || value.Unmarshal(line, &v) != nil {
		return nil
	}
	if list, ok := v.([]any); ok {
		return list
	}
	members, _ := value.Members(v)
	return value.Map(members, func(m rules.Member) any { return m.Value })
}

// isMessageRow reports whether a server has written a line in place of rows: an exception of a database, dots in all
// fields, or a sentence alone in its row that says that rows are missing.
func isMessageRow(row []any) bool {
	if len(row) == 0 {
		return false
	}
	first, isText := row[0].(string)
	isFilled := func(v any) bool { return !value.Empty(v) }
	isDots := func(v any) bool { return value.Empty(v) || v == "..." || v == "…" }
	switch alone := !slices.ContainsFunc(row[1:], isFilled); {
	case !isText:
		return false
	case alone && len(row) > 1 && missingRows().MatchString(first):
		return true
	}
	return databaseException().MatchString(first) ||
		omittedRows().MatchString(first) && !slices.ContainsFunc(row[1:], func(v any) bool { return !isDots(v) })
}

// isLikeMessage reports whether a row is like one of [isMessageRow], so that the list may have such rows.
func isLikeMessage(row []any) bool {
	if len(row) == 0 {
		return false
	}
	text, _ := row[0].(string)
	return strings.Count(text, " ") >= 2 || strings.HasPrefix(text, "..")
}

var (
	databaseException = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Code: \d+\. DB::\w*Exception: `) })
	omittedRows       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:\.\.\.|…)(?: ?\(truncated\))?$`) })
	missingRows       = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*(?:truncated\W*$|maximum (?:number of )?(?:rows|records|results)\b.*\b(?:exceeded|reached)\b|` +
			`(?:the )?(?:row|record|result|output|data|file|export|response)s?\b.*\b(?:truncated|exceeded|omitted)\b)`)
	})
)

// totalRow returns the number in the last line of the page if the line counts or adds up the others: Total,11. It has a word
// for a total, one whole number and nothing else. The number may be that of the items, or the sum of a column.
func (p *lastPage) totalRow() (total any, ok bool) {
	lines := p.reading.Compared
	if !p.reading.Lines || len(lines) < 2 || hasTotalWord(valuesIn(lines[len(lines)-2])) {
		return nil, false
	}
	row := slices.DeleteFunc(valuesIn(lines[len(lines)-1]), value.Empty)
	if len(row) != 2 || !hasTotalWord(row) {
		return nil, false
	}
	_, _, isNumber := apinames.TotalOf(row[1])
	return row[1], isNumber
}

// hasTotalWord reports whether a row begins with a word for a total.
func hasTotalWord(row []any) bool {
	if len(row) == 0 {
		return false
	}
	text, _ := row[0].(string)
	return totalWord().MatchString(text)
}

var totalWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(?:grand )?totals?(?: (?:rows|records|results|items|count))?\W*$|` +
		`^(?:rows|records|(?:row|record) count|summe|gesamt(?:summe)?|suma|somme|totale|итого|合計|合计|总计)\W*$`)
})
