package evidence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// noticeUnknownHeader notices a page in CSV whose first line has no name of the header of the first page. It may be a row,
// because the API sends the header only once; then the row is lost. It may also be a sentence about a failure, or, as
// the only line, a sentence that does not say that there is nothing. If page 1 has several columns, a sentence which says
// that there is nothing is no row. A few words may also be the name of a column, unless they say that a result is not
// ready (PENDING), or are JSON ([]). A single name without rows may be some other answer. The first line of the first page
// may be a row, too, if it begins like one. With names of the configuration, each page must have the columns in the order
// of page 1.
func (s errorSearch) noticeUnknownHeader() {
	columns := s.reading.Columns
	line := strings.Join(columns, ",")
	known := slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(s.first.Header, name) })
	unknown := s.context.Page > 1 && len(s.first.Header) > 0 && !known
	switch single := s.context.Count == 0; {
	case known && s.context.Page > 1:
		if s.subject.job.Spec().Response.Columns != nil && !slices.Equal(columns, s.first.Header) {
			s.reportError("its header is "+shortText(line)+", and that of page 1 is "+shortText(strings.Join(s.first.Header, ","))+
				", so that response.columns has the wrong names for it", rules.DoubtNone)
		}
	case unknown && !single:
		s.reportError("its first line is "+shortText(line)+", which is not the header of page 1", rules.DoubtNone)
	case unknown && len(columns) == 1 && len(s.first.Header) > 1 && apinames.SaysNoMore(line):
	case unknown, single && len(columns) == 1 && apinames.SaysPending(line), single && isEmptyDocument(line),
		single && isSentence(columns) && (apinames.SaysFailure(line) || endsSentence(line) && apinames.SaysTrouble(line)):
		s.reportError("its only line is "+shortText(line)+", which is not the header of the list", rules.DoubtNone)
	case len(columns) == 1 && apinames.SaysFailure(line) && !strings.Contains(line, "_") &&
		(single || isSentence(columns) && strings.Contains(line, ": ")):
		s.reportError("its first line is "+shortText(line)+", which might not be a header", rules.DoubtItem)
	case single && len(columns) == 1 && apinames.SaysTrouble(line) && !s.hasCertainError():
		s.reportError("its only line is "+shortText(line)+", which might not be a header", rules.DoubtItem)
	case s.context.Page == 1 && len(columns) > 0 && isData(columns[0]) && !s.hasCertainError():
		s.reportError("its first line, "+shortText(line)+", is taken for the header and may be a row that is lost "+
			"(response.header false, and response.columns)", rules.DoubtItem)
	}
}

// rememberColumns remembers the columns that names of the configuration replace, for a comparison of partitions.
func (s errorSearch) rememberColumns() {
	if s.memory.Replaced == nil && s.context.Count > 0 && s.subject.job.Spec().Response.Columns != nil {
		s.memory.Replaced = s.reading.Columns
	}
}

// noticeHeaderAgain notices a row that equals the header, as files that were joined have it. No row is lost, so it is a hint.
func (s errorSearch) noticeHeaderAgain() {
	if line := s.reading.Header; line > 0 {
		s.reportError(fmt.Sprintf("line %d is the header again, and is read as a row: leave it out by a filter", line), rules.DoubtItem)
	}
}

// isData reports whether the first name of a header is a number or begins with a date, as a row may.
func isData(name string) bool {
	if _, err := strconv.ParseFloat(name, 64); err == nil && strings.ContainsAny(name, "0123456789") {
		return true
	}
	_, err := time.Parse(time.DateOnly, name[:min(len(name), len(time.DateOnly))])
	return err == nil
}

// isSentence reports whether the columns of a header are those of a sentence and not names: there is one, or a
// space after a comma, and a word after the first is not written like a name.
func isSentence(columns []string) bool {
	for i, column := range columns {
		if i > 0 && !strings.HasPrefix(column, " ") {
			return false
		}
	}
	words := strings.Fields(strings.Join(columns, ","))
	return len(words) > 1 && slices.ContainsFunc(words[1:], func(word string) bool { return unicode.IsLower([]rune(word)[0]) })
}

// endsSentence reports whether a text ends like a sentence of several words.
func endsSentence(text string) bool {
	text = strings.TrimSpace(text)
	return len(strings.Fields(text)) > minWords && (strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!"))
}

// minWords is the largest number of words in the name of a column that may end with a full stop: Date of Inv.
const minWords = 3
