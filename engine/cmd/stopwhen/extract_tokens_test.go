package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rotatingAPI accepts each refresh token once, and only its latest access token. Its
// lists fail as long as down is true.
type rotatingAPI struct {
	*httptest.Server
	valid  int
	down   bool
	used   func() // is called with the first request that has a new token
	issued func() // is called between issuing a token and the response
}

func newRotatingAPI(t *testing.T) *rotatingAPI {
	t.Helper()
	a := &rotatingAPI{valid: 1, used: func() {}, issued: func() {}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("refresh_token") != fmt.Sprintf("refresh-token-%d", a.valid) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant"}`)
			return
		}
		a.valid++
		a.issued()
		fmt.Fprintf(w, `{"access_token": "access-token-%d", "refresh_token": "refresh-token-%d", "expires_in": 3600}`, a.valid, a.valid)
	})
	mux.HandleFunc("GET /users", func(w http.ResponseWriter, r *http.Request) {
		a.used()
		switch {
		case r.Header.Get("Authorization") != fmt.Sprintf("Bearer access-token-%d", a.valid):
			w.WriteHeader(http.StatusUnauthorized)
		case a.down:
			w.WriteHeader(http.StatusNotImplemented)
		default:
			fmt.Fprint(w, `[{"id": 1}]`)
		}
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// config writes a configuration with the first refresh token.
func (a *rotatingAPI) config(t *testing.T, dir string) string {
	t.Helper()
	config := filepath.Join(dir, "users.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": %q, "authentication": {
		"type": "oauth2", "tokenUrl": "/token", "clientId": "c", "#refreshToken": "refresh-token-1"}},
		"config": {"jobs": [{"endpoint": "users"}]}}`, a.URL), 0o600))
	return config
}

// run runs a configuration with the first refresh token, and returns the exit status, the
// items and the log.
func (a *rotatingAPI) run(t *testing.T, dir string, flags ...string) (status int, items, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(append([]string{"run", a.config(t, dir)}, flags...), strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestARotatedRefreshTokenIsStoredBeforeItIsUsed(t *testing.T) {
	for name, flags := range map[string]func(dir string) []string{
		"--tokens": func(dir string) []string { return []string{"--tokens", filepath.Join(dir, "file.tokens")} },
		"--state":  func(dir string) []string { return []string{"--state", filepath.Join(dir, "file")} },
	} {
		t.Run(name, func(t *testing.T) {
			api, dir := newRotatingAPI(t), t.TempDir()
			file := filepath.Join(dir, "file.tokens")
			api.down = true // the run ends as if it was killed
			api.used = func() {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Contains(t, string(text), fmt.Sprintf("refresh-token-%d", api.valid))
			}
			status, _, log := api.run(t, dir, flags(dir)...)
			require.Equal(t, 3, status, log)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			api.down = false
			status, items, log := api.run(t, dir, flags(dir)...)
			require.Equal(t, 0, status, log)
			require.Equal(t, "{\"id\":1}\n", items)
			require.Equal(t, 3, api.valid, "the second run used the token that the first one stored")
			for _, entry := range []string{"file", "users.json"} {
				text, _ := os.ReadFile(filepath.Join(dir, entry))
				require.NotContains(t, string(text), "refresh-token-2")
				require.NotContains(t, string(text), "access-token")
			}
		})
	}
}

func TestWithoutAFileForTokensTheRunWarns(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	status, items, log := api.run(t, dir)
	require.Equal(t, 0, status, log)
	require.Equal(t, "{\"id\":1}\n", items)
	require.Contains(t, log, "--tokens FILE stores it")
	require.NotContains(t, log, "token-2")

	status, _, log = api.run(t, dir)
	require.Equal(t, 3, status)
	require.Contains(t, log, "authorize again, and set #refreshToken")
}

func TestAFileOfTokensThatCannotBeUsedEndsTheRunBeforeTheFirstRequest(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	file := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(file, []byte(`{"version": 1, "tok`), 0o600))
	status, _, log := api.run(t, dir, "--tokens", file)
	require.Equal(t, 8, status, log)
	require.Contains(t, log, "cannot be read")

	status, _, log = api.run(t, dir, "--tokens", filepath.Join(dir, "missing", "tokens"))
	require.Equal(t, 7, status, log)

	status, _, log = api.run(t, dir, "--tokens", filepath.Join(dir, "users.json"))
	require.Equal(t, 2, status, log)
	require.Equal(t, 1, api.valid, "no token was requested")
}

func TestARecordingOfSignedRequestsIsReplayed(t *testing.T) {
	requests := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch {
		case r.URL.Path == "/session":
			fmt.Fprint(w, `{"token": "session-token"}`)
		case r.URL.Query().Get("page") == "2":
			fmt.Fprint(w, `[]`)
		default:
			fmt.Fprint(w, `[{"id": 1}]`)
		}
	}))
	defer api.Close()
	for name, authentication := range map[string]string{
		"sign": `{"type": "sign", "params": {"nonce": "uuid()", "key": "'session-token'"}, "headers": {"X-Signature": "'session-token' + uuid()"}}`,
		"login": `{"type": "login", "loginRequest": {"endpoint": "session"}, "apiRequest": {
			"params": {"sid": "login.body.token"}, "headers": {"X-Token": "login.body.token"}}}`,
		"aws4": `{"type": "aws4", "region": "r", "service": "s", "accessKeyId": "id", "#secretAccessKey": "s3cret", "#sessionToken": "session-token"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config, har := filepath.Join(dir, "users.json"), filepath.Join(dir, "users.har")
			require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": %q, "pagination": {"method": "pagenum"},
				"authentication": %s}, "config": {"jobs": [{"endpoint": "users"}]}}`, api.URL, authentication), 0o600))
			var stdout, stderr bytes.Buffer
			require.Equal(t, 0, run([]string{"record", config, har}, strings.NewReader(""), &stdout, &stderr), stderr.String())
			text, err := os.ReadFile(har)
			require.NoError(t, err)
			require.NotContains(t, string(text), "session")
			require.NotContains(t, string(text), "Signature=")

			made := requests
			stdout.Reset()
			require.Equal(t, 0, run([]string{"replay", config, har}, strings.NewReader(""), &stdout, &stderr), stderr.String()+stdout.String())
			require.Equal(t, made, requests, "the replay made no request")
		})
	}
}

func TestReplayNeedsNoTokenAndRecordingsHaveNone(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	har := filepath.Join(dir, "users.har")
	status, _, log := api.run(t, dir, "--record", har)
	require.Equal(t, 0, status, log)
	text, err := os.ReadFile(har)
	require.NoError(t, err)
	require.NotContains(t, string(text), "access-token")
	require.NotContains(t, string(text), "refresh")
	require.NotContains(t, string(text), "/token")

	var stdout, stderr bytes.Buffer
	status = run([]string{"replay", filepath.Join(dir, "users.json"), har}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, 0, status, stderr.String())
	require.Equal(t, 2, api.valid, "the replay made no request")
}

// TestASignalWaitsForARefreshTokenThatIsUnderWay: the API has replaced the token, and takes
// longer to answer than a signal otherwise waits.
func TestASignalWaitsForARefreshTokenThatIsUnderWay(t *testing.T) {
	for _, test := range signals {
		t.Run(test.name, func(t *testing.T) {
			skipIfIgnored(t, test.signal)
			api, dir, issued := newRotatingAPI(t), t.TempDir(), make(chan struct{})
			api.issued = func() {
				close(issued)
				time.Sleep(3 * (noticeTime + blockedTime))
			}
			file := filepath.Join(dir, "users.tokens")
			cmd := exec.Command(binary(t), "run", api.config(t, dir), "--tokens", file)
			require.NoError(t, cmd.Start())
			<-issued
			require.NoError(t, cmd.Process.Signal(test.signal))
			_ = cmd.Wait()
			require.Equal(t, test.status, cmd.ProcessState.ExitCode())
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), "refresh-token-2")
		})
	}
}

// TestNohupKeepsARunGoing: a signal that was ignored when the command began stays ignored.
func TestNohupKeepsARunGoing(t *testing.T) {
	api, dir, issued := newRotatingAPI(t), t.TempDir(), make(chan struct{})
	api.issued = func() {
		close(issued)
		time.Sleep(2 * noticeTime)
	}
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0" run "$1" --tokens "$2"`, binary(t), api.config(t, dir), filepath.Join(dir, "users.tokens"))
	require.NoError(t, cmd.Start())
	<-issued
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, cmd.Wait())
}

// TestATokenThatAKilledRunHasLeftIsUsed: the run was killed before the new file got its name.
func TestATokenThatAKilledRunHasLeftIsUsed(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	file := filepath.Join(dir, "users.tokens")
	status, _, log := api.run(t, dir, "--tokens", file)
	require.Equal(t, 0, status, log)
	for _, left := range []string{".0123456789abcdef.new", ".4711471147114711.new"} {
		require.NoError(t, os.Rename(file, file+left))
		require.NoError(t, os.WriteFile(file+".aaaaaaaaaaaaaaaa.new", []byte(`{"version": 1, "tok`), 0o600))
		require.NoError(t, os.WriteFile(file+".bbbbbbbbbbbbbbbb.new", nil, 0o600))
		status, _, log = api.run(t, dir, "--tokens", file)
		require.Equal(t, 0, status, log)
		found, err := filepath.Glob(file + "*")
		require.NoError(t, err)
		require.Equal(t, []string{file, file + lockSuffix}, found)
	}
	old := filepath.Join(dir, "users.tokens.0000000000000000.new")
	require.NoError(t, os.WriteFile(old, []byte(`{"version": 1, "tokens": {"an": "older file"}}`), 0o600))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	status, _, log = api.run(t, dir, "--tokens", file)
	require.Equal(t, 0, status, log)
	require.NoFileExists(t, old)
}

func TestNoTokenIsRequestedWithoutRoomForIt(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	file := filepath.Join(dir, "users.tokens")
	cmd := exec.Command(bash(t), "-c", `ulimit -f 32 && exec "$0" run "$1" --tokens "$2"`, binary(t), api.config(t, dir), file)
	out, _ := cmd.CombinedOutput()
	require.Equal(t, 7, cmd.ProcessState.ExitCode(), string(out))
	require.Contains(t, string(out), "no refresh token is used, because a new one could not be stored: ")
	require.Equal(t, 1, api.valid, "no token was requested")
	left, err := filepath.Glob(file + "*.new")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnEmptyFileOfTokensIsRefused(t *testing.T) {
	api, dir := newRotatingAPI(t), t.TempDir()
	file := filepath.Join(dir, "users.tokens")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	status, _, log := api.run(t, dir, "--tokens", file)
	require.Equal(t, 8, status, log)
	require.Contains(t, log, file+" cannot be read: it is empty (remove the file, or name another one with --tokens")
	require.Equal(t, 1, api.valid, "no token was requested")
}
