//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// hostileFlag is the size of hostile values. Hostile bodies have eight times as much. With the flag, each method gets
// every value, and without it a third of them: `go test ./engine/cmd/stopwhen -run Hostile -hostile 50` takes some minutes.
var hostileFlag = flag.Int("hostile", 0, "size of hostile values, in MB (0: 2 MB, and each method gets a third of the values)")

// hostileSize returns the size of hostile values in MB.
func hostileSize() int { return cmp.Or(*hostileFlag, 2) }

// hostileMemory is how much memory a run may use, whatever the API sends: 64 MB,
// and the values that rules read (see document.MaxValueBytes).
const hostileMemory = 448 << 20

// hostileTime is how long a run may take on a machine that is busy with other tests.
const hostileTime = 30 * time.Second

// A hostileMethod is a method with a body whose %s is a value that the method
// reads.
type hostileMethod struct {
	method string
	config string // the members of the pagination object after the method
	body   string
}

// hostileMethods has the settings with which methods read values in several ways. A method without
// a row is tested with its example: see allHostileMethods.
var hostileMethods = []hostileMethod{
	{"offset", `"limit": 1, "limitStop": {"field": "total"}`, `{"data": [{"id": 1}], "total": %s}`},
	{"pagenum", `"limit": 1, "nextPageFlag": {"field": "more", "stopOn": false}`, `{"data": [{"id": 1}], "more": %s}`},
	{"cursor", `"idKey": "id", "param": "since"`, `{"data": [{"id": 1}, {"id": %s}]}`},
	{"cursor", `"idKey": "id", "param": "since", "increment": 1`, `{"data": [{"id": %s}]}`},
	{"response.url", `"urlKey": "next"`, `{"data": [{"id": 1}], "next": %s}`},
	{"response.url", `"urlKey": "next", "includeParams": true`, `{"data": [{"id": 1}], "next": %s}`},
	{"response.url", `"urlKey": "next", "paramIsQuery": true`, `{"data": [{"id": 1}], "next": %s}`},
	{"response.param", `"responseParam": "next", "queryParam": "token"`, `{"data": [{"id": 1}], "next": %s}`},
	{"response.params", `"responseParams": {"a": "next.a", "b": "next"}`, `{"data": [{"id": 1}], "next": %s}`},
	{"response.params", `"responseObject": "next"`, `{"data": [{"id": 1}], "next": %s}`},
	{"pagecount", `"pagesField": "pages"`, `{"data": [{"id": 1}], "pages": %s}`},
	{"keyset", `"idKey": "id", "param": "after"`, `{"data": [{"id": 1}, {"id": %s}]}`},
	{"graphql.relay", `"connection": "page"`, `{"data": [], "page": {"pageInfo": {"hasNextPage": true, "endCursor": %s}}}`},
	{"expression", `"nextRequest": {"params": {"p": "body.next"}}, "stopRules": ["body.next == nil"]`, `{"data": [{"id": 1}], "next": %s}`},
	{"header.link", ``, `{"data": [{"id": 1}], "next": %s}`},
	{"header.param", `"responseHeader": "X-Next", "queryParam": "t"`, `{"data": [{"id": 1}], "next": %s}`},
}

// allHostileMethods returns the rows of hostileMethods and, for every other method, its example with
// a body that has the value at a path that the example names, if it is a path.
func allHostileMethods(t *testing.T) []hostileMethod {
	t.Helper()
	all := slices.Clone(hostileMethods)
	for _, m := range rules.Builtin().Methods(rules.Spec) {
		has := func(row hostileMethod) bool { return row.method == m.Name }
		if m.Name == rules.Multiple || m.Once || slices.ContainsFunc(hostileMethods, has) {
			continue
		}
		settings, err := json.Marshal(m.Example)
		require.NoError(t, err)
		config := strings.Trim(string(settings), "{}")
		all = append(all, hostileMethod{m.Name, config, `{"data": [{"id": 1}], "next": %s}`})
		for _, setting := range m.Example {
			if path, ok := setting.Value.(string); ok {
				all = append(all, hostileMethod{m.Name, config, `{"data": [{"id": 1}], ` + nestedMember(keypath.Split(path), "%s") + `}`})
			}
		}
	}
	return all
}

// nestedMember returns a member of an object in JSON that has the value at a path.
func nestedMember(path []string, value string) string {
	for i, key := range slices.Backward(path) {
		value = fmt.Sprintf("%q: %s", key, value)
		if i > 0 {
			value = "{" + value + "}"
		}
	}
	return value
}

// A hostileValue writes a JSON value of about size bytes.
type hostileValue struct {
	name  string
	write func(w io.Writer, size int)
}

var hostileValues = []hostileValue{
	{"a number of many digits", func(w io.Writer, size int) { repeat(w, "7", size) }},
	{"digits as text", quoted("7")},
	{"a long text", quoted("x")},
	{"text of escapes", quoted(`\u00e9`)},
	{"a link of many parameters", func(w io.Writer, size int) {
		put(w, `"?page=1`)
		numbered(w, size, func(n int) string { return fmt.Sprintf("&p%d=1", n) })
		put(w, `"`)
	}},
	{"a link of spaces", quoted(" ")},
	{"nested lists", func(w io.Writer, size int) {
		put(w, "[")
		repeat(w, "[[[]]],", size)
		put(w, "0]")
	}},
	{"an object of many members", func(w io.Writer, size int) {
		put(w, "{")
		numbered(w, size, func(n int) string { return fmt.Sprintf(`"p%d":%d,`, n, n) })
		put(w, `"a":"b"}`)
	}},
	{"an object with a long name", func(w io.Writer, size int) {
		put(w, `{"`)
		repeat(w, "n", size)
		put(w, `":1}`)
	}},
	{"deep nesting", func(w io.Writer, size int) {
		repeat(w, "[", size/2)
		repeat(w, "]", size/2)
	}},
}

func quoted(of string) func(io.Writer, int) {
	return func(w io.Writer, size int) {
		put(w, `"`)
		repeat(w, of, size)
		put(w, `"`)
	}
}

// put writes a text. The command may have closed the connection.
func put(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

// repeat writes a text until size bytes are written.
func repeat(w io.Writer, text string, size int) {
	block := strings.Repeat(text, max(1, 64<<10/len(text)))
	for ; size > len(block); size -= len(block) {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, block[:size/len(text)*len(text)])
}

// numbered writes texts until size bytes are written.
func numbered(w io.Writer, size int, text func(n int) string) {
	for n := 0; size > 0; n++ {
		written, err := io.WriteString(w, text(n))
		if err != nil {
			return
		}
		size -= written
	}
}

// serveHostile serves a body on every request, with a status, and a moderate
// hostile value in the headers that methods read.
func serveHostile(t *testing.T, status int, write func(w io.Writer)) (address string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Link", "<"+strings.Repeat("/x?", 100_000)+">; rel=next")
		w.Header().Set("X-Next", strings.Repeat("9", 300_000))
		w.WriteHeader(status)
		out := bufio.NewWriterSize(w, 64<<10)
		write(out)
		_ = out.Flush()
	}))
	t.Cleanup(api.Close)
	return api.URL
}

// hostileConfig writes a configuration and returns its path.
func hostileConfig(t *testing.T, address, http, pagination, job string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "http": {"maxRetries": 0%s}, "pagination": {%s}},
		"config": {"jobs": [{"endpoint": "x", "params": {"q": "1"}%s}]}}`, address, http, pagination, job), 0o600))
	return path
}

// runHostile runs the command to its end and requires that it used little memory,
// wrote little on standard error, and did not crash. It returns the exit status and
// standard error.
func runHostile(t *testing.T, program string, args ...string) (status int, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"run"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	used, err := runMeasured(cmd)
	require.NoError(t, ctx.Err(), "the run did not end in time")
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	status = cmd.ProcessState.ExitCode()
	t.Logf("status %d, %d MB, %s: %.300s", status, used>>20, time.Since(began).Round(time.Millisecond), &stderr)
	require.LessOrEqual(t, used, hostileMemory)
	require.Less(t, stderr.Len(), 32<<10)
	require.NotContains(t, stderr.String(), "goroutine ")
	require.Contains(t, []int{0, 3, 5, 6, 9}, status, stderr.String())
	return status, stderr.String()
}

// runMeasured runs a command to its end and returns the most memory that it used, in bytes. On Linux, the
// resource usage of a child counts the memory of the process that started it, so the child's own record
// is read while it runs. The command collects garbage as it does for a user, whatever this process was told.
func runMeasured(cmd *exec.Cmd) (peak int, err error) {
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GOGC=") || strings.HasPrefix(variable, "GOMEMLIMIT=")
	})
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if goruntime.GOOS != "linux" {
		err = cmd.Wait()
		return int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss), err // in bytes on macOS
	}
	ended, record := make(chan error, 1), fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err = <-ended:
			return peak, err
		case <-time.After(2 * time.Millisecond):
			if text, err := os.ReadFile(record); err == nil {
				if _, found, ok := strings.Cut(string(text), "VmHWM:"); ok {
					var kilobytes int
					_, _ = fmt.Sscan(found, &kilobytes)
					peak = max(peak, kilobytes<<10)
				}
			}
		}
	}
}

// Whatever an API puts where a method reads a value, the run ends soon, with
// bounded memory and a message that can be read.
func TestHostileValuesCostLittleInEveryMethod(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	program := binary(t)
	for i, m := range allHostileMethods(t) {
		for j, v := range hostileValues {
			if *hostileFlag == 0 && (i+j)%3 != 0 {
				continue
			}
			t.Run(m.method+" "+m.config+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				before, after, _ := strings.Cut(m.body, "%s")
				address := serveHostile(t, http.StatusOK, func(w io.Writer) {
					put(w, before)
					v.write(w, hostileSize()<<20)
					put(w, after)
				})
				pagination := fmt.Sprintf(`"method": %q, "forceStop": {"pages": 2}`, m.method)
				if m.config != "" {
					pagination += ", " + m.config
				}
				status, log := runHostile(t, program, hostileConfig(t, address, "", pagination, `, "dataField": "data"`))
				require.True(t, status == 0 || log != "")
			})
		}
	}
}

// A hostileBody is a body that is costly whatever the method.
type hostileBody struct {
	name   string
	status int    // 0: 200
	http   string // further members of api.http
	paging string // further members of the pagination
	job    string // further members of the job
	write  func(w io.Writer, size int)
}

var hostileBodies = []hostileBody{
	{name: "one member with a long name", write: hostileValues[8].write},
	{name: "one member with a long name, and a dataField", job: `, "dataField": "nn"`, write: hostileValues[8].write},
	{name: "two lists with long names", write: func(w io.Writer, size int) {
		put(w, `{"a`)
		repeat(w, "n", size)
		put(w, `": [], "b`)
		repeat(w, "n", size)
		put(w, `": []}`)
	}},
	{name: "many lists in the root", write: func(w io.Writer, size int) {
		put(w, `{`)
		numbered(w, size, func(n int) string { return fmt.Sprintf(`"l%d":[],`, n) })
		put(w, `"z": []}`)
	}},
	{name: "many members, and a misspelt path", paging: `, "hasMore": "p0x.y"`, write: func(w io.Writer, size int) {
		put(w, `{"l": [1], `)
		numbered(w, size, func(n int) string { return fmt.Sprintf(`"p%d":1,`, n) })
		put(w, `"z": 1}`)
	}},
	{name: "an error that is not JSON, with ignoreErrors", status: 500, http: `, "ignoreErrors": [500]`,
		write: func(w io.Writer, size int) { repeat(w, "<é>", size) }},
	{name: "an error that is not JSON, with onError", status: 404, paging: `, "onError": [{"when": "true", "do": "continue"}]`,
		write: func(w io.Writer, size int) { repeat(w, "\x00", size) }},
	{name: "an error that is JSON, with onError", status: 404,
		paging: `, "onError": [{"when": "body.message == 1", "do": "continue"}]`,
		write: func(w io.Writer, size int) {
			put(w, `{"message": `)
			hostileValues[6].write(w, size)
			put(w, `}`)
		}},
	{name: "an error that nothing accepts", status: 404, write: quoted("x")},
	{name: "text that is not JSON", write: func(w io.Writer, size int) { repeat(w, "x", size) }},
	{name: "whitespace", write: func(w io.Writer, size int) { repeat(w, " \n", size) }},
	{name: "more whitespace than a run may have memory", write: func(w io.Writer, _ int) {
		put(w, `{"data": [`)
		repeat(w, " ", hostileMemory+64<<20)
		put(w, `]}`)
	}},
	{name: "many small items that rules read", paging: `, "stopRules": ["items[0].x == 1"]`, write: func(w io.Writer, size int) {
		put(w, "[")
		repeat(w, `{"a":1},`, min(size, 7<<20))
		put(w, "{}]")
	}},
	{name: "items of nested lists that rules read", paging: `, "stopRules": ["items[0].x == 1"]`, write: func(w io.Writer, size int) {
		put(w, "[")
		repeat(w, "[[[]]],", min(size, 6<<20))
		put(w, "[")
		repeat(w, "[[[]]],", size)
		put(w, "0]]")
	}},
	{name: "escapes that can be spelled otherwise", write: func(w io.Writer, size int) {
		put(w, `{"data": [`)
		quoted(`\/`)(w, size)
		put(w, `]}`)
	}},
}

// Whatever body an API sends, the run ends soon, with bounded memory and a message
// that can be read.
func TestHostileBodiesCostLittle(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	program := binary(t)
	for _, b := range hostileBodies {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			address := serveHostile(t, max(b.status, http.StatusOK), func(w io.Writer) { b.write(w, 8*hostileSize()<<20) })
			paging := `"method": "pagenum", "limit": 100, "forceStop": {"pages": 2}` + b.paging
			runHostile(t, program, hostileConfig(t, address, b.http, paging, b.job))
		})
	}
}

// Rules that take a second each, and a page that takes long to decode, must not keep a
// signal waiting.
func TestASignalEndsTheRunWhateverItIsDoing(t *testing.T) {
	program := binary(t)
	slow := strings.TrimSuffix(strings.Repeat(`"page > 1 and count(1..150000, {# % 7 == 8}) > 0",`, 300), ",")
	for _, c := range []struct {
		name   string
		paging string
		second func(w io.Writer) // the second page
		rest   func(w io.Writer) // of the second page, while the signal arrives
	}{
		{"evaluating rules", `"stopRules": [` + slow + `]`, func(w io.Writer) { put(w, `{"data": [{"id": 2}]}`) }, nil},
		{"decoding a page", `"stopRules": ["items[0].x == 1"]`, func(w io.Writer) {
			put(w, `{"data": [{"id": 2}`)
			repeat(w, `,{"a":"b","c":"d","e":"f","g":"h"}`, 100<<20)
			put(w, `]}`)
		}, nil},
		{"reading a body", `"hasMore": "more"`, func(w io.Writer) {
			put(w, `{"data": [`)
			repeat(w, `[[],[]],`, 100<<20)
		}, func(w io.Writer) { repeat(w, `[[],[]],`, 900<<20) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := make(chan struct{})
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out := bufio.NewWriterSize(w, 64<<10)
				defer func() { _ = out.Flush() }()
				if r.URL.Query().Get("page") == "1" {
					put(out, `{"data": [{"id": 1}], "more": true}`)
					return
				}
				c.second(out)
				_ = out.Flush()
				close(sent)
				if c.rest != nil {
					c.rest(out)
				}
			}))
			defer api.Close()
			path := hostileConfig(t, api.URL, `, "maxItemsPerPage": 100000000`, `"method": "pagenum", `+c.paging, `, "dataField": "data"`)
			cmd := exec.Command(program, "run", path)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			<-sent // now it is busy with the second page
			began := time.Now()
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			_ = cmd.Wait()
			took := time.Since(began)
			t.Logf("it took %s", took)
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr.String())
			require.Less(t, took, 3*time.Second, "a second, and what a busy machine adds")
			require.True(t, strings.HasPrefix(stdout.String(), `{"id":1}`+"\n"), "the first page is complete")
			require.Contains(t, stderr.String(), "interrupted; the pages written so far are complete")
		})
	}
}
