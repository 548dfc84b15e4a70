package compile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/value"
)

// maxWait is the longest wait before a request. A longer one is probably a number of
// another unit.
const maxWait = 24 * time.Hour

// waitOf reads how long to wait before a request: a duration, or a number of seconds.
// Either may be text, as headers have it. Nil is no wait.
func waitOf(v any) (time.Duration, error) {
	if v == nil {
		return 0, nil
	}
	seconds, ok := secondsOf(v)
	switch {
	case !ok:
		return 0, fmt.Errorf("want a duration, or a number of seconds, got %s", language.Described(v))
	case seconds < 0:
		return 0, fmt.Errorf("want a wait of 0 or more, got %s", value.Preview(v))
	case seconds > maxWait.Seconds():
		return 0, fmt.Errorf("want a wait of at most %s, got %s", maxWait, value.Preview(v))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// secondsOf returns a duration in seconds. It reports false for any other value.
func secondsOf(v any) (seconds float64, ok bool) {
	if d, isDuration := v.(time.Duration); isDuration {
		return d.Seconds(), true
	}
	text, ok := value.Text(v)
	if _, isFlag := v.(bool); !ok || isFlag {
		return 0, false
	}
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	return seconds, err == nil && !math.IsNaN(seconds)
}
