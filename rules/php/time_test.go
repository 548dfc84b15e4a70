package php

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStrToTime(t *testing.T) {
	for _, tt := range []struct {
		text    string
		seconds int
	}{
		{"10 minutes", 600},
		{"1 hour", 3600},
		{"2 hours 30 minutes", 9000},
		{"90 sec", 90},
		{"90sec", 90},
		{"10minutes5seconds", 605},
		{" 10\tMINUTES ", 600},
		{"10 min.", 600},
		{"1 day, 2 hours", 93600},
		{"1 minute 1 minute", 120},
		{"3600 sec", 3600},
		{"1500 ms", 1},
		{"-1500 ms", -2},
		{"2000000 usec", 2},
		{"9999999999999 seconds", 9999999999999},
		{"1 week", 604800},
		{"2 weeks", 1209600},
		{"1 fortnight", 1209600},
		{"1 month", 2678400},
		{"2 months", 5097600},
		{"12 months", 31536000},
		{"1 year", 31536000},
		{"1 month 1 day", 2764800},
		{"-1 month", -2678400},
		{"+1 day", 86400},
		{"+ 1 hour", 3600},
		{"-1 hour", -3600},
		{"+-1 hour", -3600},
		{"-+-1 hour", 3600},
		{"1 hour ago", -3600},
		{"1 hour ago 30 minutes", -1800},
		{"1 hour 30 minutes ago", -5400},

		{"now", 0},
		{"today", 0},
		{"midnight", 0},
		{" ", 0},
		{"noon", 43200},
		{"tomorrow", 86400},
		{"yesterday", -86400},
		{"tomorrow noon", 129600},
		{"tomorrow 10:00", 122400},
		{"10:00 tomorrow", 86400}, // a day's name takes the clock time away

		{"00:10:00", 600},
		{"00:10", 600},
		{"1:5", 3900},
		{"24:00", 86400},
		{"10:59:60", 39600},
		{"00:10:00 10 minutes", 1200},
		{"10 minutes 00:10:00", 1200},

		{"0010", 600},
		{"2000", 72000},
		{"2400", 86400},
		{"101010", 36610},
		{"3600", 51437808000},
		{"1960", -315619200},
		{"7200", 165042835200},
		{"3600 UTC 1970-01-02", 86400},
		{"1234567890", 186817235696},

		{"1970-01-02", 86400},
		{"1970-1-2", 86400},
		{"1970-02-31", 5270400},
		{"1970-00-01", -2678400},
		{"1970-01-31 1 month", 5270400},
		{"2020-02-30 1 month", 1585699200},
		{"1970-02", 2678400},
		{"1970032", 2678400},
		{"20200101", 1577836800},
		{"20200101123456", 1577882096},
		{"1970-01-02 03:04", 97440},
		{"1970-01-02T03:04:05Z", 97445},
		{"1970-01-02T03:04:05.678Z", 97445},
		{"1970-01-02T03:04:05+01:00", 93845},
		{"@123", 123},
		{"@-5", -5},
		{"@123 10 minutes", 723},
		{"+1", -3600}, // an offset from UTC
	} {
		t.Run(tt.text, func(t *testing.T) {
			seconds, ok := StrToTime(tt.text, 0)
			require.True(t, ok)
			require.Equal(t, tt.seconds, seconds)
		})
	}
}

// What a text leaves open is taken from the base: the manual, "Relative Formats".
func TestStrToTimeFromABase(t *testing.T) {
	const base = 1508620560 // Saturday 2017-10-21 21:16:00
	for text, want := range map[string]string{
		"-7 days":                       "2017-10-14 21:16:00",
		"+7 days midnight":              "2017-10-28 00:00:00",
		"2017-10-04":                    "2017-10-04 00:00:00",
		"21 oct 2017 9:16pm":            "2017-10-21 21:16:00",
		"oct 21 9:16":                   "2017-10-21 09:16:00",
		"12 am":                         "2017-10-21 00:00:00",
		"10:30":                         "2017-10-21 10:30:00",
		"march 5th, 2018":               "2018-03-05 00:00:00",
		"5-jan-20":                      "2020-01-05 00:00:00",
		"jan 2020":                      "2020-01-01 00:00:00",
		"january":                       "2017-01-21 00:00:00",
		"12.10.2019":                    "2019-10-12 00:00:00",
		"12.10.19":                      "2017-10-21 12:10:19", // a clock time
		"10/12/2019":                    "2019-10-12 00:00:00",
		"10/12":                         "2017-10-12 00:00:00",
		"2017-W053":                     "2017-02-01 00:00:00",
		"20180305T101112":               "2018-03-05 10:11:12",
		"Sat, 21 Oct 2017 09:16:00 GMT": "2017-10-21 09:16:00",

		"monday":                      "2017-10-23 00:00:00",
		"saturday":                    "2017-10-21 00:00:00", // today counts
		"next saturday":               "2017-10-28 00:00:00",
		"last monday":                 "2017-10-16 00:00:00",
		"monday 9am":                  "2017-10-23 09:00:00",
		"monday this week":            "2017-10-16 00:00:00",
		"sunday this week":            "2017-10-22 00:00:00", // a week ends on Sunday
		"monday next week":            "2017-10-23 00:00:00",
		"this week":                   "2017-10-16 21:16:00",
		"first monday of january":     "2017-01-02 00:00:00",
		"last friday of next month":   "2017-11-24 00:00:00",
		"first day of next month":     "2017-11-01 21:16:00",
		"first day of last month":     "2017-09-01 21:16:00",
		"last day of feb 2020":        "2020-02-29 00:00:00",
		"first day of this month 0:0": "2017-10-01 00:00:00",
		"previous year":               "2016-10-21 21:16:00",
		"third day":                   "2017-10-24 21:16:00",
		"@0 1 day":                    "1970-01-02 00:00:00",
	} {
		t.Run(text, func(t *testing.T) {
			seconds, ok := StrToTime(text, base)
			require.True(t, ok)
			require.Equal(t, want, date("Y-m-d H:i:s", seconds))
		})
	}
	february, _ := StrToTime("last day of next month", 1485820800) // from 2017-01-31
	require.Equal(t, "2017-02-28", date("Y-m-d", february), "the month is counted without the day")
}

func TestTextThatIsNoTime(t *testing.T) {
	for _, text := range []string{
		"", "garbage", "60", "90", "300", "86400", "90s", "1h", "1 h", "1 m", "10 minutes!", "10 minutes later",
		"1.5 hours", "1,5 hours", "one minute", "1 decade", "1 hr", "hours", "25:00", "10:60", "10:59:61",
		"1970-13-01", "1970-02-32", "12345", "1234567", "10:00 11:00", "1970-01-01 1970-01-02", "1 day and 2 hours",
		"3 weekdays", "friday ago", "first day of monday", "last friday of monday", "10:00 CEST", "13pm",
	} {
		t.Run(text, func(t *testing.T) {
			_, ok := StrToTime(text, 0)
			require.False(t, ok)
		})
	}
}
