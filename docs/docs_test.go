package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

var update = flag.Bool("update", false, "rewrite the marked passages")

func TestMarkedPassagesMatchTheCode(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs one case after another, as other tests do")
	marked := 0
	for _, page := range readPages(t) {
		if !mark.MatchString(page.text) {
			continue
		}
		marked++
		t.Run(page.path, func(t *testing.T) {
			want, err := fill(page.text)
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(page.path, []byte(want), 0o644))
			}
			require.Equal(t, want, readPage(t, page.path), "out of date: run go test ./docs -update")
		})
	}
	require.GreaterOrEqual(t, marked, 6)
}

func TestFill(t *testing.T) {
	methods, err := methodNames()
	require.NoError(t, err)
	for _, c := range []struct {
		name, page, want, err string
	}{
		{name: "a page without marks stays as it is", page: "<!-- Some comment. --> 3 cases", want: "<!-- Some comment. --> 3 cases"},
		{name: "an outdated passage is replaced", page: "a <!-- methods -->x<!-- /methods --> z",
			want: "a <!-- methods -->" + methods + "<!-- /methods --> z"},
		{name: "an unknown mark is an error", page: "<!-- caes -->3<!-- /caes -->", err: `mark "caes"`},
		{name: "a mark without an end is an error", page: "<!-- cases -->3", err: `mark "cases"`},
		{name: "a mark with another's end is an error", page: "<!-- cases -->3<!-- /apis -->", err: `mark "cases"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := fill(c.page)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

const readmePath = "../README.md"

// A page is a Markdown file, with its path relative to this folder.
type page struct{ path, text string }

// readPages reads the README, the changelog and all pages below docs, in a fixed
// order.
func readPages(t *testing.T) []page {
	t.Helper()
	paths := []string{readmePath, "../CHANGELOG.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	pages := make([]page, len(paths))
	for i, path := range paths {
		pages[i] = page{path, readPage(t, path)}
	}
	return pages
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// name returns the file name of a page without its ending.
func (p page) name() string { return strings.TrimSuffix(filepath.Base(p.path), ".md") }

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// links returns the links of a page to files of the repository.
func (p page) links() []struct{ target, fragment string } {
	var out []struct{ target, fragment string }
	for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(p.text, ""), -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		target := p.path
		if m[1] != "" {
			target = filepath.Join(filepath.Dir(p.path), m[1])
		}
		out = append(out, struct{ target, fragment string }{target, m[2]})
	}
	return out
}

func TestLinksHaveTargets(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, page := range readPages(t) {
		t.Run(page.path, func(t *testing.T) {
			for _, l := range page.links() {
				_, err := os.Stat(l.target)
				require.NoError(t, err)
				if l.fragment == "" {
					continue
				}
				var anchors []string
				for _, m := range heading.FindAllStringSubmatch(readPage(t, l.target), -1) {
					anchors = append(anchors, anchor(m[1]))
				}
				require.Contains(t, anchors, l.fragment, "%s has no such heading", l.target)
			}
		})
	}
}

// indexPath is the page of the guide that gives the others an order.
const indexPath = "guide/README.md"

func TestTheReadmeAndTheGuideLinkToEveryPage(t *testing.T) {
	var linked []string
	for _, path := range []string{readmePath, indexPath} {
		for _, l := range (page{path, readPage(t, path)}).links() {
			linked = append(linked, filepath.Join("../docs", l.target))
		}
	}
	for _, page := range readPages(t) {
		if page.path != readmePath {
			require.Contains(t, linked, filepath.Join("../docs", page.path))
		}
	}
}
