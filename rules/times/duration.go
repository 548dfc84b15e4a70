package times

import (
	"strconv"
	"strings"
	"time"
)

// durationUnits are the words that may follow a number in a duration.
var durationUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour, "d": 24 * time.Hour,
}

// ReadDuration reads a duration as in Go, or pairs of a number and a unit: 1h30m, 2 hours 30 minutes. It returns 0 if
// the text is anything else.
func ReadDuration(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	var sum time.Duration
	words := strings.Fields(text)
	if len(words)%2 != 0 {
		return 0
	}
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseFloat(words[i], 64)
		unit, known := durationUnits[strings.ToLower(words[i+1])]
		if err != nil || !known {
			return 0
		}
		sum += time.Duration(n * float64(unit))
	}
	return sum
}
