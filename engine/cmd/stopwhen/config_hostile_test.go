//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// The limits of what a configuration may cost, on a machine that is busy with other
// tests.
const (
	hostileConfigTime   = time.Minute
	hostileConfigMemory = 512 << 20
)

// listOf joins n texts by commas.
func listOf(n int, text func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return strings.Join(texts, ",")
}

// configWith returns a configuration with further members of pagination, of the job and
// of the root.
func configWith(pagination, job, root string) string {
	return fmt.Sprintf(`{"api": {"baseUrl": "http://api.test/", "pagination": {"method": "pagenum"%s}},
		"config": {"jobs": [{"endpoint": "x"%s}]}%s}`, pagination, job, root)
}

// withPagination returns a configuration with a pagination object.
func withPagination(object string) string {
	return fmt.Sprintf(`{"api": {"baseUrl": "http://api.test/", "pagination": %s}, "config": {"jobs": [{"endpoint": "x"}]}}`, object)
}

type costlyConfig struct{ name, file, text, err string }

// costlyConfigs returns configurations of at most a megabyte that are costly to read. A
// configuration without an error is valid. They are not a variable, because the scripts run this
// program as the command, many times.
func costlyConfigs() []costlyConfig {
	return []costlyConfig{
		{"scrollers in scrollers", "c.json", withPagination(strings.Repeat(`{"method": "multiple", "default": "a", "scrollers": {"a": `, 20) +
			`{"method": "pagenum"}` + strings.Repeat(`}}`, 20)), "a scroller cannot have method multiple itself"},
		{"params", "c.json", configWith("", `, "params": {`+listOf(80_000, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) })+`}`, ""), ""},
		{"one param many times", "c.json", configWith("", `, "params": {`+listOf(80_000, func(int) string { return `"p":1` })+`}`, ""),
			`duplicate key "p"`},
		{"headers", "c.json", configWith("", `, "headers": {`+listOf(70_000, func(i int) string { return fmt.Sprintf(`"p%d":"1"`, i) })+`}`, ""), ""},
		{"unknown keys", "c.json", configWith("", "", ","+listOf(80_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) })),
			`unknown key "k0"`},
		{"jobs", "c.json", configWith("", `},`+listOf(40_000, func(i int) string { return fmt.Sprintf(`{"endpoint":"%d"}`, i) })+`,{"endpoint": "y"`, ""),
			"config.jobs: want at most 10000 elements, got 40002"},
		{"jobs of many rules", "c.json", configWith(`, "stopRules": [`+listOf(1000, func(i int) string { return fmt.Sprintf(`"page>%d"`, i+1) })+`]`,
			`},`+listOf(5000, func(i int) string { return fmt.Sprintf(`{"endpoint":"%d"}`, i) })+`,{"endpoint": "y"`, ""),
			"the jobs have more than 250000 rules in all"},
		{"stopping rules", "c.json", configWith(`, "stopRules": [`+listOf(60_000, func(i int) string { return fmt.Sprintf(`"page>%d"`, i) })+`]`, "", ""),
			"api.pagination.stopRules: want at most 1000 elements, got 60000"},
		{"stopping rules that are allowed", "c.json",
			configWith(`, "stopRules": [`+listOf(1000, func(i int) string { return fmt.Sprintf(`"page>%d"`, i+1) })+`]`, "", ""), ""},
		{"variables", "c.json", configWith(`, "state": {`+listOf(30_000, func(i int) string { return fmt.Sprintf(`"s%d":{"init":"1"}`, i) })+`}`, "", ""),
			"api.pagination.state: want at most 1000 elements, got 30000"},
		{"parts of the next request", "c.json",
			configWith(`, "nextRequest": {"params": {`+listOf(40_000, func(i int) string { return fmt.Sprintf(`"s%d":"page"`, i) })+`}}`, "", ""),
			"api.pagination.nextRequest.params: want at most 1000 elements, got 40000"},
		{"rules for errors", "c.json",
			configWith(`, "onError": [`+listOf(25_000, func(int) string { return `{"when":"true","do":"stop"}` })+`]`, "", ""),
			"api.pagination.onError: want at most 1000 elements, got 25000"},
		{"inputs", "c.json", configWith("", "", `, "inputs": {`+listOf(60_000, func(i int) string { return fmt.Sprintf(`"i%d":{}`, i) })+`}`),
			"inputs: want at most 1000 elements, got 60000"},
		{"a pattern", "c.json", configWith("", "", `, "inputs": {"a": {"pattern": "`+strings.Repeat("a?", 300_000)+`"}}`),
			"want a pattern of at most 1000 bytes, got 600000"},
		{"pages of a test", "c.json", configWith("", "", `, "tests": [{"name": "t", "pages": [`+listOf(200_000, func(int) string { return `[]` })+
			`], "expect": {"items": 1}}]`), ""},
		{"braces in a message", "c.json", configWith(`, "stopRules": [{"when": "page > 1", "message": "`+strings.Repeat("{", 400_000)+`"}]`, "", ""),
			"want a message of at most 4096 bytes with at most 50 expressions, got 400000 bytes and 400000 braces"},
		{"braces in a path", "c.json", withPagination(`{"method": "response.param", "queryParam": "x", "responseParam": "` +
			strings.Repeat("{}", 2000) + `"}`), ""},
		{"a long path", "c.json", configWith(`, "hasMore": "`+strings.Repeat("a.", 400_000)+`a"`, "", ""),
			"api.pagination.hasMore: want a path of at most 4096 bytes, got 800001"},
		{"a long expression", "c.json", configWith(`, "stopRules": ["`+strings.Repeat("page+", 180_000)+`1 > 0"]`, "", ""),
			"the expression has 900005 bytes; the limit is 16384"},
		{"a long number", "c.json", configWith(`, "limit": `+strings.Repeat("7", 900_000), "", ""), "want a whole number above 0"},
		{"a long number in YAML", "c.yaml", "a: " + strings.Repeat("7", 900_000), "at most 1000 can be computed with"},
		{"carriage returns", "c.yaml", "api: |\n" + strings.Repeat("\r", 900_000), "config is missing"},
		{"keys in YAML", "c.yaml", strings.ReplaceAll(listOf(90_000, func(i int) string { return fmt.Sprintf("k%d: 1", i) }), ",", "\n"), `unknown key "k0"`},
		{"lists in lists", "c.yaml", strings.Repeat("[", 900_000), "nested more than 64 levels deep"},
		{"indicators", "c.yaml", strings.Repeat("- ", 450_000), "nested more than 64 levels deep"},
		{"more than a megabyte", "c.json", `{"a": "` + strings.Repeat("x", 4<<20) + `"}`, "the text has more than 1048576 bytes"},
	}
}

// checkHostile runs the command and requires that it cost little time and memory.
func checkHostile(t *testing.T, program string, stdin *os.File, args ...string) (status int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostileConfigTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	used, _ := runMeasured(cmd)
	require.NoError(t, ctx.Err(), "it did not end in time")
	require.LessOrEqual(t, used, hostileConfigMemory)
	require.Less(t, out.Len(), 1<<20)
	return cmd.ProcessState.ExitCode(), out.String()
}

func TestHostileConfigurationsCostLittle(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	program := binary(t)
	for _, c := range costlyConfigs() {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			status, output := checkHostile(t, program, nil, "check", path)
			require.Contains(t, output, c.err)
			if c.err == "" {
				require.Zero(t, status, "%.300s", output)
			} else {
				require.Equal(t, exitUsage, status)
			}
		})
	}
}

// Rules with the same source are compiled once. The limits have a wide margin: it takes
// half a second and less than 100 MB.
func TestTwoThousandJobsAreCheckedQuickly(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	path := filepath.Join(t.TempDir(), "c.json")
	jobs := listOf(2000, func(i int) string { return fmt.Sprintf(`{"endpoint": "e%d", "params": {"limit": %d}}`, i, i+1) })
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{
		"api": {"baseUrl": "http://api.test/", "pagination": {"method": "offset", "limit": 10}}, "config": {"jobs": [%s]}}`, jobs), 0o600))
	cmd := exec.Command(binary(t), "check", path)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	used, err := runMeasured(cmd)
	require.NoError(t, err, output.String())
	require.Contains(t, output.String(), "ok: 2000 jobs")
	require.Less(t, time.Since(began), 10*time.Second)
	require.Less(t, used, 192<<20)
	require.Greater(t, used, 20<<20, "the measurement works")
}

// No file is read further than it may be long.
func TestAFileWithoutAnEndIsRefused(t *testing.T) {
	program := binary(t)
	config := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(config, []byte(configWith("", "", "")), 0o600))
	for _, c := range []struct {
		name string
		args []string
		err  string
	}{
		{"a configuration", []string{"check", "/dev/zero"}, "the text has more than 1048576 bytes"},
		{"standard input", []string{"check", "-"}, "the text has more than 1048576 bytes"},
		{"inputs", []string{"run", config, "--set-file", "/dev/zero"}, "the text has more than 1048576 bytes"},
		{"carryover values", []string{"run", config, "--kept", "/dev/zero"}, "--kept is read and replaced, so it needs a file, and /dev/zero is a pipe or a device"},
		{"a recording", []string{"replay", config, "/dev/zero"}, "/dev/zero"},
		{"a trace", []string{"trace", "/dev/zero"}, "/dev/zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			zero, err := os.Open("/dev/zero")
			require.NoError(t, err)
			defer zero.Close()
			status, output := checkHostile(t, program, zero, c.args...)
			require.Equal(t, exitUsage, status, "%.300s", output)
			require.Contains(t, output, c.err)
		})
	}
}
