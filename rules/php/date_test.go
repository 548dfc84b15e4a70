package php

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The letters are those of the manual's table of DateTimeInterface::format.
func TestDatesAreWrittenAsByPHP(t *testing.T) {
	const evening = 1508620560 // Saturday
	for _, tt := range []struct {
		format  string
		seconds int
		want    string
	}{
		{"Y-m-d H:i:s", 1490000000, "2017-03-20 08:53:20"},
		{"d D j l N S w z", evening, "21 Sat 21 Saturday 6 st 6 293"},
		{"W F m M n t L o Y y", evening, "42 October 10 Oct 10 31 0 2017 2017 17"},
		{"a A B g G h H i s u v", evening, "pm PM 927 9 21 09 21 16 00 000000 000"},
		{"e I O P T Z", evening, "UTC 0 +0000 +00:00 UTC 0"},
		{"c", evening, "2017-10-21T21:16:00+00:00"},
		{"r", evening, "Sat, 21 Oct 2017 21:16:00 +0000"},
		{"U", evening, "1508620560"},
		{`\Y\m\d Y`, evening, "Ymd 2017"},
		{`Y\`, evening, `2017\`},
		{"o-W", 1230768000, "2009-01"},         // 2009-01-01
		{"Y-z L t", 951782400, "2000-59 1 29"}, // 2000-02-29
		{"Y-m-d", -31622400, "1968-12-31"},     // before 1970
		{"jS", 946857600, "3rd"},               // 2000-01-03
		{"jS", 947548800, "11th"},              // 2000-01-11
		{"jS", 947635200, "12th"},              // 2000-01-12
		{"j. n. Y", 0, "1. 1. 1970"},
		{"", 0, ""},
	} {
		t.Run(tt.format, func(t *testing.T) { require.Equal(t, tt.want, date(tt.format, tt.seconds)) })
	}
}
