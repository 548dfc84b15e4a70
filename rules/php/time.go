package php

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// StrToTime is PHP's strtotime(text, base) in UTC: the time that a text describes, in
// seconds since 1970-01-01. The parts that the text leaves open are taken from base: with base 0,
// "10 minutes" is 600, "1 month" is 2678400 and "tomorrow" is 86400.
//
// StrToTime understands amounts with a unit ("2 hours 30 minutes", "-1 day", "1 week
// ago"), clock times ("00:10:00", "9:16pm", "0010"), dates ("2030-01-31", "1/31/2030",
// "31.1.2030", "31 jan 2030", "2030-01", "2030-W05", with a time and an offset as in ISO
// 8601), years of four digits that are not a clock time ("3600" is the year 3600, but
// "2000" is 20:00), "@seconds", days of the week ("monday", "last friday of next
// month"), relative texts ("next month", "monday this week", "first day of"), and the
// words now, today, midnight, noon, tomorrow and yesterday. It does not understand zones
// by name other than UTC, working days ("3 weekdays"), "back of", and a day of the week
// together with "first day of" or "ago".
//
// It reports false for text that it does not understand. As in PHP, "60", "90s" and
// "1h" are among it: for forceStop.time the reference then reads 0 and stops after the
// first page.
func StrToTime(text string, base int) (seconds int, ok bool) {
	if text == "" {
		return 0, false
	}
	m := momentOf(base)
	rest := strings.ToLower(strings.Trim(text, " \t\n\r\v\f"))
	for rest != "" {
		length := m.readForm(rest)
		if length == 0 {
			return 0, false
		}
		rest = rest[length:]
	}
	if m.weekday != nil && m.edge > 0 { // PHP's results are arbitrary
		return 0, false
	}
	return m.seconds(), true
}

// moment is the time that the text has described so far.
type moment struct {
	year, month, day             int
	clock                        int // seconds of the day
	offset                       int // seconds east of UTC
	hasDate, hasClock, hasOffset bool
	noClock                      bool // the clock was set to 0 by a day

	// Amounts that are added to it.
	years, months, days, secs, micros int

	edge    int // 1: the first day of the month; 2: the last one
	weekday *weekday
}

// weekday is a day of the week that the moment moves to.
type weekday struct {
	number int // 0: Sunday
	stay   int // 1: the moment may be on that day already; 0: it moves on; 2: the day of the same week
	of     int // 1: the day is counted from the first of the month; -1: from its end
}

func momentOf(base int) moment {
	t := time.Unix(int64(base), 0).UTC()
	return moment{year: t.Year(), month: int(t.Month()), day: t.Day(), clock: t.Hour()*3600 + t.Minute()*60 + t.Second()}
}

// dropClock sets the clock to midnight. A later clock time is not a second one.
func (m *moment) dropClock() { m.clock, m.hasClock, m.noClock = 0, false, true }

func (m *moment) seconds() int {
	if m.hasDate && !m.hasClock && !m.noClock {
		m.clock = 0
	}
	clock := m.clock - m.offset + m.secs + int(math.Floor(float64(m.micros)/1e6))
	if m.edge > 0 { // neither the day nor days that are added count
		return int(time.Date(m.year+m.years, time.Month(m.month+m.months+m.edge-1), 2-m.edge, 0, 0, 0, 0, time.UTC).Unix()) + clock
	}
	m.startOfMonth()
	// A day that its month does not have is a day of the next month, both before
	// and after amounts are added.
	day := time.Date(m.year, time.Month(m.month), m.day, 0, 0, 0, 0, time.UTC)
	if m.weekday != nil {
		day = day.AddDate(0, 0, m.weekday.distance(int(day.Weekday()), m.days))
	}
	day = time.Date(day.Year()+m.years, day.Month()+time.Month(m.months), day.Day(), 0, 0, 0, 0, time.UTC)
	return int(day.Unix()) + m.days*86400 + clock
}

// startOfMonth moves to the month whose days of the week are counted.
func (m *moment) startOfMonth() {
	if m.weekday == nil || m.weekday.of == 0 {
		return
	}
	m.day, m.month, m.months = 1, m.month+m.months, 0
	if m.weekday.of < 0 {
		m.month++
	}
}

// distance returns how many days there are from a day of the week to this one, if
// days are added.
func (w weekday) distance(from, days int) int {
	to := w.number
	if w.stay == 2 { // weeks begin on Monday
		if from == 0 && to != 0 {
			to -= 7
		} else if to == 0 && from != 0 {
			to = 7
		}
		return to - from
	}
	n := to - from
	if days < 0 && n < 0 || days >= 0 && n <= -w.stay {
		n += 7
	}
	return n
}

// number parses the digits that a form has matched. No digits are 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
