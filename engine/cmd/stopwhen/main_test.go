package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/ahead"
)

// A run with one small page at a time uses one thread, and all of them after a large page.
func TestARunOfSmallPagesUsesOneThread(t *testing.T) {
	all := goruntime.GOMAXPROCS(0)
	sizes := []int{10, 10, ahead.LargePage, 10}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > len(sizes) {
			fmt.Fprint(w, `{"data": []}`)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d, "text": "%s"}]}`, page, strings.Repeat("x", sizes[page-1]))
	}))
	defer api.Close()
	config := filepath.Join(t.TempDir(), "c.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "x", "dataField": "data"}]}}`, api.URL)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))

	for _, c := range []struct {
		name        string
		flags       []string
		environment string
		want        []int // when each page is delivered, and after the run
	}{
		{"one page after another", nil, "", []int{1, 1, all, all, all, all}},
		{"written before the next request", []string{"--prefetch", "0"}, "", []int{1, 1, all, all, all, all}},
		{"pages in flight", []string{"--prefetch", "2"}, "", []int{all, all, all, all, all, all}},
		{"as many as are useful", []string{"--prefetch", "auto"}, "", []int{all, all, all, all, all, all}},
		{"parallel jobs", []string{"--jobs", "2"}, "", []int{all, all, all, all, all, all}},
		{"only small pages", []string{"--max-pages", "2"}, "", []int{1, 1, all}},
		{"set by the environment", nil, strconv.Itoa(all), []int{all, all, all, all, all, all}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", c.environment)
			var got []int
			var stderr strings.Builder
			a := newApp(strings.NewReader(""), io.Discard, &stderr)
			a.threads = &threads{}
			a.onPage = func(*engine.Page) { got = append(got, goruntime.GOMAXPROCS(0)) }
			a.run(append([]string{"run", config}, c.flags...))
			require.Equal(t, c.want, append(got, goruntime.GOMAXPROCS(0)), stderr.String())
		})
	}
}
