package php_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
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
			seconds, ok := php.StrToTime(tt.text)
			require.True(t, ok)
			require.Equal(t, tt.seconds, seconds)
		})
	}
}

func TestTextThatIsNoTime(t *testing.T) {
	for _, text := range []string{
		"", "garbage", "60", "90", "300", "86400", "90s", "1h", "1 h", "1 m", "10 minutes!", "10 minutes later",
		"1.5 hours", "1,5 hours", "one minute", "1 decade", "1 hr", "hours", "25:00", "10:60", "10:59:61",
		"1970-13-01", "1970-02-32", "12345", "1234567", "10:00 11:00", "1970-01-01 1970-01-02", "1 day and 2 hours",
	} {
		t.Run(text, func(t *testing.T) {
			_, ok := php.StrToTime(text)
			require.False(t, ok)
		})
	}
}
