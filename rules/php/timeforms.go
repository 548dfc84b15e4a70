package php

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// timeForm is one form of a time. Of the forms that match, the one with the longest
// match applies, and of equal ones the first.
type timeForm struct {
	pattern func() *regexp.Regexp
	read    func(m *moment, words []string) bool
}

// Parts of the patterns.
const (
	dayNumber = `([0-2]?[0-9]|3[01])(?:st|nd|rd|th)?`
	monthText = `(january|february|march|april|may|june|july|august|september|october|november|december|` +
		`jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)`
	dayText  = `(sundays?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sun|mon|tue|wed|thu|fri|sat)`
	relative = `(last|previous|this|next|first|second|third|fourth|fifth|sixth|seventh|eighth|eight|ninth|tenth|eleventh|twelfth)`
	unitName = `(ms|µs|(?:msec|millisecond|µsec|microsecond|usec|sec|second|min|minute|hour|day|fortnight|forthnight|week|month|year)s?)`
	am       = `[ \t]*([ap])\.?m\.?(?:[\t ]|$)`
	gap      = `[ \t.-]*`
	hour     = `([01]?[0-9]|2[0-4])`
	minute   = `([0-5]?[0-9])`
	second   = `([0-5]?[0-9]|60)`
)

var timeForms = []timeForm{
	{timePattern(`[ .,\t]`), func(*moment, []string) bool { return true }},
	{timePattern(`(now|today|midnight|noon|tomorrow|yesterday|ago)`), readWord},
	{timePattern(`(first|last) day of`), readEdge},
	{timePattern(relative + `[ \t]+` + dayText + `[ \t]+of`), readWeekdayOf},
	{timePattern(`@(-?[0-9]{1,15})`), readSeconds},

	{timePattern(`(0?[1-9]|1[0-2])` + am), func(m *moment, w []string) bool { return m.halfDay(w[1], "", "", w[2]) }},
	{timePattern(`(0?[1-9]|1[0-2])[:.]([0-5][0-9])` + am), func(m *moment, w []string) bool { return m.halfDay(w[1], w[2], "", w[3]) }},
	{timePattern(`(0?[1-9]|1[0-2])[:.]` + minute + `[:.]([0-5][0-9]|60)` + am), func(m *moment, w []string) bool {
		return m.halfDay(w[1], w[2], w[3], w[4])
	}},
	{timePattern(`t` + hour), func(m *moment, w []string) bool { return m.at(w[1], "", "") }},
	{timePattern(`t?` + hour + `[:.]` + minute), func(m *moment, w []string) bool { return m.at(w[1], w[2], "") }},
	{timePattern(`t?` + hour + `[:.]` + minute + `[:.]` + second + `([.,:][0-9]+)?`), func(m *moment, w []string) bool {
		return m.at(w[1], w[2], w[3])
	}},
	{timePattern(`t?([01][0-9]|2[0-4])([0-5][0-9])([0-5][0-9]|60)`), func(m *moment, w []string) bool { return m.at(w[1], w[2], w[3]) }},
	{timePattern(`t?([01][0-9]|2[0-4])([0-5][0-9])`), readClockOrYear},
	{timePattern(`([0-9]{4})`), readYear},

	{timePattern(`(0?[0-9]|1[0-2])/` + dayNumber + `(?:/([0-9]{1,4}))?`), readAmericanDate},
	{timePattern(`([0-9]{4})[-/](0?[0-9]|1[0-2])[-/]([0-2]?[0-9]|3[01])/?`), func(m *moment, w []string) bool {
		return m.on(w[1], w[2], w[3])
	}},
	{timePattern(`([0-9]{1,4})-(0?[0-9]|1[0-2])-([0-2]?[0-9]|3[01])`), func(m *moment, w []string) bool {
		return m.on(w[1], w[2], w[3])
	}},
	{timePattern(`([0-9]{4})-(0?[0-9]|1[0-2])`), func(m *moment, w []string) bool { return m.on(w[1], w[2], "1") }},
	{timePattern(dayNumber + `[.\t-](0?[0-9]|1[0-2])[.-]([0-9]{4})`), func(m *moment, w []string) bool { return m.on(w[3], w[2], w[1]) }},
	{timePattern(dayNumber + `[.\t](0?[0-9]|1[0-2])\.([0-9]{2})`), readPointedDate},
	{timePattern(`([0-9]{4})(0[0-9]|1[0-2])([0-2][0-9]|3[01])`), func(m *moment, w []string) bool { return m.on(w[1], w[2], w[3]) }},
	{timePattern(`([0-9]{4})(0[0-9]|1[0-2])([0-2][0-9]|3[01])t?([01][0-9]|2[0-4]):?([0-5][0-9]):?([0-5][0-9]|60)`), readCompact},
	{timePattern(`([0-9]{4})\.?(00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])`), func(m *moment, w []string) bool {
		return m.on(w[1], "1", w[2])
	}},
	{timePattern(`([0-9]{4})-?w(0[1-9]|[1-4][0-9]|5[0-3])(?:-?([0-7]))?`), readWeek},

	{timePattern(dayNumber + gap + monthText + gap + `([0-9]{1,4})`), func(m *moment, w []string) bool { return m.on(w[3], w[2], w[1]) }},
	{timePattern(dayNumber + gap + monthText), func(m *moment, w []string) bool { return m.on("", w[2], w[1]) }},
	{timePattern(monthText + gap + dayNumber + `[,.stndrh\t ]+([0-9]{1,4})`), func(m *moment, w []string) bool {
		return m.on(w[3], w[1], w[2])
	}},
	{timePattern(monthText + `-([0-9]{2})-([0-9]{1,4})`), func(m *moment, w []string) bool { return m.on(w[3], w[1], w[2]) }},
	{timePattern(monthText + gap + dayNumber + `[,.stndrh\t ]*`), func(m *moment, w []string) bool { return m.on("", w[1], w[2]) }},
	{timePattern(monthText + gap + dayNumber + `[,.stndrh\t ]*` + `t?` + hour + `[:.]` + minute + `(?:[:.]` + second + `)?`),
		readDateAndClock},
	{timePattern(monthText + gap + `([0-9]{4})`), func(m *moment, w []string) bool { return m.on(w[2], w[1], "1") }},
	{timePattern(`([0-9]{4})` + gap + monthText), func(m *moment, w []string) bool { return m.on(w[1], w[2], "1") }},
	{timePattern(monthText), func(m *moment, w []string) bool { return m.on("", w[1], "") }},

	{timePattern(dayText), readWeekday},
	{timePattern(relative + `[ \t]+week`), readRelativeWeek},
	{timePattern(relative + `[ \t]+(?:` + unitName + `|` + dayText + `)`), readRelative},
	{timePattern(`([+-]*)[ \t]*([0-9]{1,13})[ \t]*(?:` + unitName + `|` + dayText + `)`), readAmount},
	{timePattern(`(z|utc|gmt)`), readOffset},
	{timePattern(`(gmt|utc)?([+-])([0-9]{1,2})(:?([0-9]{2}))?`), readOffset},
}

// timePattern compiles the pattern of a form when a time is first read. Its longest match
// counts, too.
func timePattern(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		re := regexp.MustCompile(`^` + pattern)
		re.Longest()
		return re
	})
}

// manyYears limits an amount. It is longer than any run, and its seconds fit into an
// int.
const manyYears = 100_000_000

// add adds an amount of a unit.
func (m *moment) add(n int, unit string) {
	days := max(min(n, 365*manyYears), -365*manyYears)
	years := max(min(n, manyYears), -manyYears)
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
		m.days += days
	case "week":
		m.days += 7 * days
	case "fortnight", "forthnight":
		m.days += 14 * days
	case "month":
		m.months += years
	case "year":
		m.years += years
	}
}

// addWeekday moves on to the n-th day of the week of a name. It reports false after a
// day of the week of a month.
func (m *moment) addWeekday(n int, name string, stay int) bool {
	if m.weekday != nil && m.weekday.of != 0 {
		return false
	}
	weeks := max(min(n, 52*manyYears), -52*manyYears)
	if weeks > 0 {
		weeks--
	}
	m.days += 7 * weeks
	m.weekday = &weekday{number: weekdayOf(name), stay: stay}
	return true
}

func readAmount(m *moment, words []string) bool {
	n := number(words[2])
	if strings.Count(words[1], "-")%2 == 1 {
		n = -n
	}
	if words[4] != "" {
		return m.addWeekday(n, words[4], 1)
	}
	m.add(n, words[3])
	return true
}

// relatives are the numbers of relative words.
var relatives = map[string]int{
	"last": -1, "previous": -1, "this": 0, "next": 1, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6,
	"seventh": 7, "eighth": 8, "eight": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}

// stays returns whether a day of the week after a relative word may be the same day.
func stays(word string) int {
	if word == "this" {
		return 1
	}
	return 0
}

func readRelative(m *moment, words []string) bool {
	n := relatives[words[1]]
	if words[3] == "" {
		m.add(n, words[2])
		return true
	}
	m.dropClock()
	return m.addWeekday(n, words[3], stays(words[1]))
}

func readRelativeWeek(m *moment, words []string) bool {
	if m.weekday != nil && m.weekday.of != 0 {
		return false
	}
	m.days += 7 * relatives[words[1]]
	if m.weekday == nil {
		m.weekday = &weekday{number: int(time.Monday)}
	}
	m.weekday.stay = 2
	return true
}

func readWeekday(m *moment, words []string) bool {
	stay := 1
	if m.weekday != nil && m.weekday.stay == 2 {
		stay = 2
	}
	m.dropClock()
	return m.addWeekday(0, words[1], stay)
}

func readWeekdayOf(m *moment, words []string) bool {
	n, of, stay := relatives[words[1]], 1, 1
	if n < 0 {
		of, stay = -1, 0
	}
	m.dropClock()
	if n == 0 || !m.addWeekday(n, words[2], stay) {
		return false
	}
	m.weekday.of = of
	return true
}

func readEdge(m *moment, words []string) bool {
	m.edge = 1
	if words[1] == "last" {
		m.edge = 2
	}
	return true
}

func readWord(m *moment, words []string) bool {
	word := words[1]
	switch word {
	case "now":
		return true
	case "ago":
		if m.weekday != nil {
			return false
		}
		// PHP does not negate fractions of a second.
		m.years, m.months, m.days, m.secs = -m.years, -m.months, -m.days, -m.secs
		return true
	case "tomorrow":
		m.days = 1
	case "yesterday":
		m.days = -1
	}
	m.dropClock()
	if word == "noon" {
		m.clock, m.hasClock = 12*3600, true
	}
	return true
}

// readSeconds reads a time in seconds. Nothing of the base remains.
func readSeconds(m *moment, words []string) bool {
	if m.hasDate || m.hasClock {
		return false
	}
	m.year, m.month, m.day, m.clock = 1970, 1, 1, 0
	m.hasDate, m.noClock, m.hasOffset = true, true, true
	m.secs += number(words[1])
	return true
}

// at sets the clock.
func (m *moment) at(hour, minute, second string) bool {
	if m.hasClock {
		return false
	}
	m.hasClock = true
	m.clock = number(hour)*3600 + number(minute)*60 + number(second)
	return true
}

// halfDay sets the clock to a time before or after noon.
func (m *moment) halfDay(hour, minute, second, half string) bool {
	if !m.at(hour, minute, second) {
		return false
	}
	switch noon := number(hour) == 12; {
	case half == "a" && noon:
		m.clock -= 12 * 3600
	case half == "p" && !noon:
		m.clock += 12 * 3600
	}
	return true
}

// readClockOrYear reads four digits after a clock time as a year.
func readClockOrYear(m *moment, words []string) bool {
	if m.hasClock {
		return readYear(m, []string{words[0], words[1] + words[2]})
	}
	return m.at(words[1], words[2], "")
}

func readYear(m *moment, words []string) bool {
	m.year = number(words[1])
	return true
}

// on sets the date. An empty year or day is left as it is; a month is a number or a name.
func (m *moment) on(year, month, day string) bool {
	if m.hasDate {
		return false
	}
	m.hasDate = true
	if year != "" {
		m.year = fullYear(year)
	}
	if m.month = number(month); month[0] > '9' {
		m.month = monthOf(month)
	}
	if day != "" {
		m.day = number(day)
	}
	return true
}

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

func readAmericanDate(m *moment, words []string) bool { return m.on(words[3], words[1], words[2]) }

// readPointedDate reads a date with a year of two digits, unless it is a clock time.
func readPointedDate(m *moment, words []string) bool { return m.on(words[3], words[2], words[1]) }

func readCompact(m *moment, words []string) bool {
	return m.on(words[1], words[2], words[3]) && m.at(words[4], words[5], words[6])
}

func readDateAndClock(m *moment, words []string) bool {
	return m.on("", words[1], words[2]) && m.at(words[3], words[4], words[5])
}

// readWeek reads a week of ISO 8601, and a day of it: Monday unless the text says
// another one.
func readWeek(m *moment, words []string) bool {
	day := 1
	if words[3] != "" {
		day = number(words[3])
	}
	if !m.on(words[1], "1", "1") {
		return false
	}
	fourth := time.Date(m.year, time.January, 4, 0, 0, 0, 0, time.UTC) // in week 1
	monday := (int(fourth.Weekday()) + 6) % 7
	m.days += 7*(number(words[2])-1) + day - 1 + 3 - monday
	return true
}

// readOffset reads an offset from UTC. It ignores a second one.
func readOffset(m *moment, words []string) bool {
	if m.hasOffset {
		return true
	}
	m.hasOffset = true
	if len(words) < 3 {
		return true
	}
	m.offset = number(words[3])*3600 + number(words[5])*60
	if words[2] == "-" {
		m.offset = -m.offset
	}
	return true
}

// monthOf returns the number of a month by the first three letters of its name.
func monthOf(name string) int {
	return 1 + slices.Index([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, name[:3])
}

// weekdayOf returns the number of a day of the week by the first three letters of its
// name.
func weekdayOf(name string) int {
	return slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, name[:3])
}
