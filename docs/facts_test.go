package docs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// goFiles returns the contents of the repository's Go files whose names satisfy
// keep.
func goFiles(t *testing.T, keep func(name string) bool) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || !keep(path) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	require.NoError(t, err)
	return all.Bytes()
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func isNoTest(name string) bool { return !isTest(name) }

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")

func TestReliabilityNamesExistingTests(t *testing.T) {
	tests := goFiles(t, isTest)
	named := testName.FindAllStringSubmatch(readPage(t, "RELIABILITY.md"), -1)
	require.Greater(t, len(named), 50)
	var missing []string
	for _, m := range named {
		if !bytes.Contains(tests, []byte("func "+m[1]+"(")) {
			missing = append(missing, m[1])
		}
	}
	require.Empty(t, missing, "RELIABILITY.md names tests that do not exist")
}

// A proof names a test, with the script or the case that it plays, or a case.
var (
	scriptName = regexp.MustCompile("`TestScripts/([^`]+)`")
	caseName   = regexp.MustCompile("`([a-z-]+/[a-z0-9-]+)`")
	trialRow   = regexp.MustCompile(`(?m)^\| (D\d+|missing|2|3\.\d+|S\d+|M\d+)(?:: [^|]+)? \| [^|]+ \| ([^|]+) \|$`)
)

func TestReliabilityHasAProofForEveryTrial(t *testing.T) {
	_, section, found := strings.Cut(readPage(t, "RELIABILITY.md"), "## Defects of the trials")
	require.True(t, found)
	want := append(numbered("D", 21), "missing", "2")
	var trials []string
	for _, row := range trialRow.FindAllStringSubmatch(section, -1) {
		trials = append(trials, row[1])
		require.Regexp(t, "`(Test|Fuzz|[a-z])|above", row[2], "the proof of %s", row[0])
	}
	require.Equal(t, strings.Count(section, "\n| "), len(trials)+1, "a row has another form")
	want = append(want, numbered("3.", 17)...)
	want = append(want, numbered("S", 35)...)
	want = append(want, numbered("M", 9)...)
	require.Equal(t, want, slices.Compact(trials), "the trials in their order")
	for _, m := range scriptName.FindAllStringSubmatch(section, -1) {
		require.FileExists(t, "../engine/cmd/stopwhen/testdata/script/"+m[1]+".txtar")
	}
	for _, m := range caseName.FindAllStringSubmatch(section, -1) {
		require.FileExists(t, "../fixtures/cases/"+m[1]+".txtar")
	}
}

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i+1))
	}
	return names
}

func TestReliabilityNamesAPromiseOnce(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(readPage(t, "RELIABILITY.md")) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !isRow || !strings.HasPrefix(line, "| ") || first == "promise" {
			continue
		}
		require.False(t, seen[first], "two rows for %q", first)
		seen[first] = true
	}
}

func TestReliabilityStatesTheKillsOfTheKillLoop(t *testing.T) {
	kills := regexp.MustCompile(`flag\.Int\("kills", (\d+),`).FindSubmatch(goFiles(t, isTest))
	require.NotNil(t, kills)
	require.Contains(t, readPage(t, "RELIABILITY.md"), string(kills[1])+" kills in CI")
}

var (
	stringList      = regexp.MustCompile(`\[\]string\{[^}]*\}`) // may hold the names of attributes, "event" among them
	loggedEvent     = regexp.MustCompile(`"event", "(\w+)"`)
	documentedEvent = regexp.MustCompile("`(\\w+)`")
)

func TestEventsOfTheLogAreDocumented(t *testing.T) {
	_, section, found := strings.Cut(readPage(t, "guide/traces.md"), "\n## The log\n")
	require.True(t, found)
	var documented, logged []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range documentedEvent.FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, m[1])
		}
	}
	for _, m := range loggedEvent.FindAllSubmatch(stringList.ReplaceAll(goFiles(t, isNoTest), nil), -1) {
		logged = append(logged, string(m[1]))
	}
	require.Greater(t, len(documented), 10)
	require.Subset(t, documented, logged, "guide/traces.md lacks an event")
	require.Subset(t, logged, documented, "guide/traces.md has an event that nothing logs")
}

var statusRow = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(\\w+)` \\|")

func TestExitStatusesOfErrorClassesAreDocumented(t *testing.T) {
	documented := map[string]int{}
	for _, m := range statusRow.FindAllStringSubmatch(readPage(t, "guide/exit-status.md"), -1) {
		status, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		documented[m[2]] = status
	}
	want := map[string]int{}
	for _, class := range failure.Classes() {
		want[string(class)] = class.ExitStatus()
	}
	require.Equal(t, want, documented)
}

var option = regexp.MustCompile(`(?m)^func (With\w+)\([^)]*(?:\([^)]*\)[^)]*)*\) (?:Run)?Option`)

func TestOptionsOfTheEngineAreDocumented(t *testing.T) {
	page := readPage(t, "guide/embedding.md")
	options := option.FindAllStringSubmatch(readPage(t, "../engine/option.go")+readPage(t, "../engine/extend.go"), -1)
	require.Greater(t, len(options), 17)
	var missing []string
	for _, m := range options {
		if !strings.Contains(page, "`"+m[1]+"(") {
			missing = append(missing, m[1])
		}
	}
	require.Empty(t, missing, "guide/embedding.md lacks options")
}

// capabilityRow is a row of a table of forms: the form, how it is configured, and its cases.
var capabilityRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$`)

func TestEveryCapabilityIsShownByACase(t *testing.T) {
	forms, _, found := strings.Cut(readPage(t, "CAPABILITIES.md"), "## What is not supported")
	require.True(t, found)
	rows := 0
	for _, row := range capabilityRow.FindAllStringSubmatch(forms, -1) {
		if row[1] == "form" {
			continue
		}
		rows++
		if strings.Contains(row[2], "(#what-is-not-supported)") {
			require.Empty(t, strings.TrimSpace(row[3]), row[1])
			continue
		}
		cases := shownCase.FindAllStringSubmatch(row[3], -1)
		require.NotEmpty(t, cases, "no case shows %s", row[1])
		for _, c := range cases {
			path := "../fixtures/cases/" + c[1]
			if !strings.HasSuffix(c[1], "/") {
				path += ".txtar"
			}
			_, err := os.Stat(path)
			require.NoError(t, err, row[1])
		}
	}
	require.Greater(t, rows, 40)
}

// shownCase is a case, or a folder of cases.
var shownCase = regexp.MustCompile("`([a-z-]+/[a-z0-9-]*)`")

// readingRow matches a row of a path through the code: a file, and the text about it. linkedFile matches a
// file of the row, and selectorName a method, a field or a function in its text.
var (
	readingRow   = regexp.MustCompile(`(?m)^\| \d+ \| \**(\[[^\]]+\]\([^)]*\))\** \| .* \|$`)
	linkedFile   = regexp.MustCompile(`\]\(([^)]*\.go)\)`)
	selectorName = regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)`")
)

func TestThePathsOfARuleAndOfAPageNameDeclarationsOfTheirFiles(t *testing.T) {
	page := readPage(t, "ARCHITECTURE.md")
	rule, rest, _ := strings.Cut(page, "\n## The life of a page\n")
	for path, files := range map[string]int{rule: 15, rest: 14} {
		rows := readingRow.FindAllString(path, -1)
		require.Len(t, rows, files)
		for _, row := range rows {
			code := ""
			for _, file := range linkedFile.FindAllStringSubmatch(row, -1) {
				code += readPage(t, file[1])
			}
			for _, name := range selectorName.FindAllStringSubmatch(row, -1) {
				method, field := `func \(\w+ \*?`+name[1]+`\) `+name[2]+`\(`, `type `+name[1]+` struct [^}]*\n\t`+name[2]+` `
				function := `(?s)package ` + name[1] + `\n.*\nfunc ` + name[2] + `\(`
				require.True(t, regexp.MustCompile(method+"|"+field+"|"+function).MatchString(code), "%s: %s", name[0], row)
			}
		}
	}
}

// TestTheMapsOfPackagesNameEveryFile reads the doc.go files that name three files of their package or more: they
// are maps, which must have every file. The map of the command names groups of files only.
func TestTheMapsOfPackagesNameEveryFile(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	named := regexp.MustCompile(`\w+\*?\.go|\w+\*`) // a name, or a pattern such as eval*.go
	maps := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "doc.go" || filepath.Dir(path) == "../engine/cmd/stopwhen" {
			return err
		}
		files, err := filepath.Glob(filepath.Dir(path) + "/*.go")
		require.NoError(t, err)
		patterns := map[string]bool{} // names and patterns that match a file of the program
		var missing []string
		for _, file := range files {
			name, found := filepath.Base(file), false
			if name == "doc.go" || isTest(name) {
				continue
			}
			for _, pattern := range named.FindAllString(readPage(t, path), -1) {
				if ok, _ := filepath.Match(pattern, name); ok {
					patterns[pattern], found = true, true
				}
			}
			if !found {
				missing = append(missing, name)
			}
		}
		if len(patterns) >= 3 {
			require.Empty(t, missing, "%s does not name them", path)
			maps++
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, maps, 15)
}

// TestJobsOfTheCookbookHaveTheirKeysInOrder checks complete configurations: the page for contributors states the order.
func TestJobsOfTheCookbookHaveTheirKeysInOrder(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(page), "The keys of a job stand in this order, in which `import` writes them: ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, ".")
	order := strings.Split(list, ", ")
	recipes, err := loadRecipes(completeFolder)
	require.NoError(t, err)
	for _, r := range recipes {
		root, err := rules.ParseJSON(diag.NewSource("", r.config))
		require.NoError(t, err, r.file)
		jobs, _ := value.At(root.(value.Object), []string{"config", "jobs"})
		for _, job := range jobs.([]any) {
			places := lists.Map(job.(value.Object), func(m value.Member) int { return slices.Index(order, "`"+m.Name+"`") })
			require.NotContains(t, places, -1, r.file)
			require.True(t, slices.IsSorted(places), "%s: %v", r.file, job)
		}
	}
}
