package php

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// StrToTime is PHP's strtotime(text, 0) in UTC, with which the reference reads
// forceStop.time. It returns the seconds since 1970-01-01, the base of relative times:
// "10 minutes" is 600, "1 month" is 2678400 and "tomorrow" is 86400.
//
// StrToTime understands amounts with a unit ("2 hours 30 minutes", "-1 day", "1 week
// ago"), clock times ("00:10:00", "0010"), dates ("2030-01-31", "20300131", "2030-01",
// with a time and an offset as in ISO 8601), years of four digits that are not a clock
// time ("3600" is the year 3600, but "2000" is 20:00), "@seconds", and the words now,
// today, midnight, noon, tomorrow and yesterday. It does not understand PHP's other
// forms: names of weekdays and months, ordinals, zones by name, am and pm.
//
// It reports false for text that it does not understand. As in PHP, "60", "90s" and
// "1h" are among it: the reference then reads 0 and stops after the first page.
func StrToTime(text string) (seconds int, ok bool) {
	if text == "" {
		return 0, false
	}
	m := moment{year: 1970, month: 1, day: 1}
	rest := strings.ToLower(strings.Trim(text, " \t\n\r\v\f"))
	for rest != "" {
		var words []string
		var read func(*moment, []string) bool
		for _, f := range timeForms {
			if found := f.pattern.FindStringSubmatch(rest); found != nil && (words == nil || len(found[0]) > len(words[0])) {
				words, read = found, f.read
			}
		}
		if words == nil || !read(&m, words) {
			return 0, false
		}
		rest = rest[len(words[0]):]
	}
	return m.seconds(), true
}

// moment is the time that the text has described so far.
type moment struct {
	year, month, day             int
	clock                        int // seconds of the day
	offset                       int // seconds east of UTC
	hasDate, hasClock, hasOffset bool

	// Amounts that are added to it.
	years, months, days, secs, micros int
}

func (m *moment) seconds() int {
	// A day that its month does not have is a day of the next month, both before
	// and after amounts are added.
	start := time.Date(m.year, time.Month(m.month), m.day, 0, 0, 0, 0, time.UTC)
	day := start.AddDate(m.years, m.months, 0)
	return int(day.Unix()) + m.days*86400 + m.clock - m.offset + m.secs +
		int(math.Floor(float64(m.micros)/1e6))
}

// timeForm is one form of a time. Of the forms that match, the one with the longest
// match applies, and of equal ones the first.
type timeForm struct {
	pattern *regexp.Regexp
	read    func(m *moment, words []string) bool
}

var timeForms = []timeForm{
	{timePattern(`[ .,\t]`), func(*moment, []string) bool { return true }},
	{timePattern(`(now|today|midnight|noon|tomorrow|yesterday|ago)`), readWord},
	{timePattern(`([+-]*)[ \t]*([0-9]{1,13})[ \t]*(` + unitNames + `)`), readAmount},
	{timePattern(`@(-?[0-9]{1,15})`), readSeconds},
	{timePattern(`t?([01]?[0-9]|2[0-4]):([0-5]?[0-9])`), readClock},
	{timePattern(`t?([01]?[0-9]|2[0-4]):([0-5]?[0-9]):([0-5]?[0-9]|60)([.,:][0-9]+)?`), readClock},
	{timePattern(`([01][0-9]|2[0-4])([0-5][0-9])([0-5][0-9]|60)`), readClock},
	{timePattern(`t?([01][0-9]|2[0-4])([0-5][0-9])`), readClockOrYear},
	{timePattern(`([0-9]{4})`), readYear},
	{timePattern(`([0-9]{4})-(0?[0-9]|1[0-2])-([0-2]?[0-9]|3[01])`), readDate},
	{timePattern(`([0-9]{4})-(0?[0-9]|1[0-2])`), readMonth},
	{timePattern(`([0-9]{4})(0[0-9]|1[0-2])([0-2][0-9]|3[01])`), readDate},
	{timePattern(`([0-9]{4})\.?(00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])`), readDayOfYear},
	{timePattern(`(z|utc|gmt)`), readOffset},
	{timePattern(`(gmt|utc)?([+-])([0-9]{1,2})(:?([0-9]{2}))?`), readOffset},
}

// timePattern compiles the pattern of a form. Its longest match counts, too.
func timePattern(pattern string) *regexp.Regexp {
	re := regexp.MustCompile(`^` + pattern)
	re.Longest()
	return re
}

const unitNames = `ms|µs|(?:msec|millisecond|µsec|microsecond|usec|sec|second|min|minute|hour|day|fortnight|forthnight|week|month|year)s?`

// manyYears limits an amount. It is longer than any run, and its seconds fit into an
// int.
const manyYears = 100_000_000

func readAmount(m *moment, words []string) bool {
	n := number(words[2])
	if strings.Count(words[1], "-")%2 == 1 {
		n = -n
	}
	days := max(min(n, 365*manyYears), -365*manyYears)
	years := max(min(n, manyYears), -manyYears)
	switch unit := strings.TrimSuffix(words[3], "s"); unit {
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
	return true
}

func readWord(m *moment, words []string) bool {
	word := words[1]
	switch word {
	case "now":
		return true
	case "ago":
		// PHP does not negate fractions of a second.
		m.years, m.months, m.days, m.secs = -m.years, -m.months, -m.days, -m.secs
		return true
	case "tomorrow":
		m.days = 1
	case "yesterday":
		m.days = -1
	}
	m.clock, m.hasClock = 0, false
	if word == "noon" {
		m.clock, m.hasClock = 12*3600, true
	}
	return true
}

func readSeconds(m *moment, words []string) bool {
	m.secs += number(words[1])
	return true
}

func readClock(m *moment, words []string) bool {
	if m.hasClock {
		return false
	}
	m.hasClock = true
	m.clock = number(words[1])*3600 + number(words[2])*60
	if len(words) > 3 {
		m.clock += number(words[3])
	}
	return true
}

// readClockOrYear reads four digits after a clock time as a year.
func readClockOrYear(m *moment, words []string) bool {
	if m.hasClock {
		return readYear(m, []string{words[0], words[1] + words[2]})
	}
	return readClock(m, words)
}

func readYear(m *moment, words []string) bool {
	m.year = number(words[1])
	return true
}

func readDate(m *moment, words []string) bool {
	if m.hasDate {
		return false
	}
	m.hasDate = true
	m.year, m.month, m.day = number(words[1]), number(words[2]), number(words[3])
	return true
}

func readMonth(m *moment, words []string) bool {
	return readDate(m, append(words, "1"))
}

func readDayOfYear(m *moment, words []string) bool {
	return readDate(m, []string{words[0], words[1], "1", words[2]})
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

// number parses the digits that a form has matched. No digits are 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
