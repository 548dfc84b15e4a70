package rules

import (
	"math"
	"strconv"
	"time"

	"github.com/stopwhen/stopwhen/rules/times"
)

// readSeconds reads a number of seconds, a string that holds one, or a duration in
// words: "90s", "1h30m", "10 minutes", "2 hours 30 minutes".
func readSeconds(v any) (any, error) {
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
			s = times.ReadDuration(v).Seconds()
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
	v, err := convert(KindSeconds, text)
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
