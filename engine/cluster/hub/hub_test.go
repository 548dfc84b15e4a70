package hub_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// anyPort listens on a free port of the loopback interface.
const anyPort = "127.0.0.1:0"

// start starts a hub, which ends with the test.
func start(t *testing.T, o hub.Options) *hub.Server {
	t.Helper()
	if o.Dir == "" && o.ConfigFile == "" {
		o.Dir = t.TempDir()
	}
	s, err := hub.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	c, err := nats.Connect(url, options...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWhatIsStoredOutlivesAHub(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "hub")
	first := start(t, hub.Options{Dir: dir, Listen: anyPort})
	c := connect(t, first.URL())
	js, err := jetstream.New(c)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowAtomicPublish: true})
	require.NoError(t, err)
	page := bytes.Repeat([]byte("x"), 8<<20-1024) // a hub takes messages of 8 MiB
	_, err = js.Publish(t.Context(), "s.1", page)
	require.NoError(t, err)
	c.Close()
	first.Shutdown()
	first.Shutdown() // a second call does nothing
	require.NoError(t, first.Wait())

	second := start(t, hub.Options{Dir: dir, Listen: anyPort})
	require.Equal(t, dir, second.Dir())
	js, err = jetstream.New(connect(t, second.URL()))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	stored, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, page, stored.Data)
}

func TestADirectoryHasOneHub(t *testing.T) {
	dir := t.TempDir()
	first := start(t, hub.Options{Dir: dir, Listen: anyPort})
	_, err := hub.Start(t.Context(), hub.Options{Dir: dir, Listen: anyPort})
	require.ErrorIs(t, err, failure.ErrState)
	require.ErrorContains(t, err, "the directory "+dir+" is in use by another hub")
	first.Shutdown()
	start(t, hub.Options{Dir: dir, Listen: anyPort})
}

func TestAStartThatFailsLeavesTheDirectoryFree(t *testing.T) {
	taken, err := net.Listen("tcp", anyPort)
	require.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	_, err = hub.Start(t.Context(), hub.Options{Dir: dir, Listen: taken.Addr().String()})
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "cannot listen on "+taken.Addr().String()+": another program uses this address")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = hub.Start(cancelled, hub.Options{Dir: dir, Listen: anyPort})
	require.ErrorIs(t, err, failure.ErrCancelled)
	start(t, hub.Options{Dir: dir, Listen: anyPort})
}

func TestOptionsThatAreRefused(t *testing.T) {
	existing := file(t, "file", "x")
	cert := file(t, "cert.pem", "no certificate")
	users := file(t, "users.conf", `authorization { user: a, password: b }`)
	for _, test := range []struct {
		name    string
		options hub.Options
		class   failure.Class
		message string
	}{
		{"another address without authentication", hub.Options{Listen: "0.0.0.0:0"}, failure.Config,
			"everybody who reaches 0.0.0.0 could read and delete all runs"},
		{"every address without authentication", hub.Options{Listen: ":0"}, failure.Config, "set a token"},
		{"IPv6 without authentication", hub.Options{Listen: "[::]:0"}, failure.Config, "everybody who reaches ::"},
		{"a name without authentication", hub.Options{Listen: "hub.example.com:0"}, failure.Config, "everybody who reaches hub.example.com"},
		{"an address in a file without authentication",
			hub.Options{ConfigFile: file(t, "open.conf", "listen: 0.0.0.0:4222")}, failure.Config, "everybody who reaches 0.0.0.0"},
		{"no port", hub.Options{Listen: "127.0.0.1"}, failure.Config, `want an address such as 127.0.0.1:4222, got "127.0.0.1"`},
		{"no number", hub.Options{Listen: "127.0.0.1:nats"}, failure.Config, "want a port from 0 to 65535"},
		{"too large a port", hub.Options{Listen: "127.0.0.1:65536"}, failure.Config, "want a port from 0 to 65535"},
		{"a user without a password", hub.Options{User: "a"}, failure.Config, "a user needs a password"},
		{"a user and a token", hub.Options{User: "a", Password: "b", Token: "c"}, failure.Config, "either a user and a password, or a token"},
		{"users in two places", hub.Options{ConfigFile: users, Token: "c"}, failure.Config, "already says how clients authenticate"},
		{"a certificate without a key", hub.Options{TLSCert: cert}, failure.Config, "a certificate and its key"},
		{"no certificate", hub.Options{TLSCert: cert, TLSKey: cert}, failure.Config, "cannot use the certificates"},
		{"a file as the directory", hub.Options{Dir: existing}, failure.IO, existing + " is not a directory"},
		{"a directory in a file", hub.Options{Dir: filepath.Join(existing, "x")}, failure.IO, "is not a directory"},
		{"no configuration file", hub.Options{ConfigFile: existing + ".conf"}, failure.Config, "no such file"},
		{"no configuration", hub.Options{ConfigFile: file(t, "a.conf", "port: 0\nauthorization {")}, failure.Config, "Parse error on line 2"},
		{"an unknown key", hub.Options{ConfigFile: file(t, "b.conf", "port: 0\n  prot: 1")}, failure.Config, `b.conf:2:3: unknown field "prot"`},
		{"no JetStream", hub.Options{ConfigFile: file(t, "c.conf", "JetStream: false")}, failure.Config, "disables JetStream"},
		{"JetStream that is not enabled", hub.Options{ConfigFile: file(t, "d.conf", "jetstream {enabled: false}")}, failure.Config, "disables JetStream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.options.Dir == "" {
				test.options.Dir = t.TempDir()
			}
			s, err := hub.Start(t.Context(), test.options)
			require.Nil(t, s)
			require.ErrorContains(t, err, test.message)
			var failed *failure.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, test.class, failed.Class)
		})
	}
}

func TestClientsAuthenticate(t *testing.T) {
	for _, test := range []struct {
		name    string
		options hub.Options
		right   nats.Option
	}{
		{"token", hub.Options{Token: "token-1"}, nats.Token("token-1")},
		{"user", hub.Options{User: "a", Password: "password-1"}, nats.UserInfo("a", "password-1")},
		{"file", hub.Options{ConfigFile: file(t, "users.conf", `authorization { user: a, password: password-1 }`)}, nats.UserInfo("a", "password-1")},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log fixtures.Buffer
			test.options.Dir, test.options.Listen = t.TempDir(), "0.0.0.0:0"
			test.options.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			s := start(t, test.options)
			connect(t, s.URL(), test.right)
			for _, wrong := range []nats.Option{nats.Token("wrong"), nats.UserInfo("a", "wrong"), nats.Name("nobody")} {
				_, err := nats.Connect(s.URL(), wrong)
				require.ErrorIs(t, err, nats.ErrAuthorization)
			}
			s.Shutdown()
			require.Contains(t, log.String(), "unencrypted")
			require.NotContains(t, log.String(), "token-1")
			require.NotContains(t, log.String(), "password-1")
		})
	}
}

// TestAConfigurationFileMaySyncLater starts a server that may lose pages, since
// its file says so, and requires a warning.
func TestAConfigurationFileMaySyncLater(t *testing.T) {
	for _, test := range []struct {
		text string
		warn bool
	}{
		{"jetstream { sync_interval: 10s }", true},
		{"jetstream { sync_interval: always }", false},
		{"max_payload: 1MB", false},
	} {
		var log fixtures.Buffer
		start(t, hub.Options{
			ConfigFile: file(t, "nats.conf", test.text), Dir: t.TempDir(), Listen: anyPort,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.Equal(t, test.warn, strings.Contains(log.String(), "sets sync_interval to 10s: a crash of this machine loses pages"), log.String())
	}
}

func TestAFileHasTheDirectoryAndThePort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := start(t, hub.Options{ConfigFile: file(t, "nats.conf", "port: -1\njetstream { store_dir: '"+dir+"' }")})
	require.Equal(t, dir, s.Dir())
	host, _, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host) // without a host, only this machine is served
	require.DirExists(t, dir)
}

// Three hubs with the configuration of the guide form a cluster. The password is in the environment, and not in the
// addresses.
func TestHubsOfAClusterJoinWithItsPassword(t *testing.T) {
	t.Setenv("ROUTES", "password-1")
	var routes []string
	for range 3 {
		l, err := net.Listen("tcp", anyPort)
		require.NoError(t, err)
		routes = append(routes, l.Addr().String())
		require.NoError(t, l.Close())
	}
	var url string
	for i, route := range routes {
		s := start(t, hub.Options{Dir: t.TempDir(), Listen: anyPort,
			ConfigFile: file(t, "nats.conf", fmt.Sprintf(`server_name: hub-%d
				cluster { name: hubs, listen: "%s", authorization { user: hub, password: $ROUTES }
				routes: ["nats://%s"] }`, i, route, strings.Join(routes, `", "nats://`)))})
		url = s.URL()
	}
	js, err := jetstream.New(connect(t, url))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: len(routes)})
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

func TestAClusterThatEverybodyMayJoinIsUnsafe(t *testing.T) {
	for _, test := range []struct {
		listen, authorization string
		warn                  bool
	}{
		{"0.0.0.0:-1", "", true},
		{"0.0.0.0:-1", "authorization { user: hub, password: password-1 }", false},
		{"127.0.0.1:-1", "", false},
	} {
		var log fixtures.Buffer
		start(t, hub.Options{
			Dir: t.TempDir(), Listen: anyPort, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			ConfigFile: file(t, "nats.conf", fmt.Sprintf(`server_name: a
				cluster { name: hubs, listen: %q, routes: ["nats://127.0.0.1:1"], %s }`, test.listen, test.authorization)),
		})
		require.Equal(t, test.warn, strings.Contains(log.String(), "every server that reaches 0.0.0.0 can join the cluster"), log.String())
	}
}
