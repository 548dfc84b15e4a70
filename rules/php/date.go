package php

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// date is PHP's date(format, seconds) in UTC: every letter of the format that is in
// PHP's table is replaced, a backslash takes the letter after it literally, and other
// characters stand for themselves.
func date(format string, seconds int) string {
	t := time.Unix(int64(seconds), 0).UTC()
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == '\\' && i+1 < len(format) {
			i++
			b.WriteByte(format[i])
			continue
		}
		if write, ok := dateLetters[c]; ok {
			b.WriteString(write(t))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// dateLetters are the letters of a format.
var dateLetters = map[byte]func(time.Time) string{
	'd': layout("02"), 'D': layout("Mon"), 'j': layout("2"), 'l': layout("Monday"),
	'N': func(t time.Time) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	'S': func(t time.Time) string { return ordinal(t.Day()) },
	'w': func(t time.Time) string { return strconv.Itoa(int(t.Weekday())) },
	'z': func(t time.Time) string { return strconv.Itoa(t.YearDay() - 1) },

	'W': func(t time.Time) string { _, week := t.ISOWeek(); return fmt.Sprintf("%02d", week) },
	'o': func(t time.Time) string { year, _ := t.ISOWeek(); return strconv.Itoa(year) },

	'F': layout("January"), 'M': layout("Jan"), 'm': layout("01"), 'n': layout("1"),
	't': func(t time.Time) string {
		return strconv.Itoa(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day())
	},
	'L': func(t time.Time) string {
		return strconv.Itoa(time.Date(t.Year(), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay() - 365)
	},
	'Y': year, 'y': layout("06"),

	'a': layout("pm"), 'A': layout("PM"), 'g': layout("3"), 'h': layout("03"), 'H': layout("15"), 'i': layout("04"), 's': layout("05"),
	'G': func(t time.Time) string { return strconv.Itoa(t.Hour()) },
	'B': swatch,
	'u': layout("000000"), 'v': layout("000"),

	'e': layout("UTC"), 'T': layout("UTC"), 'I': layout("0"), 'Z': layout("0"), 'O': layout("+0000"), 'P': layout("+00:00"), 'p': layout("Z"),

	'c': func(t time.Time) string { return year(t) + t.Format("-01-02T15:04:05+00:00") },
	'r': func(t time.Time) string { return t.Format("Mon, 02 Jan ") + year(t) + t.Format(" 15:04:05 +0000") },
	'U': func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
}

func layout(l string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(l) }
}

// year has at least four digits, and a sign before the year 0.
func year(t time.Time) string {
	if t.Year() < 0 {
		return fmt.Sprintf("-%04d", -t.Year())
	}
	return fmt.Sprintf("%04d", t.Year())
}

// swatch is the time of the day in thousandths, in the zone one hour east of UTC.
func swatch(t time.Time) string {
	seconds := (t.Hour()*3600 + t.Minute()*60 + t.Second() + 3600) % 86400
	return fmt.Sprintf("%03d", seconds*10/864)
}

// ordinal returns the English suffix of a day of the month.
func ordinal(day int) string {
	switch {
	case day%10 == 1 && day != 11:
		return "st"
	case day%10 == 2 && day != 12:
		return "nd"
	case day%10 == 3 && day != 13:
		return "rd"
	}
	return "th"
}
