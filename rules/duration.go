package rules

import (
	"math"
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

// seconds reads a number of seconds, a string that holds one, or a duration in
// words: "90s", "1h30m", "10 minutes", "2 hours 30 minutes".
func seconds(v any) (any, error) {
	var s float64
	switch v := v.(type) {
	case int:
		s = float64(v)
	case float64:
		s = v
	case string:
		if number, err := strconv.ParseFloat(v, 64); err == nil {
			s = number
		} else {
			s = readDuration(v).Seconds()
		}
	}
	if !(s > 0) || math.IsInf(s, 0) {
		return nil, errKind
	}
	if s == math.Trunc(s) {
		return int(s), nil
	}
	return s, nil
}

// maxSeconds is about a century: more seconds do not fit a [time.Duration].
const maxSeconds = 3_000_000_000

// ParseDuration reads a duration above 0 as settings in seconds are written: "90",
// "90s", "1h30m", "10 minutes".
func ParseDuration(text string) (time.Duration, error) {
	v, err := convert(Seconds, text)
	return durationOf(v), err
}

// durationOf returns a number of seconds, as they are read from a setting, as a duration.
// It is 0 for anything else.
func durationOf(v any) time.Duration {
	switch v := v.(type) {
	case int:
		return time.Duration(min(v, maxSeconds)) * time.Second
	case float64:
		return time.Duration(min(v, maxSeconds) * float64(time.Second))
	}
	return 0
}

// readDuration reads a duration as in Go, or pairs of a number and a unit. It returns 0 if the
// text is anything else.
func readDuration(text string) time.Duration {
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
