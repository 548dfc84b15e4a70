package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/ahead"
)

// A run with one small page at a time uses one thread. After a large page it uses all of them, until many small
// pages have followed.
func TestARunOfSmallPagesUsesOneThread(t *testing.T) {
	all := goruntime.GOMAXPROCS(0)
	sizes := append([]int{10, 10, ahead.LargePage}, slices.Repeat([]int{10}, manySmall-1)...)
	adapted := slices.Concat([]int{1, 1, all}, slices.Repeat([]int{all}, manySmall-1), []int{1, all})
	always := slices.Repeat([]int{all}, len(adapted))
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
		{"one page after another", nil, "", adapted},
		{"written before the next request", []string{"--prefetch", "0"}, "", adapted},
		{"pages in flight", []string{"--prefetch", "2"}, "", always},
		{"as many as are useful", []string{"--prefetch", "auto"}, "", always},
		{"parallel jobs", []string{"--jobs", "2"}, "", always},
		{"only small pages", []string{"--max-pages", "2"}, "", []int{1, 1, all}},
		{"set by the environment", nil, strconv.Itoa(all), always},
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
