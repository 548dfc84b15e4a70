package explain

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// explainedCase explains the configuration of a case. It reports false if the configuration is
// invalid.
func explainedCase(c *fixtures.Case) (*Explanation, []*compile.Job, bool) {
	text := bytes.ReplaceAll(c.Config, []byte("{base}"), []byte("http://127.0.0.1"))
	source := diag.NewSource(c.ConfigName, string(text))
	parse := rules.ParseJSON
	if !strings.HasSuffix(c.ConfigName, ".json") {
		parse = yaml.Parse
	}
	root, err := parse(source)
	if err != nil {
		return nil, nil, false
	}
	options := rules.Options{Env: func(name string) (string, bool) { return "of-" + name, true }}
	cfg, found := rules.Decode(source, root, options)
	if found.Err() != nil {
		return nil, nil, false
	}
	compiled, found := compile.Compile(cfg, compile.Options{})
	if found.Err() != nil {
		return nil, nil, false
	}
	return Explain(cfg, compiled.Jobs, RunDetails{Redact: func(s string) string { return s }}), compiled.Jobs, true
}

// An explanationOfCase is a case with what explain says about it.
type explanationOfCase struct {
	*fixtures.Case
	explanation *Explanation
	jobs        []*compile.Job
}

var allExplained = sync.OnceValues(func() (all []explanationOfCase, err error) {
	cases, err := fixtures.All()
	for _, c := range cases {
		if x, jobs, ok := explainedCase(c); ok {
			all = append(all, explanationOfCase{c, x, jobs})
		}
	}
	return all, err
})

// explainedCases returns the cases whose configurations are valid.
func explainedCases(t *testing.T) []explanationOfCase {
	t.Helper()
	all, err := allExplained()
	require.NoError(t, err)
	require.Greater(t, len(all), 500)
	return all
}

// sectionsOf returns the sections of the text of an explanation by their headings, each on one
// line. With the widest lines, a heading is on one line.
func sectionsOf(text string) map[string]string {
	sections, heading := map[string]string{}, ""
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   "):
			heading = trimmed
		case trimmed != "" && !strings.HasPrefix(line, " "):
			heading = ""
		default:
			sections[heading] += trimmed + " "
		}
	}
	return sections
}

// Every rule that ends a list is told with what the end means: its outcome, and the exit status.
func TestEveryEndIsToldWithItsOutcomeAndStatus(t *testing.T) {
	fixtures.SkipUnderRace(t, "it explains every case in one goroutine")
	told := map[string]int{}
	for _, c := range explainedCases(t) {
		x, jobs := c.explanation, c.jobs
		narrow := x.Text(TextOptions{Width: minWidth})
		for i, job := range jobs {
			one := x.Jobs[i]
			alone := *x
			alone.Jobs, alone.Trees = x.Jobs[i:i+1], nil
			sections := sectionsOf(alone.Text(TextOptions{Width: maxWidth, Full: true}))
			require.Len(t, one.Stops, len(job.Stops), c.Name)
			for at, stop := range job.Stops {
				r, rule := one.Stops[at], stop.Rule
				wantStatus := 0
				if rule.Outcome == rules.Failed {
					wantStatus = map[bool]int{true: 6, false: 5}[rule.Guard]
				}
				require.Equal(t, rule.Outcome, r.Outcome, "%s, rule %s", c.Name, rule.ID)
				require.Equal(t, wantStatus, r.Status, "%s, rule %s", c.Name, rule.ID)
				if r.Never == "" || r.Origin.By.Kind != rules.AuthorDefault {
					require.Contains(t, narrow, rule.ID, c.Name)
				}
				if r.Never == "" {
					meaning := meaningOf(t, rule)
					told[meaning]++
					requireTold(t, sections, rule, meaning, c.Name)
				}
			}
			for at, rule := range one.OnError {
				want := map[rules.ErrorAction]int{rules.ErrorFail: 3, rules.ErrorRestart: 6}[job.OnErrors[at].Rule.OnError.Do]
				require.Equal(t, want, rule.Status, "%s, rule %s", c.Name, rule.ID)
				if want > 0 {
					require.Contains(t, rule.action(), fmt.Sprintf("exit status %d", want))
				}
			}
		}
	}
	for _, meaning := range []string{"complete", "limited", "guarded", "halves", "status 5", "status 6"} {
		require.NotZero(t, told[meaning], "no case has a rule that means %s", meaning)
	}
}

// meaningOf returns the word by which a reader knows what the end by a rule means.
func meaningOf(t *testing.T, rule rules.Rule) string {
	t.Helper()
	switch {
	case rule.Outcome == rules.Failed && rule.Guard:
		return "status 6"
	case rule.Outcome == rules.Failed:
		return "status 5"
	case rule.Outcome == rules.Split:
		return "halves"
	}
	return string(rule.Outcome)
}

// requireTold requires the rule in a section whose heading has the word or, of a guard, whose text
// after the rule has it.
func requireTold(t *testing.T, sections map[string]string, rule rules.Rule, meaning, name string) {
	t.Helper()
	for heading, text := range sections {
		_, after, has := strings.Cut(" "+text, " "+rule.ID+" ")
		if !has {
			continue
		}
		told, _, _ := strings.Cut(after, "]")
		if strings.Contains(heading, meaning) || strings.Contains(told, meaning) {
			return
		}
	}
	t.Errorf("%s: no section tells that the end by %s means %s: %v", name, rule.ID, meaning, sections)
}

// What fails a run besides its rules, and where its items go, is told of every job.
func TestEveryExplanationTellsWhatIsNotInTheRules(t *testing.T) {
	fixtures.SkipUnderRace(t, "it explains every case in one goroutine")
	needs, windows := 0, 0
	for _, c := range explainedCases(t) {
		x, jobs := c.explanation, c.jobs
		text := strings.Join(strings.Fields(x.String()), " ")
		require.Contains(t, text, x.Origins, c.Name)
		require.Contains(t, text, "fails the run (exit status 5)", c.Name)
		splits := false // whether windows of some job are split
		for i, job := range jobs {
			one := x.Jobs[i]
			require.Equal(t, job.Spec().Emits, one.Items.Files != nil, c.Name)
			require.Equal(t, job.Spec().Emits, strings.Contains(one.outputInWords(), "with --out DIR, to DIR/"), c.Name)
			require.Contains(t, text, strings.Join(strings.Fields(one.outputInWords()), " "), c.Name)
			for _, e := range job.Next {
				for _, keys := range e.ItemKeys() {
					needs++
					require.Contains(t, text, "an item has no "+keypath.Join(keys...), c.Name)
				}
			}
			for _, v := range job.For {
				if v.Window != nil {
					windows++
					closed := v.Window.Granularity != (times.Span{})
					require.Equal(t, closed, strings.Contains(text, v.Name+".to is part of the window"), c.Name)
					require.Equal(t, !closed, strings.Contains(text, v.Name+".to is not part of the window"), c.Name)
					splits = splits || v.Window.Splits
				}
			}
			if len(job.Keeps) > 0 {
				require.Contains(t, text, one.KeepSays, c.Name)
				require.Equal(t, len(job.For) > 0, strings.Contains(one.KeepSays, "the greatest is saved"), c.Name)
				require.Equal(t, job.KeepFor != nil, strings.Contains(one.KeepSays, "each partition reads its own"), c.Name)
			}
		}
		require.Equal(t, splits, strings.Contains(text, "The pages of a window that is read in halves are not written"), c.Name)
	}
	require.Greater(t, needs, 10)
	require.Greater(t, windows, 10)
}

// A file of a tree of jobs, or of several jobs, is replaced only if none of them fails.
func TestTheFileIsReplacedWithThoseThatBelongToIt(t *testing.T) {
	const users, posts = `{"id": "users", "endpoint": "users"%s}`, `{"id": "posts", "endpoint": "users/{user.id}/posts", "for": {"user": {"items": "users"}}%s}`
	const alone, tree = "If the list ends without an error or evidence, the file is replaced, also if no row is written; otherwise ", "If no job of the tree fails or has evidence, the file is replaced, also if no row is written; otherwise "
	for _, c := range []struct{ jobs, want string }{
		{fmt.Sprintf(users, ""), alone},
		{fmt.Sprintf(users, "") + `, {"endpoint": "teams"}`, alone},
		{fmt.Sprintf(users, "") + ", " + fmt.Sprintf(posts, ""), tree},
		{fmt.Sprintf(posts, "") + ", " + fmt.Sprintf(users, `, "emit": false`), strings.Replace(tree, ";", ", or there is no partition;", 1)},
		{`{"endpoint": "{kind}", "for": {"kind": {"values": ["a", "b"]}}}`, "If the job does not fail, and has no evidence, the file is replaced, also if no row is written; otherwise "},
		{
			fmt.Sprintf(users, `, "dataType": "rows"`) + `, {"endpoint": "teams", "dataType": "rows"}`,
			"If no job that writes to it fails or has evidence, the file is replaced, also if no row is written; otherwise ",
		},
		{
			fmt.Sprintf(users, `, "dataType": "rows"`) + ", " + fmt.Sprintf(posts, "") + `, {"endpoint": "teams", "dataType": "rows"}`,
			"If no job that writes to it, and no other of its tree, fails or has evidence, the file is replaced, also if no row is written; otherwise ",
		},
		{
			`{"endpoint": "teams", "dataType": "rows"}, ` + fmt.Sprintf(users, `, "emit": false`) + ", " + fmt.Sprintf(posts, `, "dataType": "rows"`),
			"If no job that writes to it, and no other of its tree, fails or has evidence, the file is replaced, also if no row is written; otherwise ",
		},
		{
			`{"id": "users", "endpoint": "users", "pagination": {"method": "pagenum", "keep": {"newest": "greatest(items, 'id', kept.newest)"}}}, ` + fmt.Sprintf(posts, ""),
			"In a run without kept values, as the first one is and each without --kept and --state, the file is replaced if no job of the tree fails or has evidence, also if no row is written; in one with them, the rows are added if all jobs of the tree are complete, and have no evidence. Otherwise ",
		},
	} {
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [`+c.jobs+`]}}`, nil)
		require.Contains(t, x.Jobs[0].outputInWords(), c.want, c.jobs)
	}
}

// Whoever reads explain knows which requests are made for credentials, what they send, and where the result goes.
func TestTheRequestForCredentialsIsTold(t *testing.T) {
	for _, c := range []struct{ name, auth, says, request string }{
		{
			"a client with a secret", `"type": "oauth2", "tokenUrl": "https://auth.example/token", "clientId": "a", "#clientSecret": "b"`,
			"a token of OAuth 2.0 (grant client_credentials), in the header Authorization: Bearer, ",
			"POST https://auth.example/token with grant_type=client_credentials in the body, a URL-encoded form; clientId=a, clientSecret=*** in the header Authorization: Basic, as user name and password",
		},
		{
			"a client in the body", `"type": "oauth2", "tokenUrl": "token", "clientId": "a", "#clientSecret": "b", "clientAuth": "body",
				"scopes": ["x", "y"], "params": {"audience": "z"}`, "renewed 60 seconds before the end of the lifetime, if there is one, but not in the first half of it",
			"POST https://x.example/token with grant_type=client_credentials, scope=x y, audience=z, client_id=a, client_secret=*** in the body, a URL-encoded form",
		},
		{
			"a client without a secret", `"type": "oauth2", "tokenUrl": "/token", "clientId": "a", "#refreshToken": {"expr": "'b'"}`,
			"the new one is saved in the file of --tokens, or with --state FILE in FILE.tokens", "POST https://x.example/token with grant_type=refresh_token, refresh_token=***, client_id=a in the body, a URL-encoded form",
		},
		{
			"a password", `"type": "oauth2", "tokenUrl": "/token", "username": "a", "#password": "b"`,
			"(grant password)", "POST https://x.example/token with grant_type=password, username=a, password=*** in the body, a URL-encoded form",
		},
		{
			"a login by GET", `"type": "login", "loginRequest": {"endpoint": "login", "params": {"#key": "b"}, "headers": {"X-App": "c"}},
				"apiRequest": {"headers": {"X-Token": "login.body.token"}}`, "values of the response of a login",
			"GET https://x.example/login with key=*** in the query; X-App=c in the headers",
		},
		{
			"a login with a body", `"type": "login", "loginRequest": {"endpoint": "https://auth.example/login", "method": "POST", "params": {"v": 1}, "body": {"user": "a"}},
				"apiRequest": {"headers": {"X-Token": "login.body.token"}}`, "renewed if the API refuses the credentials (status 401), at most once for each request",
			"POST https://auth.example/login with v=1 in the query; user=a in the body, which is JSON",
		},
		{
			"a login by a form", `"type": "login", "loginRequest": {"endpoint": "login", "method": "FORM", "params": {"user": {"expr": "input.a"}, "tags": ["b", {"#key": "c"}]}},
				"apiRequest": {"headers": {"X-Token": "login.body.token"}}`, "values of the response of a login",
			`POST https://x.example/login with user={input.a}, tags=["b",{"key":"***"}] in the body, a URL-encoded form`,
		},
		{"no request", `"type": "bearer", "#token": "a"`, "a fixed token, in the header Authorization: Bearer", ""},
		{"a password in a header", `"type": "basic", "username": "a", "#password": "b"`, "the user name a and the password in #password, as base64 of both with a colon between them", ""},
		{"a signature", `"type": "sign", "headers": {"X-Sign": "md5(request.body)"}`, "params are added to the query, after the other parameters or in place of one of the same name, then headers are set, and each sees those before it", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "authentication": {`+c.auth+`}}, "inputs": {"a": {}}, "config": {"jobs": [{"endpoint": "users"}]}}`, nil)
			require.Contains(t, x.Auth.Says, c.says)
			require.Equal(t, c.request, x.Auth.Request)
			require.Equal(t, c.request != "", strings.Contains(x.Text(TextOptions{Width: maxWidth}), "\n  obtained by       "))
		})
	}
}

// A rate limit that the API reports makes requests wait, so explain tells it.
func TestTheRateLimitIsTold(t *testing.T) {
	h := rules.HTTP{RateRemaining: "X-Left", RateReset: "X-Reset"}
	require.Equal(t, "if the header X-Left is 0, the next request waits as long as the header X-Reset says: seconds, or a time in seconds or milliseconds since 1970 "+
		"(more than 15 minutes: the run fails, exit status 4); beside a wait before a retry, the longer one counts", explainPace(&h, 15*time.Minute).Says)
	h.RateRemaining, h.Pace.Parallel = "", 2
	require.Equal(t, "at most 2 requests at a time, all jobs together; if a response has the header X-Reset, "+
		"the next request waits as long as the header X-Reset says: seconds, or a time in seconds or milliseconds since 1970; beside a wait before a retry, the longer one counts", explainPace(&h, 0).Says)
	require.Nil(t, explainPace(&rules.HTTP{}, time.Minute))
}

// waits are those of the engine.
var waits = Waits{
	Begin: transport.HeaderTimeout, Pause: transport.IdleTimeout, Response: transport.PageTimeout,
	First: transport.BackoffBase, Longest: transport.BackoffCap, Asked: transport.MaxWait,
}

// Whoever asks how long a run waits for a page, and what happens then, finds the answer, whether a timeout is configured or not.
func TestTheTimeoutsAreTold(t *testing.T) {
	const begins = "A request that gets no complete response is retried up to 2 times; then the run fails (exit status 4). All requests share 20 retries: 5 successes give one back, and a retry whose time the API sets takes 1/5 of one; with none left, the run fails (exit status 4). "
	for _, c := range []struct {
		timeout time.Duration
		want    string
	}{
		{0, "A response that is cut off, does not begin within 1 minute, takes more than 10 minutes or pauses for 1 minute is not complete (api.http.timeout). "},
		{1500 * time.Millisecond, "A response that is cut off or takes more than 1.5s (api.http.timeout) is not complete. "},
		{time.Minute, "A response that is cut off or takes more than 1 minute (api.http.timeout) is not complete. "},
		{90 * time.Second, "A response that is cut off, takes more than 90 seconds (api.http.timeout) or pauses for 1 minute is not complete. "},
	} {
		require.Contains(t, RetryExplanation{Max: 2, Header: "Retry-After", wait: waits, timeout: c.timeout}.String(), begins+c.want)
		require.Contains(t, RetryExplanation{wait: waits, timeout: c.timeout}.String()+" ", ". "+c.want, "no retries")
	}
}

// With keepFor, each partition begins with values of its own, so explain says for which of them the previous run kept any.
func TestThePartitionsWithKeptValuesAreTold(t *testing.T) {
	cfg, jobs := compiletest.Config(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{"id": "users", "endpoint": "users"},
		{"id": "posts", "endpoint": "users/{user.id}/posts", "for": {"user": {"items": "users"}}, "keepFor": "user.id",
			"incremental": {"cursor": "at", "param": "since", "from": "2020-01-01"}}]}}`, nil)
	const stays = "If a value is missing, that of the run before stays, and so do those for which there is no partition."
	none := " The previous run kept none, so every partition begins without them."
	for _, c := range []struct {
		name string
		kept map[string]map[string]any
		want string
	}{
		{"no file is given", nil, ""},
		{"the file is not there yet", map[string]map[string]any{}, none},
		{"values of another job", map[string]map[string]any{"users": {"at": map[string]any{"1": "2026-01-01"}}}, none},
		{"a value from before keepFor was set", map[string]map[string]any{"posts": {"at": "2026-01-01"}}, none},
		{"a value that is missing", map[string]map[string]any{"posts": {"at": map[string]any{"1": nil}}}, none},
		{"some", map[string]map[string]any{"posts": {"at": map[string]any{"7": "2026-01-01", "12": "2026-02-01"}, "seen": map[string]any{"7": 1, "8": 2}}},
			" The previous run kept values for 3 of them (12, 7, 8); a partition with another begins without."},
		{"many", map[string]map[string]any{"posts": {"at": map[string]any{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}}},
			" The previous run kept values for 7 of them (a, b, c, d, e, and 2 others); a partition with another begins without."},
	} {
		x := Explain(cfg, jobs, RunDetails{Kept: c.kept, Redact: func(s string) string { return s }})
		_, after, _ := strings.Cut(x.Jobs[1].KeepSays, stays)
		require.Equal(t, c.want, after, c.name)
		require.Contains(t, strings.Join(strings.Fields(x.String()), " "), stays+c.want, c.name)
	}
}

// What a response means that has no list, or several of them, is told for each way to find the items.
func TestOtherResponsesAreToldForEveryDataField(t *testing.T) {
	for _, c := range []struct{ job, want string }{
		{``, "no list in an object, or status 204, is an empty page; several, or another response, fail the run (exit status 5)"},
		{`, "dataField": "a.b"`, "the elements of a list there are the items, and an object is one item; nothing, null or {} there, or status 204, is an empty page; a text, number or boolean there, or as the response, fails the run (exit status 5)"},
		{`, "dataField": "."`, "null, or status 204, is an empty page; a text, number or boolean fails the run (exit status 5)"},
		{`, "dataField": [{"path": "a"}, {"path": "b"}]`, "the elements of a list at one of them are the items, and an object is one item; nothing, null or {} there, or status 204, is no item; a text, number or boolean there, or as the response, fails the run (exit status 5)"},
		{`, "dataField": "a.*"`, "the elements of a list at one of them are items, and any other value except null is one item; nothing there, or status 204, is no item; a text, number or boolean in place of the response, or of the list or object before *, fails the run (exit status 5)"},
		{`, "dataField": [{"path": "a.*"}, {"path": "b"}]`, "a text, number or boolean there, or in place of the response, or of the list or object before *, fails the run (exit status 5), except at a path that ends with *, where any value except null is an item"},
		{`, "dataField": "a.b", "response": {"format": "xml"}`, "each element of this name is an item, also a single one: a text, or an object if it has attributes (@name, with its text as #text) or children (a list if several have one name, and \"\" if empty); no such element, or status 204, is an empty page"},
		{`, "response": {"format": "csv"}`, "an empty body, a header alone, or status 204, is an empty page"},
	} {
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{"endpoint": "users"`+c.job+`}]}}`, nil)
		require.Contains(t, x.Jobs[0].Items.Otherwise, c.want, c.job)
	}
	x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "dialect": "keboola"}, "config": {"jobs": [{"endpoint": "users", "dataField": "a.b"}]}}`, nil)
	require.Equal(t, `the elements of a list there are the items; nothing, null, 0, "0", an empty text or false there, or status 204, is an empty page; `+
		"any other value is one item", x.Jobs[0].Items.Otherwise)
}

// The items of a parent that a condition leaves out have no partition.
func TestTheNumberOfPartitionsIsThatOfTheChosenItems(t *testing.T) {
	x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{"id": "users", "endpoint": "users"},
		{"endpoint": "users/{user.id}/posts", "for": {"user": {"items": "users", "when": "user.active"}}}]}}`, nil)
	require.Equal(t, "as many as the items of users for which user.active", x.Jobs[1].Partitions.Bounds)
}

// A guard that does not hold for polls has an exception of its own, too, which stays an exception.
func TestTheExceptionsOfGuardsAreToldAsSuch(t *testing.T) {
	x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "expression", "nextRequest": {"after": "body.wait"},
		"stopRules": ["body.done"]}}, "config": {"jobs": [{"endpoint": "export"}]}}`, nil)
	text := strings.Join(strings.Fields(x.String()), " ")
	require.Contains(t, text, "normal ends: the list is complete (exit status 0, if the audit finds no evidence) when samePage")
	require.Contains(t, text, "the same body as the previous one (the duplicate is not written), unless the request is a poll")
	require.Contains(t, text, "This does not hold for a poll, which repeats the previous request after a wait of more than 0 (nextRequest.after), except for maxPages.")
}
