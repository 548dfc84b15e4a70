package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// explainPace says what limits the pace of all requests. It is nil if nothing does.
func explainPace(p rules.Pace) *PaceExplanation {
	x := PaceExplanation{Timeout: p.Timeout.Seconds(), PerSecond: p.PerSecond, Parallel: p.Parallel}
	var says []string
	if p.PerSecond > 0 {
		x.Burst = p.Burst
		says = append(says, inRate(p.PerSecond))
		if p.Burst > 1 {
			says[0] += fmt.Sprintf(" (%d at once after a rest)", p.Burst)
		}
	}
	if p.Parallel > 0 {
		says = append(says, fmt.Sprintf("at most %s at a time", value.Counted(p.Parallel, "request")))
	}
	if len(says) > 0 {
		says[len(says)-1] += ", all jobs together"
	}
	if p.Timeout > 0 {
		says = append(says, fmt.Sprintf("a request may take %s", p.Timeout))
	}
	if says == nil {
		return nil
	}
	x.Says = strings.Join(says, "; ")
	return &x
}

// inRate says a number of requests per second in words.
func inRate(perSecond float64) string {
	if perSecond == 1 {
		return "at most one request per second"
	}
	if perSecond > 1 {
		return fmt.Sprintf("at most %v requests per second", perSecond)
	}
	interval := time.Duration(float64(time.Second) / perSecond)
	return fmt.Sprintf("at most one request every %s", interval.Round(time.Millisecond))
}
