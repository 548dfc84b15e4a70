package times

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// allLayouts are the layouts of times that cannot be mistaken for a number, another text or another time, the most
// frequent ones first. With each of them, Go also reads fractions of a second after a comma or a dot, and an hour of
// one digit. -07:00 stands before Z07:00, which writes +00:00 as Z, and padded forms stand before others, since a time
// is written in the form in which it was read.
var allLayouts = slices.Concat(
	[]string{
		time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", time.DateTime,
		"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-0700", "2006-01-02 15:04:05Z07",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04",
		"20060102T150405Z0700", "20060102T150405", time.RFC1123, time.RFC1123Z, time.RFC822, time.RFC822Z, time.RFC850, time.ANSIC,
		time.RubyDate, "Mon Jan _2 15:04:05 UTC 2006", "Mon Jan _2 15:04:05 GMT 2006", "Mon Jan 02 2006 15:04:05 GMT-0700",
		"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700",
	},
	[]string{"2006-01-02t15:04:05z", "2006-01-02t15:04:05-07:00"}, // RFC 3339 allows small letters
	layoutsOf([]string{"2006-01-02"}, twelveHours),
	layoutsOf([]string{"2006/01/02"}, timesOfDay, zonedTimes, twelveHours),
	layoutsOf([]string{"2006/1/2", "2006-1-2", "2006.01.02", "2006-Jan-02", "2006-Jan-2"}, timesOfDay, twelveHours),
	layoutsOf([]string{"02-Jan-2006", "02 Jan 2006", "2-Jan-2006", "2 Jan 2006", "2 January 2006"}, timesOfDay, twelveHours),
	layoutsOf([]string{"Jan 02, 2006", "Jan 2, 2006", "January 02, 2006", "January 2, 2006"}, timesOfDay, twelveHours),
)

// These are the layouts of the time of day after a date.
var (
	timesOfDay  = []string{"", " 15:04:05", " 15:04"}
	zonedTimes  = []string{" 15:04:05-07:00", " 15:04:05Z07:00", " 15:04:05 -0700", " 15:04:05 UTC"}
	twelveHours = []string{
		" 03:04:05 PM", " 3:04:05 PM", " 03:04 PM", " 3:04 PM", " 03:04:05PM", " 3:04:05PM", " 03:04PM", " 3:04PM",
		" 03:04:05 pm", " 3:04:05 pm", " 03:04 pm", " 3:04 pm", " 03:04:05pm", " 3:04:05pm", " 03:04pm", " 3:04pm",
	}
)

// layoutsOf returns the dates followed by the times of day.
func layoutsOf(dates []string, times ...[]string) []string {
	var layouts []string
	for _, date := range dates {
		for _, clock := range slices.Concat(times...) {
			layouts = append(layouts, date+clock)
		}
	}
	return layouts
}

// A beginning tells texts apart by the first characters, so that few layouts are tried.
type beginning int

// The beginnings of texts.
const (
	yearBeginning  beginning = iota // four digits
	digitBeginning                  // another digit
	nameBeginning                   // anything else
	beginnings
)

func beginningOf(text string) beginning {
	digits := 0
	for digits < min(4, len(text)) && isDigit(text[digits]) {
		digits++
	}
	switch digits {
	case 4:
		return yearBeginning
	case 0:
		return nameBeginning
	}
	return digitBeginning
}

// layoutsByBeginning are the allLayouts by the beginning of the texts that they may read.
var layoutsByBeginning = func() (by [beginnings][]string) {
	for _, layout := range allLayouts {
		begin := beginningOf(layout)
		by[begin] = append(by[begin], layout)
	}
	return by
}()

// Layouts returns the layouts of package time with which a text may be a time, the most frequent ones first.
func Layouts(text string) []string { return layoutsByBeginning[beginningOf(text)] }

// maxTime is the length of the longest text that may be a time.
const maxTime = 48

// namesOfDates are the first letters of the names of months and days with which times may begin.
const namesOfDates = "JanFebMarAprMayJunJulAugSepOctNovDecMonTueWedThuFriSatSun"

// MayBe reports whether a text begins as a time does. It is fast, and true for some texts that are none.
func MayBe(text string) bool {
	if len(text) < len("2006/1/2") || len(text) > maxTime {
		return false
	}
	switch beginningOf(text) {
	case yearBeginning:
		return strings.IndexByte("-/.", text[4]) >= 0 || len(text) > len("20060102T") && text[len("20060102")] == 'T'
	case digitBeginning:
		rest := strings.TrimLeft(text, "0123456789")
		return len(rest) > 1 && strings.IndexByte(" -", rest[0]) >= 0 && rest[1] >= 'A'
	}
	return strings.ContainsAny(text, "0123456789") && BeginsWithName(text)
}

// BeginsWithName reports whether a text begins with the first letters of the English name of a month or a day, as a layout has them: Jan.
func BeginsWithName(text string) bool {
	return len(text) >= 3 && strings.Index(namesOfDates, text[:3])%3 == 0
}

// DifferInForm reports whether two texts may be times in different forms, or in a form whose texts do not sort by time.
func DifferInForm(a, b string) bool { return MayBe(a) && MayBe(b) && !sortAsTexts(a, b) }

// sortAsTexts reports whether two times have the same form, from the year to the second, and the same time zone.
func sortAsTexts(a, b string) bool {
	if len(a) != len(b) || beginningOf(a) != yearBeginning {
		return false
	}
	zone := false
	for i := range len(a) {
		x, y := a[i], b[i]
		switch {
		case x == y && (isDigit(x) || strings.IndexByte("-/.,: TZUC+", x) >= 0): // other letters may be months, AM or PM
			zone = zone || i > len("2006-01-02") && (x == '+' || x == '-')
		case zone || !isDigit(x) || !isDigit(y):
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// zoneOffsets are the hours by which zones with a name differ from UTC, for the names that RFC 822 defines. Other names, such
// as CST in China and IST, stand for several zones.
var zoneOffsets = map[string]int{
	"UTC": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}

// ParseInLayout is [time.ParseInLocation], which takes a zone with a name that it does not know for UTC. Here, names have the
// offsets of RFC 822, and a time in any other zone with a name is an error.
func ParseInLayout(layout, text string, zone *time.Location) (time.Time, error) {
	t, err := time.ParseInLocation(layout, text, zone)
	if err != nil || !strings.Contains(layout, "MST") {
		return t, err
	}
	name, offset := t.Zone()
	hours, known := zoneOffsets[name]
	switch {
	case t.Location() == zone, strings.HasPrefix(name, "GMT"): // a name of the given zone, or GMT+3
		return t, nil
	case !known && offset == 0:
		return time.Time{}, fmt.Errorf("%q has a time zone whose offset is unknown: %s", wording.Clip(text, 60), name)
	}
	return t.Add(time.Duration(offset-hours*3600) * time.Second).In(time.FixedZone(name, hours*3600)), nil
}

// Parse reads a date, or a date and a time. Without a time zone it is UTC.
func Parse(text string) (time.Time, error) {
	for _, layout := range Layouts(text) {
		if t, err := ParseInLayout(layout, text, time.UTC); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time like 2026-01-31 or 2026-01-31T12:00:00Z", wording.Clip(text, 60))
}
