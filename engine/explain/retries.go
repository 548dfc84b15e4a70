package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Waits are the longest times that a request waits for its response, and those before retries.
type Waits struct {
	Begin    time.Duration // until the response begins, if no timeout is configured
	Pause    time.Duration // between two pieces of its body
	Response time.Duration // until it is complete, if no timeout is configured

	First   time.Duration // the longest wait before the first retry; it doubles with each retry
	Longest time.Duration // the longest wait before any retry
	Asked   time.Duration // the longest wait that the API may ask for
}

// String says in words how often a request is made again.
func (r RetryExplanation) String() string {
	if r.Max == 0 {
		return fmt.Sprintf("It fails the run: no request is retried (api.http.maxRetries). The exit status is %d for a request "+
			"without a complete response%s, %d for an unknown host, an untrusted certificate and any other status of 400 or above, and "+
			"%d for another status than "+requests.PageStatuses+"%s. %s. %s",
			failure.Transient.ExitStatus(), r.transient(), failure.API.ExitStatus(), failure.Response.ExitStatus(), r.renewed(),
			r.redirects(), strings.TrimSuffix(r.describeTimeouts(), " "))
	}
	causes := []string{"no complete response"}
	if len(r.Statuses) > 0 {
		causes = append(causes, "status "+statusesInWords(r.Statuses))
	}
	if len(r.Limited) > 0 {
		causes = append(causes, "status "+statusesInWords(r.Limited)+" with headers that say when to retry or that no requests are left")
	}
	return fmt.Sprintf("A request that gets %s is retried up to %s; then the run fails (%s). All requests share %d retries: "+
		"%d successes give one back, and a retry whose time the API sets takes 1/%[5]d of one; with none left, "+
		"the run fails (%[3]s). %[6]sAn unknown host or an untrusted certificate fails it at once (%[7]s).\n%[8]s; then the run "+
		"fails (%[9]s).\n%[10]s\n%[11]s. Any other status but "+requests.PageStatuses+" fails the run at once "+
		"(%[7]s, or %[12]d below 400)%[13]s.",
		strings.Join(causes, ", or "), wording.Counted(r.Max, "time"), statusTransient, transport.RetriesOfRun,
		transport.SuccessesForRetry, r.describeTimeouts(), statusAPI, r.doubtful(), statusResponse, r.describeWaits(), r.redirects(),
		failure.Response.ExitStatus(), r.renewed())
}

// redirects says which redirects are followed.
func (r RetryExplanation) redirects() string {
	other := ""
	if r.otherMethods {
		other = ", or a 301 or 302 of another method than GET,"
	}
	return fmt.Sprintf("Up to 10 redirects are followed; one more%s fails the run (%s)", other, statusAPI)
}

// doubtful says how often a body is retried that a proxy, or a server that is just starting, may send with status 200.
func (r RetryExplanation) doubtful() string {
	const page, empty = "A response with status 200 that is HTML by Content-Type and first character", "an empty one that is not CSV or NDJSON"
	if r.Max == 1 {
		return page + ", or " + empty + ", is retried once"
	}
	return page + " is retried twice, and " + empty + " once"
}

// transient names the statuses that are retried, or would be, as the end of a list that begins with requests without a response.
func (r RetryExplanation) transient() string {
	if len(r.Statuses) == 0 {
		return ""
	}
	text := " or with status " + statusesInWords(r.Statuses)
	if len(r.Limited) > 0 {
		text += ", or with status " + statusesInWords(r.Limited) + " and headers that say when to retry or that no requests are left"
	}
	return text
}

// statusesInWords lists statuses: "429, 500 or 520 to 524".
func statusesInWords(list []int) string {
	var ranges []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end-i >= 2 {
			ranges = append(ranges, fmt.Sprintf("%d to %d", list[i], list[end]))
		} else {
			ranges = append(ranges, lists.Map(list[i:end+1], strconv.Itoa)...)
		}
		i = end + 1
	}
	return wording.OrList(ranges)
}

// describeTimeouts says how long a request waits for its response.
func (r RetryExplanation) describeTimeouts() string {
	pauses := " or pauses for " + inWords(r.wait.Pause)
	switch {
	case r.wait.Pause == 0:
		return "A response that is cut off is not complete. "
	case r.timeout == 0:
		return fmt.Sprintf("A response that is cut off, does not begin within %s, takes more than %s%s is not complete "+
			"(api.http.timeout). ", inWords(r.wait.Begin), inWords(r.wait.Response), pauses)
	}
	late := fmt.Sprintf(", takes more than %s (api.http.timeout)", inWords(r.timeout)) + pauses
	if r.timeout <= r.wait.Pause {
		late = fmt.Sprintf(" or takes more than %s (api.http.timeout)", inWords(r.timeout))
	}
	return fmt.Sprintf("A response that is cut off%s is not complete. ", late)
}

// describeWaits says how long a run waits before retries.
func (r RetryExplanation) describeWaits() string {
	if r.wait.First == 0 {
		return fmt.Sprintf("The header %s gives the wait before a retry. ", r.waitHeaders())
	}
	return fmt.Sprintf("The header %s gives the wait before a retry (more than %s: the run fails, %s). Without a time in it, the "+
		"wait is random, "+
		"at most %s before the first retry, twice as long before each further one, up to %s. ",
		r.waitHeaders(), inWords(r.wait.Asked), statusTransient, inWords(r.wait.First), inWords(r.wait.Longest))
}

// waitHeaders names the headers that give the wait before a retry.
func (r RetryExplanation) waitHeaders() string {
	names, end := r.Header, ""
	if r.limit != (transport.RateLimit{}) {
		names += fmt.Sprintf(", or %s if %s is 0", cmp.Or(r.limit.Reset, usualReset), cmp.Or(r.limit.Remaining, usualRemaining))
		end = ","
	}
	if !strings.EqualFold(r.Header, usualRetry) {
		names += ", in place of " + usualRetry
		end = ","
	}
	return names + end
}

// usualRetry is the usual header that says when to retry; usualRemaining and usualReset are those of a rate limit.
const usualRetry, usualRemaining, usualReset = "Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Reset"

// renewed says that credentials are renewed, if they are.
func (r RetryExplanation) renewed() string {
	if !r.Renewed {
		return ""
	}
	return "; after 401, the credentials are renewed, and the request is made again, at most once for each request"
}

// inWords writes a duration without the zeros of [time.Duration.String].
func inWords(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return wording.Counted(int(d/time.Hour), "hour")
	case d%time.Minute == 0:
		return wording.Counted(int(d/time.Minute), "minute")
	case d%time.Second == 0:
		return wording.Counted(int(d/time.Second), "second")
	}
	return d.String()
}
