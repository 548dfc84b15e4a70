package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// trace is a run of three pages, as the command writes it. The second page took two
// attempts.
const usersTrace = `{"job":"users","page":1,"request":{"method":"GET","url":"https://api.test/v1/users?page=1"},` +
	`"status":200,"count":10,"bytes":1500,"verdicts":[{"rule":"samePage","met":false,"because":"samePage(false)"},` +
	`{"rule":"last","met":false,"because":"body.last(false) == true"}],` +
	`"decision":"continue","stoppedBy":[],"attempts":1,"at":0,"ms":200}` + "\n" +
	`{"job":"users","page":2,"request":{"method":"GET","url":"https://api.test/v1/users?page=2"},` +
	`"status":200,"count":10,"bytes":1400,"verdicts":[{"rule":"samePage","met":false,"because":"samePage(false)"},` +
	`{"rule":"last","met":false,"because":"body.last(absent) == true","missing":["body.last"]}],` +
	`"decision":"continue","stoppedBy":[],"attempts":2,"at":200,"ms":2300}` + "\n" +
	`{"job":"users","page":3,"request":{"method":"GET","url":"https://other.test/page=3"},` +
	`"status":200,"count":5,"bytes":700,"verdicts":[{"rule":"samePage","met":false,"because":"samePage(false)"},` +
	`{"rule":"last","met":true,"because":"body.last(true) == true"}],` +
	`"decision":"stop","stoppedBy":["last"],"outcome":"complete","attempts":1,"at":2500,"ms":500,` +
	`"findings":[{"id":"audit.total","message":"meta.total is 30, but the number of items read is 25",` +
	`"because":"hints.total(30) > total.items(25)"}]}` + "\n"

func read(t *testing.T, text string) *report.Run {
	t.Helper()
	run, err := report.Read("trace.json", strings.NewReader(text))
	require.NoError(t, err)
	return run
}

func text(t *testing.T, run *report.Run) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, run.Text(&b))
	return b.String()
}

func html(t *testing.T, run *report.Run) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, run.HTML(&b))
	return b.String()
}

func TestTextShowsTheRunAsTables(t *testing.T) {
	require.Equal(t, `job users: stopped on page 3 by last
    last: body.last(true) == true
    may be incomplete: meta.total is 30, but the number of items read is 25 (audit.total)
    3 pages, 4 requests, 25 items, 3.6 kB in 3.0 s; complete

  page      at    took  status  items    size request
     1    0 ms  200 ms     200     10  1.5 kB GET /v1/users?page=1
     2  200 ms   2.3 s     200     10  1.4 kB GET /v1/users?page=2; 2 attempts
     3   2.5 s  500 ms     200      5   700 B GET https://other.test/page=3; stopped by last

where each rule became true, and its values on the last page
  never   samePage  samePage(false)
  page 3  last      body.last(true) == true
`, text(t, read(t, usersTrace)))
}

func TestATraceWithoutAnEndSaysSo(t *testing.T) {
	first, _, _ := strings.Cut(usersTrace, "\n")
	run := read(t, first+"\n")
	require.Contains(t, text(t, run),
		"job users: the trace has no end: the run was killed after page 1, or is still running\n")
	require.Contains(t, html(t, run), `<span class="outcome unfinished">unfinished</span>`)
}

// TestATraceOfARunThatFailedIsNotThatOfAKilledOne has a parent that does not go on because a
// partition of its child has failed.
func TestATraceOfARunThatFailedIsNotThatOfAKilledOne(t *testing.T) {
	parent, _, _ := strings.Cut(usersTrace, "\n")
	child := `{"job":"lines","page":1,"partition":{"user":1},"request":{"method":"GET","url":"https://api.test/1"},"status":403,"verdicts":[],` +
		`"decision":"stop","stoppedBy":[],"outcome":"failed","reason":"error","error":{"class":"api","message":"job lines, page 1: status 403"}}`
	shown := text(t, read(t, parent+"\n"+child+"\n"))
	require.Contains(t, shown, "job users: did not go on after page 1, since the run failed in job lines\n")
	require.NotContains(t, shown, "killed")
	skipped := strings.Replace(child, `"error":`, `"skipped":true,"error":`, 1)
	require.Contains(t, text(t, read(t, parent+"\n"+skipped+"\n")), "job users: the trace has no end: the run was killed after page 1")
}

// eventful is a run that restarted, waited for a rate limit, and failed after a retry.
const eventful = `{"job":"users","page":1,"request":{"method":"GET","url":"https://api.test/users"},"status":200,"count":2,"bytes":20,` +
	`"verdicts":[{"rule":"samePage","met":false},{"rule":"x","met":true}],"decision":"continue","stoppedBy":[],"attempts":1,"at":0,"ms":10}` + "\n" +
	`{"job":"users","page":1,"request":{"method":"GET","url":"https://api.test/users"},"status":200,"count":2,"bytes":20,` +
	`"verdicts":[{"rule":"samePage","met":false},{"rule":"x","met":true}],"decision":"continue","stoppedBy":[],"attempts":1,"at":20,"ms":10,` +
	`"repeats":1,"waits":[{"for":"wait","ms":30000,"source":"X-RateLimit-Reset"}],` +
	`"restarts":[{"rule":"onError[0]","page":2,"request":{"method":"GET","url":"https://api.test/users?page=2"},"status":410,"attempts":3}]}` + "\n" +
	`{"job":"users","page":2,"request":{"method":"GET","url":"https://api.test/users?page=2"},"status":403,"count":0,"bytes":0,` +
	`"verdicts":[],"decision":"stop","stoppedBy":["error"],"reason":"error","outcome":"failed","attempts":2,"at":40,"ms":2100,` +
	`"waits":[{"for":"retry","attempt":1,"ms":2000,"source":"Retry-After","status":503,"cause":"status 503 Service Unavailable"}],` +
	`"error":{"class":"api","message":"job users, page 2: status 403 Forbidden","hint":"check api.authentication"}}` + "\n"

func TestAReportShowsRestartsWaitsAndTheError(t *testing.T) {
	run := read(t, eventful)
	job := run.Jobs[0]
	require.Equal(t, 2, job.Fetched)
	require.Equal(t, 7, job.Requests, "1, 3 and 1 around the restart, 2 for the page that failed")
	run.ShowVerdicts = true
	require.Equal(t, `job users: failed on page 2
    error of class api: job users, page 2: status 403 Forbidden (check api.authentication)
    2 pages, 7 requests, 4 items, 40 B in 2.1 s; failed

  page     at   took  status  items  size request
     1   0 ms  10 ms     200      2  20 B GET /users
     1  20 ms  10 ms     200      2  20 B GET /users; restarted by onError[0] after page 2 had status 410; waited 30.0 s for the rate limit (X-RateLimit-Reset); repeats page 1
     2  40 ms  2.1 s     403      -     - GET /users?page=2; 2 attempts; waited 2.0 s (Retry-After) after status 503 Service Unavailable; failed

where each rule became true, and its values on the last page
  never   samePage  
  page 1  x         

page 1  GET /users
  not met  samePage  
  met      x         

page 1  GET /users; restarted by onError[0] after page 2 had status 410; waited 30.0 s for the rate limit (X-RateLimit-Reset); repeats page 1
  not met  samePage  
  met      x         

page 2  GET /users?page=2; 2 attempts; waited 2.0 s (Retry-After) after status 503 Service Unavailable; failed
  error of class api: job users, page 2: status 403 Forbidden (check api.authentication)
`, text(t, run))
	page := html(t, run)
	for _, part := range []string{
		`<section aria-labelledby="job-1" class="failed">`, `<dt>requests</dt><dd>7</dd>`, `<dt>pages</dt><dd>2</dd>`,
		"restarted by onError[0] after page 2 had status 410", "waited 30.0 s for the rate limit", "repeats page 1",
		"error of class api: job users, page 2: status 403 Forbidden (check api.authentication)",
	} {
		require.Contains(t, page, part)
	}
}

// clean returns the trace without its finding.
func clean() string {
	return regexp.MustCompile(`,"findings":\[.*?\]`).ReplaceAllString(usersTrace, "")
}

func TestAListThatMayBeIncompleteIsNotShownAsAGoodOne(t *testing.T) {
	page := html(t, read(t, usersTrace))
	require.Contains(t, page, `<span class="outcome suspect">complete</span> <span class="note">may be incomplete</span>`)
	require.NotContains(t, page, `class="outcome complete"`)
	require.Contains(t, html(t, read(t, clean())), `<span class="outcome complete">complete</span>`)
}

func TestTheRuleThatDecidedIsMarked(t *testing.T) {
	run := read(t, strings.Replace(usersTrace, `"stoppedBy":["last"]`, `"stoppedBy":["last","other"],"reason":"last"`, 1))
	run.ShowVerdicts = true
	require.Contains(t, text(t, run), "job users: stopped on page 3 by last (other also met)\n")
	require.Contains(t, text(t, run), "  met, decided  last      body.last(true) == true\n")
	require.Contains(t, html(t, run), `<span class="met">met, decided</span> <code>last</code>`)
}

func TestATruncatedTraceIsReadUpToTheLastCompleteLine(t *testing.T) {
	run := read(t, usersTrace[:len(usersTrace)-100])
	require.Len(t, run.Jobs[0].Partitions[0].Pages, 2)
	require.Contains(t, text(t, run), "The trace ends in the middle of a line: the run that wrote it was killed.")
	require.Contains(t, html(t, run), "The trace ends in the middle of a line")
}

func TestEveryJobHasTablesOfItsOwn(t *testing.T) {
	run := read(t, usersTrace+strings.ReplaceAll(usersTrace, `"users"`, `"groups"`))
	require.Len(t, run.Jobs, 2)
	require.Contains(t, text(t, run), "\njob groups: stopped on page 3 by last\n")
	require.Contains(t, html(t, run), `<a href="#job-2">groups</a>`)
}

func TestItemsThatWereNotWrittenAreNotCounted(t *testing.T) {
	run := read(t, strings.Replace(usersTrace, `"attempts":1,"at":2500`, `"dropped":true,"attempts":1,"at":2500`, 1))
	require.Equal(t, 20, run.Jobs[0].Items)
	require.Contains(t, text(t, run), "; items not written; stopped by last")
}

func TestARuleThatBecomesTrueSeveralTimesListsItsPages(t *testing.T) {
	for _, test := range []struct {
		name string
		met  []bool // page by page
		want string
	}{
		{"never", []bool{false, false}, "never"},
		{"once, and stays true", []bool{false, true, true}, "page 2"},
		{"twice", []bool{true, false, true}, "pages 1, 3"},
		{"more often than is shown", []bool{true, false, true, false, true, false, true}, "pages 1, 3, 5, …"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			for i, met := range test.met {
				fmt.Fprintf(&b, `{"job":"users","page":%d,"decision":"continue","verdicts":[{"rule":"x","met":%t}]}`+"\n", i+1, met)
			}
			require.Equal(t, test.want, read(t, b.String()).Jobs[0].Partitions[0].Rules[0].PagesText())
		})
	}
}

func TestAFileThatIsNotATraceIsRefused(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"empty", "", "the trace has no pages"},
		{"blank lines", "\n \n", "the trace has no pages"},
		{"an empty object", "{}", "line 1 is not a page of a trace: job, page or decision is missing"},
		{"text", "hello", "line 1 is not a page of a trace"},
		{"text between pages", usersTrace + "hello\n" + usersTrace, "line 4 is not a page of a trace"},
		{"a list", `[{"job": "users"}]`, "line 1 is not a page of a trace"},
		{"a wrong type", "{\"page\": \"one\"}\n", "line 1 is not a page of a trace"},
		{"an HTTP archive", `{"log": {"version": "1.2"}}`, "line 1 is not a page of a trace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := report.Read("x", strings.NewReader(test.content))
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestTheHTMLLoadsNothingAndRunsNothing puts hostile text into every name.
func TestTheHTMLLoadsNothingAndRunsNothing(t *testing.T) {
	for _, test := range []struct{ name, hostile string }{
		{"a script", `<script>alert(1)</script>`},
		{"an event handler", `"><img src=x onerror=alert(1)>`},
		{"a script address", `javascript:alert(1)`},
		{"the end of the style sheet", `</style><script>alert(1)</script>`},
		{"a template action", `{{.}}`},
		{"the end of a string", `'-alert(1)-'`},
		{"the end of the title", `</title><script>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			quoted, err := json.Marshal(test.hostile)
			require.NoError(t, err)
			bare := string(quoted[1 : len(quoted)-1])
			replaced := strings.NewReplacer("users", bare, "last", bare, "GET", bare, "samePage(false)", bare).Replace(usersTrace)
			run, err := report.Read(test.hostile, strings.NewReader(replaced))
			require.NoError(t, err)
			page := html(t, run)
			require.NotContains(t, page, "<script")
			require.NotContains(t, page, "<img")
			require.Equal(t, 1, strings.Count(page, "</style>"))
			for _, attribute := range regexp.MustCompile(`\b(?:src|href|action|style|on\w+)=`).FindAllString(tags(page), -1) {
				require.Equal(t, "href=", attribute)
			}
			require.NotRegexp(t, `href="[^#]`, page)
		})
	}
	require.Contains(t, html(t, read(t, usersTrace)), `content="default-src &#39;none&#39;; style-src &#39;sha256-`)
}

// tags returns the tags of an HTML page without the text between them.
func tags(page string) string {
	return strings.Join(regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(page, -1), "\n")
}

// run returns a run of a number of pages. Page 4000 took three attempts.
func run(t *testing.T, pages int) *report.Run {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for n := 1; n <= pages; n++ {
		p := engine.Record{
			Job: "users", Page: n, Request: trace.Request{Method: "GET", URL: fmt.Sprintf("https://api.test/users?page=%d", n)},
			Status: 200, Count: n % 7, Bytes: 1000 + n%300,
			Verdicts: []engine.Verdict{{Rule: "pagenum.empty", Because: fmt.Sprintf("count(%d) == 0", n%7)}},
			Decision: trace.Continue, StoppedBy: []string{}, Attempts: 1, At: int64(n-1) * 30, Millis: 25,
		}
		if n == 4000 {
			p.Attempts = 3
		}
		if n == pages {
			p.Decision, p.StoppedBy, p.Outcome, p.Verdicts[0].Met = trace.Stop, []string{"pagenum.empty"}, "complete", true
		}
		require.NoError(t, enc.Encode(p))
	}
	return read(t, b.String())
}

func TestTheHTMLOfALongRunIsBounded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, pages := range []int{1, 2, 400, 401, 10_000} {
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			page := html(t, run(t, pages))
			require.Less(t, len(page), 4<<20)
			require.Equal(t, pages, strings.Count(page, "GET /users?page="))
			each := (pages + 399) / 400
			require.Equal(t, 3*((pages+each-1)/each), strings.Count(page, "<rect "), "three strips of at most 400 columns")
			for _, x := range regexp.MustCompile(`<rect [^>]* x="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				require.Regexp(t, `^\d+(\.\d+)?$`, x[1], "no column is outside the drawing")
			}
		})
	}
	page := html(t, run(t, 10_000))
	require.Contains(t, page, "The verdicts of 9799 pages in the middle are omitted here")
	require.Equal(t, 201, strings.Count(page, "<details>"), "100 at each end, and the one with three attempts")
	require.Contains(t, page, "pagenum.empty, page 10000</text>")
}

// TestWithoutTimesTheAxisShowsPages uses a trace without times, as a virtual clock
// or a server faster than a millisecond gives.
func TestWithoutTimesTheAxisShowsPages(t *testing.T) {
	page := html(t, read(t, regexp.MustCompile(`"at":\d+,"ms":\d+`).ReplaceAllString(usersTrace, `"at":0,"ms":0`)))
	require.Contains(t, page, "From left to right: pages in order.")
	require.Contains(t, html(t, read(t, usersTrace)), "From left to right: time.")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(usersTrace))
	f.Add([]byte(`{"job":"a","page":-1,"decision":"stop","at":-5,"ms":9223372036854775807,"bytes":-1,"count":-9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := report.Read("x", bytes.NewReader(text))
		if err != nil {
			return
		}
		require.NoError(t, run.Text(&bytes.Buffer{}))
		require.NoError(t, run.HTML(&bytes.Buffer{}))
	})
}
