package php

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Parts of the patterns. Their groups are named after what they match.
const (
	year4     = `(?<year>[0-9]{4})`
	year1to4  = `(?<year>[0-9]{1,4})`
	month2    = `(?<month>0[0-9]|1[0-2])`
	month1or2 = `(?<month>0?[0-9]|1[0-2])`
	monthName = `(?<month>january|february|march|april|may|june|july|august|september|october|november|december|` +
		`jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)`
	day2      = `(?<day>[0-2][0-9]|3[01])`
	day1or2   = `(?<day>[0-2]?[0-9]|3[01])`
	dayNumber = day1or2 + `(?:st|nd|rd|th)?`
	dayName   = `(?<weekday>sundays?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sun|mon|tue|wed|thu|fri|sat)`
	relative  = `(?<relative>last|previous|this|next|first|second|third|fourth|fifth|sixth|seventh|eighth|eight|ninth|tenth|eleventh|twelfth)`
	unit      = `(?<unit>ms|µs|(?:msec|millisecond|µsec|microsecond|usec|sec|second|min|minute|hour|day|` +
		`fortnight|forthnight|week|month|year)s?)`

	hour       = `(?<hour>[01]?[0-9]|2[0-4])`
	hour2      = `(?<hour>[01][0-9]|2[0-4])`
	hourOf12   = `(?<hour>0?[1-9]|1[0-2])`
	minute     = `(?<minute>[0-5]?[0-9])`
	minute2    = `(?<minute>[0-5][0-9])`
	second     = `(?<second>[0-5]?[0-9]|60)`
	second2    = `(?<second>[0-5][0-9]|60)`
	halfOfDay  = `[ \t]*(?<half>[ap])\.?m\.?(?:[\t ]|$)`
	gap        = `[ \t.-]*`
	afterMonth = `[,.stndrh\t ]`
)

// timeForms are the forms of a time. The form with the longest match applies, and
// the first one of several with the same length.
var timeForms = []struct {
	pattern string
	read    func(m *moment, words words) bool
}{
	{`[ .,\t]`, func(*moment, words) bool { return true }},
	{`(?<word>now|today|midnight|noon|tomorrow|yesterday|ago)`, readWord},
	{`(?<edge>first|last) day of`, readEdge},
	{relative + `[ \t]+` + dayName + `[ \t]+of`, readWeekdayOf},
	{`@(?<number>-?[0-9]{1,15})`, readSeconds},

	{hourOf12 + halfOfDay, readClock},
	{hourOf12 + `[:.]` + minute2 + halfOfDay, readClock},
	{hourOf12 + `[:.]` + minute + `[:.]` + second2 + halfOfDay, readClock},
	{`t` + hour, readClock},
	{`t?` + hour + `[:.]` + minute, readClock},
	{`t?` + hour + `[:.]` + minute + `[:.]` + second + `([.,:][0-9]+)?`, readClock},
	{`t?` + hour2 + minute2 + second2, readClock},
	{`t?` + hour2 + minute2, readClockOrYear},
	{year4, readYear},

	{month1or2 + `/` + dayNumber + `(?:/` + year1to4 + `)?`, readDate},
	{year4 + `[-/]` + month1or2 + `[-/]` + day1or2 + `/?`, readDate},
	{year1to4 + `-` + month1or2 + `-` + day1or2, readDate},
	{year4 + `-` + month1or2, readDate},
	{dayNumber + `[.\t-]` + month1or2 + `[.-]` + year4, readDate},
	{dayNumber + `[.\t]` + month1or2 + `\.(?<year>[0-9]{2})`, readDate},
	{year4 + month2 + day2, readDate},
	{year4 + month2 + day2 + `t?` + hour2 + `:?` + minute2 + `:?` + second2, readDateAndClock},
	{year4 + `\.?(?<yearday>00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])`, readDate},
	{year4 + `-?w(?<week>0[1-9]|[1-4][0-9]|5[0-3])(?:-?(?<number>[0-7]))?`, readWeek},

	{dayNumber + gap + monthName + gap + year1to4, readDate},
	{dayNumber + gap + monthName, readDate},
	{monthName + gap + dayNumber + afterMonth + `+` + year1to4, readDate},
	{monthName + `-(?<day>[0-9]{2})-` + year1to4, readDate},
	{monthName + gap + dayNumber + afterMonth + `*`, readDate},
	{monthName + gap + dayNumber + afterMonth + `*t?` + hour + `[:.]` + minute + `(?:[:.]` + second + `)?`, readDateAndClock},
	{monthName + gap + year4, readDate},
	{year4 + gap + monthName, readDate},
	{monthName, readDate},

	{dayName, readWeekday},
	{relative + `[ \t]+week`, readRelativeWeek},
	{relative + `[ \t]+(?:` + unit + `|` + dayName + `)`, readRelative},
	{`(?<sign>[+-]*)[ \t]*(?<number>[0-9]{1,13})[ \t]*(?:` + unit + `|` + dayName + `)`, readAmount},
	{`(z|utc|gmt)`, readOffset},
	{`(gmt|utc)?(?<sign>[+-])(?<hour>[0-9]{1,2})(?::?(?<minute>[0-9]{2}))?`, readOffset},
}

// timePatterns are the compiled patterns of timeForms.
var timePatterns = sync.OnceValue(func() []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, len(timeForms))
	for i, form := range timeForms {
		patterns[i] = regexp.MustCompile(`^(?:` + form.pattern + `)`)
		patterns[i].Longest()
	}
	return patterns
})

// words are the parts of a text that the groups of a pattern have matched, by their names.
type words map[string]string

// number returns the number that a group has matched, or 0.
func (w words) number(group string) int { return number(w[group]) }

// readForm reads the time at the beginning of a text into m by the form that matches, and returns
// the length of the match, or 0 without a match.
func (m *moment) readForm(text string) int {
	best, found := -1, []string(nil)
	for i, pattern := range timePatterns() {
		if match := pattern.FindStringSubmatch(text); match != nil && (found == nil || len(match[0]) > len(found[0])) {
			best, found = i, match
		}
	}
	if best < 0 {
		return 0
	}
	w := words{}
	for i, name := range timePatterns()[best].SubexpNames() {
		w[name] = found[i]
	}
	if !timeForms[best].read(m, w) {
		return 0
	}
	return len(found[0])
}

// manyYears limits an amount. It is longer than any run, and its seconds fit into an
// int.
const manyYears = 100_000_000

// limit bounds an amount of a unit by the amount in manyYears.
func limit(n, inYear int) int { return max(min(n, inYear*manyYears), -inYear*manyYears) }

// add adds an amount of a unit.
func (m *moment) add(n int, unit string) {
	switch strings.TrimSuffix(unit, "s") {
	case "m", "msec", "millisecond":
		m.micros += n * 1000
	case "µ", "µsec", "microsecond", "usec":
		m.micros += n
	case "sec", "second":
		m.secs += n
	case "min", "minute":
		m.secs += n * 60
	case "hour":
		m.secs += n * 3600
	case "day":
		m.days += limit(n, 365)
	case "week":
		m.days += 7 * limit(n, 365)
	case "fortnight", "forthnight":
		m.days += 14 * limit(n, 365)
	case "month":
		m.months += limit(n, 1)
	case "year":
		m.years += limit(n, 1)
	}
}

// addWeekday moves on to the n-th day with this name; n may be negative. For stay see [weekday]. It
// reports false if the text has already named a weekday of a month ("first monday of"): a second weekday
// is a mistake.
func (m *moment) addWeekday(n int, name string, stay int) bool {
	if m.weekday != nil && m.weekday.of != 0 {
		return false
	}
	weeks := limit(n, 52)
	if weeks > 0 {
		weeks--
	}
	m.days += 7 * weeks
	m.weekday = &weekday{number: slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, name[:3]), stay: stay}
	return true
}

func readAmount(m *moment, w words) bool {
	n := w.number("number")
	if strings.Count(w["sign"], "-")%2 == 1 {
		n = -n
	}
	if w["weekday"] != "" {
		return m.addWeekday(n, w["weekday"], 1)
	}
	m.add(n, w["unit"])
	return true
}

// relatives are the numbers of relative words.
var relatives = map[string]int{
	"last": -1, "previous": -1, "this": 0, "next": 1, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6,
	"seventh": 7, "eighth": 8, "eight": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}

func readRelative(m *moment, w words) bool {
	n := relatives[w["relative"]]
	if w["weekday"] == "" {
		m.add(n, w["unit"])
		return true
	}
	stay := 0
	if w["relative"] == "this" {
		stay = 1
	}
	m.dropClock()
	return m.addWeekday(n, w["weekday"], stay)
}

func readRelativeWeek(m *moment, w words) bool {
	if m.weekday != nil && m.weekday.of != 0 {
		return false
	}
	m.days += 7 * relatives[w["relative"]]
	if m.weekday == nil {
		m.weekday = &weekday{number: int(time.Monday)}
	}
	m.weekday.stay = 2
	return true
}

func readWeekday(m *moment, w words) bool {
	stay := 1
	if m.weekday != nil && m.weekday.stay == 2 {
		stay = 2
	}
	m.dropClock()
	return m.addWeekday(0, w["weekday"], stay)
}

func readWeekdayOf(m *moment, w words) bool {
	n, from, stay := relatives[w["relative"]], 1, 1
	if n < 0 {
		from, stay = -1, 0
	}
	m.dropClock()
	if n == 0 || !m.addWeekday(n, w["weekday"], stay) {
		return false
	}
	m.weekday.of = from
	return true
}

func readEdge(m *moment, w words) bool {
	m.edge = 1
	if w["edge"] == "last" {
		m.edge = 2
	}
	return true
}

func readWord(m *moment, w words) bool {
	switch w["word"] {
	case "now":
		return true
	case "ago":
		// PHP does not negate fractions of a second.
		m.years, m.months, m.days, m.secs = -m.years, -m.months, -m.days, -m.secs
		return m.weekday == nil
	case "tomorrow":
		m.days = 1
	case "yesterday":
		m.days = -1
	}
	m.dropClock()
	if w["word"] == "noon" {
		m.clock, m.hasClock = 12*3600, true
	}
	return true
}

// readSeconds reads a time in seconds. Nothing of the base remains.
func readSeconds(m *moment, w words) bool {
	if m.hasDate || m.hasClock {
		return false
	}
	m.year, m.month, m.day, m.clock = 1970, 1, 1, 0
	m.hasDate, m.noClock, m.hasOffset = true, true, true
	m.secs += w.number("number")
	return true
}

// readClock reads the time of a day. There can be one.
func readClock(m *moment, w words) bool {
	if m.hasClock {
		return false
	}
	m.hasClock = true
	m.clock = w.number("hour")*3600 + w.number("minute")*60 + w.number("second")
	switch noon := w.number("hour") == 12; {
	case w["half"] == "a" && noon:
		m.clock -= 12 * 3600
	case w["half"] == "p" && !noon:
		m.clock += 12 * 3600
	}
	return true
}

// readClockOrYear reads four digits after a clock time as a year.
func readClockOrYear(m *moment, w words) bool {
	if m.hasClock {
		m.year = number(w["hour"] + w["minute"])
		return true
	}
	return readClock(m, w)
}

func readYear(m *moment, w words) bool {
	m.year = w.number("year")
	return true
}

// readDate reads a date. There can be one. A year without a day means its first day, or that
// of the month; a year or a day that is left out remains that of the base.
func readDate(m *moment, w words) bool {
	if m.hasDate {
		return false
	}
	m.hasDate = true
	if w["year"] != "" {
		m.year, m.day = fullYear(w["year"]), 1
	}
	months := []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	switch month := w["month"]; {
	case month == "":
		m.month = 1
	case month[0] > '9':
		m.month = 1 + slices.Index(months, month[:3])
	default:
		m.month = number(month)
	}
	if day := w["day"] + w["yearday"]; day != "" {
		m.day = number(day)
	}
	return true
}

func readDateAndClock(m *moment, w words) bool { return readDate(m, w) && readClock(m, w) }

// fullYear completes a year of at most three digits.
func fullYear(digits string) int {
	switch year := number(digits); {
	case len(digits) >= 4 || year >= 100:
		return year
	case year < 70:
		return 2000 + year
	default:
		return 1900 + year
	}
}

// readWeek reads a week of ISO 8601, and a day of it: Monday unless the text says
// another one.
func readWeek(m *moment, w words) bool {
	day := 1
	if w["number"] != "" {
		day = w.number("number")
	}
	if !readDate(m, w) {
		return false
	}
	fourth := time.Date(m.year, time.January, 4, 0, 0, 0, 0, time.UTC) // in week 1
	monday := (int(fourth.Weekday()) + 6) % 7
	m.days += 7*(w.number("week")-1) + day - 1 + 3 - monday
	return true
}

// readOffset reads an offset from UTC. It ignores a second one.
func readOffset(m *moment, w words) bool {
	if m.hasOffset {
		return true
	}
	m.hasOffset = true
	m.offset = w.number("hour")*3600 + w.number("minute")*60
	if w["sign"] == "-" {
		m.offset = -m.offset
	}
	return true
}
