package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

func TestMistakesInHowAHubIsStarted(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TOKEN", "token-of-the-team")
	for name, text := range map[string]string{
		"unknown.conf": "port: 4222\nacounts {}", "broken.conf": "port: 4222\nauthorization {", "off.conf": "jetstream: disabled",
		"users.conf": "authorization { token: t }",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for _, test := range []struct {
		args   string
		status int
		stderr string
	}{
		{"--listen 0.0.0.0:0", 2, "everybody who reaches 0.0.0.0 could read and delete all runs: the hub does not authenticate its clients " +
			"(listen on 127.0.0.1, or set a token, a user and a password, or a configuration file with users)"},
		{"--token-env NOT_SET", 2, "--token-env: the environment variable NOT_SET is not set"},
		{"--user team --password-env NOT_SET", 2, "--password-env: the environment variable NOT_SET is not set"},
		{"--user team", 2, "--user requires --password-env"},
		{"--password-env TOKEN", 2, "--password-env requires --user"},
		{"--user team --token-env TOKEN", 2, "--token-env and --user cannot be used together"},
		{"--token-env TOKEN --config users.conf", 2, "users.conf already says how clients authenticate (set users and tokens in one place)"},
		{"--tls-cert a.pem", 2, "--tls-cert requires --tls-key"},
		{"--tls-ca a.pem", 2, "--tls-key and --tls-ca require --tls-cert"},
		{"--tls-cert a.pem --tls-key a.key", 2, "cannot use the certificates: "},
		{"--listen 4222", 2, `want an address such as 127.0.0.1:4222, got "4222"`},
		{"--config unknown.conf", 2, `invalid NATS configuration unknown.conf: unknown.conf:2:1: unknown field "acounts"`},
		{"--config broken.conf", 2, "invalid NATS configuration broken.conf: Parse error on line 2"},
		{"--config off.conf", 2, `off.conf disables JetStream, which a hub needs (remove "jetstream" from the file, or enable it)`},
		{"--config none.conf", 2, "none.conf: no such file or directory"},
		{"--dir off.conf", 7, "stopwhen: off.conf is not a directory\n"},
		{"-q -v", 2, "-q and -v cannot be used together"},
		{"--log-format xml", 2, `want text or json, got "xml"`},
		{"now", 2, `stopwhen hub takes no arguments, got "now"`},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"hub"}, strings.Fields(test.args)...)
			require.Equal(t, test.status, run(args, strings.NewReader(""), &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), test.stderr)
			require.NotContains(t, stderr.String(), "token-of-the-team")
		})
	}
}

// await waits until a file matches a pattern: `await log 'hub is ready'`. It is for the
// output of programs in the background.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var text []byte
	const patience, interval = time.Minute, 10 * time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(interval) {
		if text, _ = os.ReadFile(ts.MkAbs(args[0])); pattern.Match(text) {
			return
		}
	}
	ts.Fatalf("%s does not match %s:\n%s", args[0], args[1], text)
}

// startHub starts a hub for the rest of the script, and sets NATS_URL to its address:
// `hub [DIR]`.
func startHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: hub [DIR]")
	}
	dir := ".hub"
	if len(args) == 1 {
		dir = args[0]
	}
	server, err := hub.Start(context.Background(), hub.Options{Dir: ts.MkAbs(dir), Listen: "127.0.0.1:0"})
	ts.Check(err)
	ts.Defer(server.Shutdown)
	ts.Setenv("NATS_URL", server.URL())
}
