package airbyte_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A drawnAPI answers every request by a draw that depends only on the request: a list has one to three
// pages, and says in every usual way whether there is another one.
type drawnAPI struct {
	seed     int
	items    map[string]string // path of the items in the body, by the last segment of the path
	full     int               // items of a full page
	missing  bool              // some lists of children answer with status 404
	requests []string
}

var (
	bodyToken  = regexp.MustCompile(`"T(\d+)"`)
	drawnToken = regexp.MustCompile(`T(\d+)`)
	drawnID    = regexp.MustCompile(`i(\d+)x\d+$`)
)

// page returns the number of the page that a request asks for, from 0.
func (a *drawnAPI) page(r *http.Request, body string) int {
	for name, list := range r.URL.Query() {
		v := list[0]
		if m := drawnToken.FindStringSubmatch(v); m != nil && len(v) < 6 {
			n, _ := strconv.Atoi(m[1])
			return n
		}
		n, err := strconv.Atoi(v)
		switch {
		case strings.HasPrefix(name, "starting_after"):
			if m := drawnID.FindStringSubmatch(v); m != nil {
				n, _ = strconv.Atoi(m[1])
				return n + 1
			}
		case err != nil:
		case name == "page" || name == "page[number]":
			return n - 1
		case name == "offset" || name == "startAt" || name == "skip":
			return (n + a.full - 1) / a.full // after a page that was not full, the list is over
		}
	}
	if m := drawnToken.FindStringSubmatch(r.Header.Get("X-Next")); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	if form, err := url.ParseQuery(body); err == nil && form.Get("page") != "" {
		n, _ := strconv.Atoi(form.Get("page"))
		return n - 1
	}
	if m := bodyToken.FindStringSubmatch(body); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func (a *drawnAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		r.Body = io.NopCloser(strings.NewReader(body))
	}
	a.requests = append(a.requests, requestText(r))
	path := r.URL.Path
	h := fnv.New32a()
	fmt.Fprint(h, a.seed, path)
	draw := int(h.Sum32() % 1000)
	page, pages := a.page(r, body), draw%3+1
	more := page+1 < pages
	count := a.full
	if !more {
		count = draw / 3 % a.full
	}
	if page >= pages {
		count = 0
	}
	segment := path[strings.LastIndex(path, "/")+1:]
	flag := any(more)
	if more && draw%2 == 0 {
		flag = nil // which is not false
	}
	object := map[string]any{"has_more": flag, "hasMore": flag, "end_of_stream": !more, "isLast": !more,
		"meta": map[string]any{"has_more": more}, "pagination": map[string]any{"has_next_page": more},
		"paging": map[string]any{}, "links": map[string]any{}, "_metadata": map[string]any{}}
	header := http.Header{"Content-Type": {"application/json"}}
	object["meta"] = map[string]any{"has_more": more, "page": page + 1, "total_pages": pages}
	if leads := more || page+1 == pages && draw/3%2 == 0; leads { // the last page may have a token, too
		token := fmt.Sprintf("T%d", page+1)
		query := r.URL.Query()
		query.Set("next_cursor", token)
		next := "https://" + r.URL.Host + path + "?" + query.Encode()
		object["links"] = map[string]any{"next": next}
		object["_metadata"] = map[string]any{"next": next}
		object["paging"] = map[string]any{"next": map[string]any{"after": token}}
		object["pagination"] = map[string]any{"has_next_page": more, "end_cursor": token}
		object["next_cursor"] = token
		header.Set("X-Next-Token", token)
		object["after_cursor"], object["nextPageToken"], object["offset"] = token, token, token
		header.Set("Link", "<"+next+`>; rel="next"`)
	}
	var items []any
	for i := range count {
		items = append(items, a.item(draw, page, i))
	}
	var answer any = object
	if at := a.items[segment]; at != "" {
		object[at] = items
	} else {
		answer = append([]any{}, items...)
	}
	text, _ := json.Marshal(answer)
	status := http.StatusOK
	if a.missing && draw%5 == 0 && page == 0 && strings.Count(path, "/") > 4 {
		status, text = http.StatusNotFound, []byte(`{"message": "not found"}`)
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(text)), Request: r,
		ProtoMajor: 1, ProtoMinor: 1}, nil
}

func (a *drawnAPI) item(draw, page, i int) map[string]any {
	day := fmt.Sprintf("1999-12-%02dT10:00:00Z", (draw+i)%28+1)
	out := map[string]any{"id": fmt.Sprintf("%di%dx%d", draw, page, i), "key": fmt.Sprintf("K-%d", i), "full_name": fmt.Sprintf("org/r%d", i),
		"name": fmt.Sprintf("Name %d", i), "stage": "build", "updated_at": day,
		"day": fmt.Sprintf("%02d/12/1999", (draw+i)%28+1), "created": 946684000 + draw + i, "type": []string{"BOT",
			"OPEN"}[(draw+i)%2],
		"attributes": map[string]any{"updated": day, "last_visit_date": day[:10]}, "fields": map[string]any{"summary": "s", "updated": day}}
	if (draw+i)%3 > 0 {
		out["user"] = map[string]any{"id": i}
	}
	if (draw+i)%4 == 0 {
		out["pull_request"] = map[string]any{"url": "x"}
	}
	return out
}

// TestImportedStreamsMakeTheRequestsOfTheCDK compares the requests and the records of imported
// configurations with those of the CDK's semantics, over drawn responses.
func TestImportedStreamsMakeTheRequestsOfTheCDK(t *testing.T) {
	settings := map[string]any{"org": "acme", "access_token": "t", "start_date": "1999-11-20T00:00:00Z", "api_token": "t",
		"client_secret": "s",
		"account_id":    "a", "api_key": "k", "subdomain": "acme", "email": "a@example.com", "domain": "acme.example.com",
		"credentials": map[string]any{"access_token": "t"}, "tenant": "acme", "plan": "p", "membership": true, "lookback_window_days": 0, "slice_range": 10, "limit": fullPage}
	for _, c := range []struct {
		manifest, stream string
		items            map[string]string
		inputs           []string
		missing          bool
	}{
		{"github", "repos", nil, []string{"org", "access_token", "start_date"}, false},
		{"github", "issues", nil, []string{"org", "access_token", "start_date"}, false},
		{"gitlab", "projects", nil, nil, true},
		{"gitlab", "pipelines", nil, nil, true},
		{"gitlab", "jobs", nil, nil, true},
		{"leadfeeder", "accounts", map[string]string{"accounts": "data", "leads": "data"}, []string{"api_token", "start_date"}, false},
		{"leadfeeder", "leads", map[string]string{"accounts": "data", "leads": "data"}, []string{"api_token", "start_date"}, false},
		{"stripe", "payment_methods", map[string]string{"customers": "data", "payment_methods": "data"}, []string{"client_secret",
			"account_id", "start_date", "slice_range", "lookback_window_days"}, true},
		{"klaviyo", "profiles", map[string]string{"profiles": "data"}, []string{"api_key", "start_date"}, false},
		{"klaviyo", "campaigns", map[string]string{"campaigns": "data"}, []string{"api_key", "start_date"}, false},
		{"zendesk", "brands", map[string]string{"brands": "brands"}, []string{"subdomain", "start_date"}, false},
		{"zendesk", "tickets", map[string]string{"cursor.json": "tickets"}, []string{"subdomain", "start_date"}, false},
		{"hubspot", "contacts_search", map[string]string{"search": "results"}, []string{"start_date"}, false},
		{"hubspot", "email_events", map[string]string{"events": "events"}, []string{"start_date"}, false},
		{"sendgrid", "bounces", nil, []string{"api_key", "start_date"}, false},
		{"sendgrid", "lists", map[string]string{"lists": "result"}, []string{"api_key", "start_date"}, false},
		{"forms", "notion_search", map[string]string{"search": "data"}, []string{"api_key"}, false},
		{"forms", "total_pages", map[string]string{"pages": "data"}, []string{"api_key"}, false},
		{"forms", "offset_without_size", map[string]string{"offsets": "data"}, []string{"api_key"}, false},
		{"forms", "header_token", map[string]string{"headers": "data"}, []string{"tenant", "api_key"}, false},
		{"forms", "get_with_body", map[string]string{"found": "data"}, []string{"api_key"}, false},
		{"forms", "token_in_query", map[string]string{"tokens": "data"}, []string{"api_key", "tenant"}, false},
		{"forms", "post_without_body", map[string]string{"bare": "data"}, []string{"api_key"}, false},
		{"forms", "post_with_query", map[string]string{"query": "data"}, []string{"api_key"}, false},
		{"feeds", "changed", map[string]string{"changed": "data"}, feedInputs, false},
		{"feeds", "changed_bots", map[string]string{"changed_bots": "data"}, feedInputs, false},
		{"feeds", "asked", map[string]string{"asked": "data"}, feedInputs, false},
		{"feeds", "feed", map[string]string{"feed": "data"}, feedInputs, false},
		{"feeds", "feeds", map[string]string{"changed": "data"}, feedInputs, false},
		{"feeds", "created", map[string]string{"created": "data"}, nil, false},
		{"feeds", "renamed", map[string]string{"renamed": "data"}, feedInputs, false},
		{"feeds", "overlap", map[string]string{"overlap": "data"}, feedInputs, false},
		{"feeds", "until_today", map[string]string{"until_today": "data"}, feedInputs, false},
		{"feeds", "bots", map[string]string{"bots": "data"}, nil, false},
		{"slices", "users", map[string]string{"users": "data"}, feedInputs, false},
		{"slices", "posts", map[string]string{"users": "data", "posts": "data"}, feedInputs, false},
		{"slices", "owners", map[string]string{"users": "data", "owned": "data"}, feedInputs, false},
		{"slices", "comments", map[string]string{"users": "data", "posts": "data", "comments": "data"}, feedInputs, false},
		{"slices", "after_last", map[string]string{"after_last": "data"}, nil, false},
		{"slices", "zero_based", map[string]string{"zero_based": "data"}, nil, false},
		{"slices", "until_empty", map[string]string{"until_empty": "data"}, nil, false},
		{"slices", "sized", map[string]string{"sized": "data"}, []string{"limit"}, false},
		{"slices", "monthly", map[string]string{"monthly": "data"}, nil, false},
		{"slices", "search", map[string]string{"search": "data"}, feedInputs, false},
		{"slices", "seconds", map[string]string{"seconds": "data"}, nil, false},
		{"slices", "days", map[string]string{"days": "data"}, nil, false},
		{"slices", "since_day", map[string]string{"since_day": "data"}, nil, false},
		{"slices", "days_here", map[string]string{"days_here": "data"}, nil, false},
		{"slices", "micros", map[string]string{"micros": "data"}, feedInputs, false},
		{"slices", "once", map[string]string{"once": "data"}, feedInputs, false},
		{"slices", "named", map[string]string{"named": "data"}, nil, false},
		{"literals", "order lines", map[string]string{"lines": "data"}, []string{"plan", "start_date"}, false},
		{"literals", "search", map[string]string{"search": "data"}, []string{"plan", "start_date"}, false},
		{"literals", "changes", map[string]string{"changes": "data"}, []string{"plan", "start_date"}, false},
		{"jira", "issues", map[string]string{"jql": "issues"}, []string{"domain", "email", "api_token", "start_date"}, false},
	} {
		t.Run(c.manifest+"/"+c.stream, func(t *testing.T) {
			for seed := range 6 {
				synctest.Test(t, func(t *testing.T) {
					file := manifest(t, c.manifest)
					file.Text = pageSize.ReplaceAll(file.Text, fmt.Appendf(nil, "page_size: %d", fullPage))
					theirs := &drawnAPI{seed: seed, items: c.items, full: fullPage, missing: c.missing}
					run := newCDK(t, file, settings, theirs)
					want := run.read(run.stream(c.stream))

					ours := &drawnAPI{seed: seed, items: c.items, full: fullPage, missing: c.missing}
					set := map[string]any{"access_token": "t", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
					for _, name := range c.inputs {
						set[name] = settings[name]
					}
					got, kept := records(t, file, c.stream, ours, set, nil)
					slices.Sort(theirs.requests) // children follow each page of their parents here, and all of them there
					slices.Sort(ours.requests)
					require.Empty(t, differences(theirs.requests, ours.requests))
					require.Empty(t, differences(sortedTexts(want), sortedTexts(got)))
					if kept == nil {
						return
					}
					run.remember(run.stream(c.stream))
					theirs.requests, ours.requests = nil, nil
					want = run.read(run.stream(c.stream))
					got, _ = records(t, file, c.stream, ours, set, kept)
					slices.Sort(theirs.requests)
					slices.Sort(ours.requests)
					require.Empty(t, differences(theirs.requests, ours.requests), "the second run")
					require.Empty(t, differences(sortedTexts(want), sortedTexts(got)), "the second run")
				})
			}
		})
	}
}

// feedInputs are the inputs of the manifest feeds.
var feedInputs = []string{"start_date"}

// fullPage is the page size of all manifests in the comparison.
const fullPage = 3

var pageSize = regexp.MustCompile(`page_size: \d+`)

// differences returns the first lines in which sorted lists differ: - of the CDK, + of stopwhen.
func differences(want, got []string) []string {
	var out []string
	for len(want)+len(got) > 0 && len(out) < 8 {
		switch {
		case len(got) == 0 || len(want) > 0 && want[0] < got[0]:
			out, want = append(out, "- "+want[0]), want[1:]
		case len(want) == 0 || got[0] < want[0]:
			out, got = append(out, "+ "+got[0]), got[1:]
		default:
			want, got = want[1:], got[1:]
		}
	}
	return out
}

// configs are the configurations of imported streams, since each is run with several responses.
var configs = map[string]importer.Config{}

// configOf imports a stream with values of its inputs.
func configOf(t *testing.T, file importer.File, stream string, inputs map[string]any) importer.Config {
	t.Helper()
	key := fmt.Sprint(string(file.Text), stream, inputs)
	if config, known := configs[key]; known {
		return config
	}
	r := imported(t, importer.Options{Streams: []string{stream}}, file)
	constants := map[string]string{}
	for _, s := range r.Report.Streams {
		for _, n := range s.Notes {
			name, isSetting := strings.CutPrefix(n.Source, "spec.")
			if v, has := inputs[name]; isSetting && has {
				constants[name] = fmt.Sprint(v)
			}
		}
	}
	r = imported(t, importer.Options{Streams: []string{stream}, Set: constants}, file)
	require.Len(t, r.Configs, 1)
	configs[key] = r.Configs[0]
	return r.Configs[0]
}

// records runs an imported stream, and returns its items and the values that it keeps.
func records(t *testing.T, file importer.File, stream string, api http.RoundTripper, inputs map[string]any,
	kept map[string]map[string]any) ([]object, map[string]map[string]any) {
	t.Helper()
	config := configOf(t, file, stream, inputs)
	text := regexp.MustCompile(`(?m)^  authentication:(.*\n(    .*\n)*)`).ReplaceAll(config.Text, nil)
	used := map[string]any{}
	for name, v := range inputs {
		if strings.Contains(string(text), "\n  "+name+":") {
			used[name] = v
		}
	}
	e, err := engine.Load(config.Name, text, engine.WithFormat(".yaml", yaml.Parse), engine.WithTransport(api),
		engine.WithInputs(used), engine.WithKept(kept), engine.WithEnv(func(name string) (string, bool) {
			for input, v := range inputs {
				if strings.HasSuffix(name, strings.ToUpper(input)) {
					return fmt.Sprint(v), true
				}
			}
			return "", false
		}),
		engine.WithAccept(func(engine.JobResult) bool { return true })) // the drawn lists say more than the connectors read
	require.NoError(t, err, string(text))
	var out []object
	result, err := e.Run(context.Background(), func(_ context.Context, p *engine.Page) error {
		for item := range p.Items.All() {
			var o object
			require.NoError(t, json.Unmarshal(item, &o))
			out = append(out, o)
		}
		return nil
	})
	require.NoError(t, err, string(text))
	next := map[string]map[string]any{}
	for _, job := range result.Jobs {
		if len(job.Kept) > 0 {
			next[job.Job] = job.Kept
		}
	}
	if len(next) == 0 {
		next = nil
	}
	return out, next
}
