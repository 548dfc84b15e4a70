package evidence

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// noticeLastLine notices a page in NDJSON or CSV whose last line is not an item: a message of the server in place of a row, or
// an error, which has no member of the other lines, or nothing but errors: {"type": "ERROR", "object": {"status": "Failure"}}.
// A text about a failure is one, too, if the others are objects. If the line shares members with the others but lacks their
// identifier, and they lack its error, it may still be an item, and so it may if they share the name of a kind. The only line
// of the first page is an error if [apinames.IsErrorObject] says so.
func (s errorSearch) noticeLastLine() {
	lines := s.reading.Compared
	if !s.reading.Lines || len(lines) == 0 || s.subject.listsErrors {
		return
	}
	others, last := lines[:len(lines)-1], lines[len(lines)-1]
	if len(others) == 0 {
		s.noticeDocument(last)
	} else if s.noticeMessageRow(others, last) {
		return
	}
	members, isObject := membersOf(last)
	switch {
	case isObject:
		s.noticeLastObject(others, last, members)
	case len(others) > 0 && isFailureText(last) && others[len(others)-1][0] == '{':
		s.reportError("its last line is "+wording.Clip(string(last), maxShown)+", and the others are objects", rules.DoubtNone)
	}
}

// noticeDocument notices a page in NDJSON or CSV whose only line is a JSON document without an item, such as [], null or true,
// or a list of objects, as an API sends it that answers in JSON, or an object with such a list and signs of it. An earlier page
// with items that are not objects excuses it. The object is certainly no item if the content type is that of JSON and it has
// nothing but the list and its signs, unless the next request reads items, and so may read these signs.
func (s errorSearch) noticeDocument(line []byte) {
	text := string(line)
	if row := valuesIn(line); s.subject.job.Spec().Response.Format == rules.FormatCSV && s.reading.Columns == nil && len(row) == 1 {
		if text, _ = row[0].(string); text != "[]" && text != "{}" {
			return
		}
	}
	isEnvelope, isBare := document.IsEnvelope(line)
	switch {
	case s.memory.HadOthers:
	case isEmptyDocument(text):
		s.reportError("its only line is "+text+", which is a JSON document and no item", rules.DoubtNone)
	case isEnvelope && isBare && !s.subject.readsItems && strings.HasPrefix(s.header.Get("Content-Type"), "application/json"):
		s.reportError("its only line is "+wording.Clip(text, maxShown)+", which is a JSON document with a list of items", rules.DoubtNone)
	case isEnvelope, strings.HasPrefix(text, "[{"):
		s.reportError("its only line is "+wording.Clip(text, maxShown)+", which may be a JSON document with a list of items", rules.DoubtItem)
	}
}

// isEmptyDocument reports whether a text is a JSON document that says nothing: no item, and no name of a column.
func isEmptyDocument(text string) bool {
	return slices.Contains([]string{"[]", "{}", "null", "true", "false"}, strings.TrimSpace(text))
}

// noticeMessageRow notices a message in place of a row, unless another row is like it. It reports whether the last line can
// be nothing else.
func (s errorSearch) noticeMessageRow(others [][]byte, last []byte) bool {
	row := valuesIn(last)
	isMessage := isMessageRow(row)
	text, alone := aloneIn(row)
	if !isMessage && !(alone && apinames.SaysFailure(text)) || hasLikeRow(others, row) {
		return false
	}
	if isMessage {
		s.reportError("its last line is "+wording.Clip(string(last), maxShown)+", which is a message and no row", rules.DoubtNone)
		return true
	}
	s.reportError("its last line has only "+shortText(text)+", which may be a message and no row", rules.DoubtItem)
	return false
}

// noticeLastObject notices an error in place of the last item: the object with the given members in the last line.
func (s errorSearch) noticeLastObject(others [][]byte, last []byte, members rules.Object) {
	first := s.context.Page == 1 && len(others) == 0
	names := s.first.FirstNames
	if len(others) > 0 {
		names = usualNames(slices.Values(others))
	}
	isLikeItem := func(m rules.Member) bool {
		return first && !apinames.Key(m.Name).NamesErrors() || !first && slices.Contains(names, m.Name)
	}
	isEnvelope := func(line []byte) bool { return apinames.IsErrorEvent(lineMembers(line)) }
	mayBeError := slices.ContainsFunc(members, apinames.MayBeError)
	switch isLike := slices.ContainsFunc(members, isLikeItem); {
	case !isLike:
		if slices.ContainsFunc(members, apinames.IsError) || len(others) > 0 && mayBeError {
			s.reportError("its last line is "+shortText(members)+", which has no member of the other lines",
				mayBeItemIf(s.mayBeKind(members, others)))
		}
	case mayBeError && apinames.Trailer(s.reading.Compared, lineMembers) != nil:
		s.reportError("its last line is "+shortText(members)+", which has no member of the other lines but the name of its kind",
			rules.DoubtItem)
	case len(others) > 0 && isEnvelope(last) && !slices.ContainsFunc(others, isEnvelope):
		s.reportError("its last line is "+wording.Clip(string(last), maxShown)+", and no other line is an error", rules.DoubtNone)
	case !first && s.lacksIdentifier(members, names):
		s.reportError("its last line is "+shortText(members)+", which has no identifier", rules.DoubtItem)
	}
}

// lacksIdentifier reports whether the last line has an error that no other line has, and lacks the identifier of the items.
// names are the usual names of their members.
func (s errorSearch) lacksIdentifier(members rules.Object, names []string) bool {
	isNewError := func(m rules.Member) bool { return apinames.HasError(rules.Object{m}) && s.isNew(m.Name) }
	identifies := func(m rules.Member) bool {
		return apinames.IsIdentifier(m.Name) && !value.Empty(m.Value) && m.Value != 0
	}
	return slices.ContainsFunc(names, apinames.IsIdentifier) && !slices.ContainsFunc(members, identifies) &&
		slices.ContainsFunc(members, isNewError)
}

// lineMembers returns the members of a line, if it is an object.
func lineMembers(line []byte) rules.Object {
	members, _ := membersOf(line)
	return members
}

// isFailureText reports whether a line is a text that tells of a failure.
func isFailureText(line []byte) bool {
	var text any
	if line[0] != '"' || value.Unmarshal(line, &text) != nil {
		return false
	}
	message, _ := text.(string)
	return apinames.SaysFailure(message)
}

// maxShown is the length of the longest part of a line in a message.
const maxShown = 120

// isNew reports whether no line of the page has a member with the given name, apart from the last line.
func (p *listView) isNew(name string) bool {
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
	return lists.Map(members, func(m rules.Member) any { return m.Value })
}

// isMessageRow reports whether a server has written a line in place of rows: an exception of a database, dots in all
// fields, or a sentence alone in its row that says that rows are missing.
func isMessageRow(row []any) bool {
	if len(row) == 0 {
		return false
	}
	if text, alone := aloneIn(row); alone && missingRows().MatchString(text) {
		return true
	}
	first, isText := row[0].(string)
	isDots := func(v any) bool { return value.Empty(v) || v == "..." || v == "…" }
	return isText && (databaseException().MatchString(first) ||
		omittedRows().MatchString(first) && !slices.ContainsFunc(row[1:], func(v any) bool { return !isDots(v) }))
}

// aloneIn returns the text of a row of several fields of which all others are empty.
func aloneIn(row []any) (text string, ok bool) {
	filled := slices.DeleteFunc(slices.Clone(row), value.Empty)
	if len(row) < 2 || len(filled) != 1 {
		return "", false
	}
	text, ok = filled[0].(string)
	return text, ok
}

// hasLikeRow reports whether one of the rows before a message is like it, so that the list may have such rows: a sentence
// or dots in the row before, or, if the message is alone in its row, any row with a single text.
func hasLikeRow(before [][]byte, message []any) bool {
	if _, alone := aloneIn(message); alone {
		return slices.ContainsFunc(before, func(line []byte) bool { _, alone := aloneIn(valuesIn(line)); return alone })
	}
	row := valuesIn(before[len(before)-1])
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
		return regexp.MustCompile(`(?i)^\W*(?:(?:warning|note|notice|error|info)\W+)?(?:truncated\W*$|` +
			`maximum (?:number of )?(?:rows|records|results)\b.*\b(?:exceeded|reached)\b|` +
			`(?:only|showing)(?: the)? first [\d.,]+ (?:of [\d.,]+ )?(?:rows|records|results|items|entries|lines)\b|` +
			`(?:the |this |your )?(?:row|record|result|output|data|file|export|response)s?` +
			`\b.*\b(?:truncated|exceeded|omitted|limit reached)\b|` +
			`(?:row|record|result) limit\b.*\breached\b|(?:and )?[\d.,]+ more (?:rows|records|results|items|entries|lines)\b|` +
			`(?:the |this |your )?(?:query|export|download|statement|request|operation) (?:was |has been |has )?` +
			`(?:failed|aborted|cancell?ed|interrupted|terminated|killed|timed out)\b)|` +
			`^(?:error|fatal|exception)(?: [\w-]+)?: .*` +
			`\b(?:error|fail(?:ed|ure)|cancell?(?:ed|ing)|timed out|timeout|exceeded|aborted|denied|lost)\b`)
	})
)

// totalRow returns the number in the last line of the page if the line counts or adds up the others: Total,11. It has a word
// for a total, one whole number and nothing else. The number may be that of the items, or the sum of a column.
func (p *listView) totalRow() (total any, ok bool) {
	lines := p.reading.Compared
	if !p.reading.Lines || len(lines) < 2 || hasTotalWord(valuesIn(lines[len(lines)-2])) {
		return nil, false
	}
	row := slices.DeleteFunc(valuesIn(lines[len(lines)-1]), value.Empty)
	if len(row) != 2 || !hasTotalWord(row) {
		return nil, false
	}
	_, _, isNumber := apinames.Total(row[1])
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
		`^(?:rows|records|(?:row|record) count|summe|gesamt(?:summe)?|suma|somme|totale|` +
		`итого|合計|合计|总计)\W*$`)
})
