package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// startTestHub starts a hub, which ends with the test, and returns its address.
func startTestHub(t *testing.T, o hub.Options) string {
	t.Helper()
	o.Dir, o.Listen = t.TempDir(), "127.0.0.1:0"
	server, err := hub.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	return server.URL()
}

// tryConnect connects like a command with these flags. Contexts are those of a directory
// of the test.
func tryConnect(t *testing.T, n natsFlags) (conn *natsConn, printed string, err error) {
	t.Helper()
	var stderr bytes.Buffer
	a := &natsClient{app: newApp(nil, io.Discard, &stderr), nats: n}
	conn, err = a.connect(t.Context(), "stopwhen test", false, slog.New(slog.DiscardHandler))
	if conn != nil {
		t.Cleanup(conn.Close)
	}
	a.app.report(err)
	return conn, stderr.String(), err
}

// clearNATS empties the environment of what connections read, and returns the directory
// of contexts.
func clearNATS(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"NATS_URL", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN"} {
		t.Setenv(name, "")
	}
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	dir := filepath.Join(config, "nats", "context")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestEveryWayToNameAServer(t *testing.T) {
	open, token := startTestHub(t, hub.Options{}), startTestHub(t, hub.Options{Token: "token-1"})
	user := startTestHub(t, hub.Options{User: "u", Password: "password-1"})
	withLogin := func(url, login string) string { return strings.Replace(url, "://", "://"+login+"@", 1) }
	for _, test := range []struct {
		name  string
		flags natsFlags
		env   map[string]string
		want  string
	}{
		{"flag", natsFlags{urls: open}, map[string]string{"NATS_URL": token}, open},
		{"the second of two servers", natsFlags{urls: "nats://127.0.0.1:1," + open}, nil, open},
		{"without a scheme", natsFlags{urls: strings.TrimPrefix(open, "nats://")}, nil, open},
		{"token in the URL", natsFlags{urls: withLogin(token, "token-1")}, nil, token},
		{"password in the URL", natsFlags{urls: withLogin(user, "u:password-1")}, nil, user},
		{"environment", natsFlags{}, map[string]string{"NATS_URL": open}, open},
		{"token in the environment", natsFlags{urls: token}, map[string]string{"NATS_TOKEN": "token-1"}, token},
		{"user in the environment", natsFlags{urls: user}, map[string]string{"NATS_USER": "u", "NATS_PASSWORD": "password-1"}, user},
		{"context", natsFlags{context: "team"}, map[string]string{"NATS_URL": open}, user},
		{"selected context", natsFlags{}, nil, user},
	} {
		t.Run(test.name, func(t *testing.T) {
			contexts := clearNATS(t)
			write(t, filepath.Join(contexts, "team.json"), fmt.Sprintf(`{"url": %q, "user": "u", "password": "password-1"}`, user))
			write(t, filepath.Join(filepath.Dir(contexts), "context.txt"), "team\n")
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			conn, printed, err := tryConnect(t, test.flags)
			require.NoError(t, err, printed)
			require.Equal(t, strings.TrimPrefix(test.want, "nats://"), conn.ConnectedAddr())
			_, err = conn.JetStream()
			require.NoError(t, err)
		})
	}
}

func TestAConnectionThatFailsSaysWhatToDo(t *testing.T) {
	dir := clearNATS(t)
	token := startTestHub(t, hub.Options{Token: "token-1"})
	creds := write(t, filepath.Join(dir, "old.creds"), expiredCreds(t))
	notPEM := write(t, filepath.Join(dir, "not.pem"), "no certificate")
	write(t, filepath.Join(dir, "wrong.json"), fmt.Sprintf(`{"url": %q, "token": "wrong-token-7"}`, token))
	write(t, filepath.Join(dir, "broken.json"), `{"url": `)
	address := strings.TrimPrefix(token, "nats://")
	for _, test := range []struct {
		name   string
		flags  natsFlags
		status int
		want   string
	}{
		{"nobody listens", natsFlags{urls: "nats://127.0.0.1:1"}, 4,
			"cannot reach NATS at nats://127.0.0.1:1: connection refused (start a server with stopwhen hub, or name yours with --nats URL)"},
		{"none of several", natsFlags{urls: "127.0.0.1:1,nats://u:password-7@127.0.0.1:2"}, 4,
			"cannot reach NATS at nats://127.0.0.1:1, nats://127.0.0.1:2: connection refused"},
		{"no credentials", natsFlags{urls: token}, 2, "NATS at " + token + ": the server refused the credentials: Authorization Violation (use --nats-creds FILE"},
		{"wrong token", natsFlags{urls: "nats://wrong-token-7@" + address}, 2, "the server refused the credentials"},
		{"wrong password", natsFlags{urls: "nats://u:password-7@" + address}, 2, "the server refused the credentials"},
		{"wrong token of a context", natsFlags{context: "wrong"}, 2, "NATS at " + token + ": the server refused the credentials"},
		{"expired credentials", natsFlags{urls: token, creds: creds}, 2, "the credentials in " + creds + " expired on 2020-01-01T00:00:00Z (obtain new ones)"},
		{"no TLS", natsFlags{urls: "tls://" + address}, 2, "the server does not use TLS (use nats:// instead of tls://"},
		{"no such context", natsFlags{context: "none"}, 2, `--nats-context: unknown context "none"`},
		{"broken context", natsFlags{context: "broken"}, 2, "--nats-context: unexpected end of JSON input"},
		{"two servers", natsFlags{urls: token, context: "wrong"}, 2, "--nats and --nats-context cannot be used together"},
		{"a context with credentials", natsFlags{context: "wrong", creds: creds}, 2, "a context has its own credentials"},
		{"no file of credentials", natsFlags{urls: token, creds: notPEM + "x"}, 2, "--nats-creds: open " + notPEM + "x: no such file"},
		{"no certificate", natsFlags{urls: token, tlsCA: notPEM}, 2, "--nats-tls-ca: want a PEM file with certificates"},
		{"half of a certificate", natsFlags{urls: token, tlsCert: notPEM}, 2, "--nats-tls-cert and --nats-tls-key require each other"},
		{"another protocol", natsFlags{urls: "http://u:password-7@" + address}, 2, "--nats: address 1 is invalid; want nats://HOST:PORT"},
		{"no address", natsFlags{urls: token + ",nats://u:password-7@"}, 2, "--nats: address 2 is invalid"},
		{"no NATS server", natsFlags{urls: speaks(t, "HTTP/1.1 400 Bad Request\r\n\r\n")}, 2, "this is not a NATS server (name one with --nats URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, printed, err := tryConnect(t, test.flags)
			require.Nil(t, conn)
			require.Contains(t, printed, test.want)
			require.Equal(t, test.status, exitStatus(err), printed)
			require.NotContains(t, printed, "password-7")
			require.NotContains(t, printed, "token-7")
		})
	}
}

// A refusingDialer connects to no address.
type refusingDialer struct{}

func (refusingDialer) Dial(network, address string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New(address + " refused")}
}

// TestTheDefaultServerIsNamedWhenItIsOutOfReach connects without an address in the flags, the
// environment and the contexts.
func TestTheDefaultServerIsNamedWhenItIsOutOfReach(t *testing.T) {
	clearNATS(t)
	n := &natsClient{app: newApp(nil, io.Discard, io.Discard)}
	target, err := n.target()
	require.NoError(t, err)
	target.options = append(target.options, nats.SetCustomDialer(refusingDialer{}), n.inspect(target))
	_, err = target.dial()
	require.ErrorContains(t, err, "cannot reach NATS at nats://127.0.0.1:4222")
	require.ErrorContains(t, err, "start a server with stopwhen hub, or name yours with --nats URL")
	require.Equal(t, 4, exitStatus(err), "a worker waits for such a server")
}

func TestLoginsInTheEnvironmentThatContradict(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"NATS_USER": "u", "NATS_TOKEN": "t"}, "NATS_USER and NATS_TOKEN"},
		{map[string]string{"NATS_PASSWORD": "p"}, "NATS_PASSWORD without NATS_USER"},
	} {
		clearNATS(t)
		for name, value := range test.env {
			t.Setenv(name, value)
		}
		_, printed, err := tryConnect(t, natsFlags{urls: "nats://127.0.0.1:1"})
		require.Contains(t, printed, test.want)
		require.Equal(t, exitUsage, exitStatus(err))
	}
}

// TestAWorkerWaitsForItsServer connects before the hub is started.
func TestAWorkerWaitsForItsServer(t *testing.T) {
	clearNATS(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	log := &startsHub{t: t, o: hub.Options{Dir: t.TempDir(), Listen: address}}
	a := &natsClient{app: newApp(nil, nil, nil), nats: natsFlags{urls: address}}
	conn, err := a.connect(t.Context(), "stopwhen worker", true, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	defer conn.Close()
	require.Contains(t, log.String(), "cannot reach NATS at nats://"+address+": connection refused")
	require.Contains(t, log.String(), "trying again")
}

// A startsHub is a log that starts a hub when the first line is written.
type startsHub struct {
	bytes.Buffer
	t *testing.T
	o hub.Options
}

func (l *startsHub) Write(line []byte) (int, error) {
	if l.Len() == 0 {
		server, err := hub.Start(context.Background(), l.o)
		require.NoError(l.t, err)
		l.t.Cleanup(server.Shutdown)
	}
	return l.Buffer.Write(line)
}

func TestASignalEndsTheWaitForAServer(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	clearNATS(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := &natsClient{app: newApp(nil, nil, nil), nats: natsFlags{urls: "127.0.0.1:1"}}
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := a.connect(ctx, "stopwhen worker", true, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, failure.ErrCancelled)
}

// expiredCreds returns credentials of a user that expired at the beginning of 2020.
func expiredCreds(t *testing.T) string {
	t.Helper()
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := user.PublicKey()
	require.NoError(t, err)
	claims := jwt.NewUserClaims(public)
	claims.Expires = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	token, err := claims.Encode(account)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	text, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return string(text)
}

// speaks returns the address of a server that sends a text to all that connect.
func speaks(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }() // when the test ends, since a closed connection is another failure
			_, _ = io.WriteString(conn, text)
		}
	}()
	return "nats://" + listener.Addr().String()
}

// fakeNATS returns the address of a NATS server of a version that answers nothing but pings.
func fakeNATS(t *testing.T, version string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				fmt.Fprintf(conn, "INFO {\"server_id\":\"A\",\"version\":%q,\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n", version)
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if lines.Text() == "PING" {
						fmt.Fprint(conn, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + listener.Addr().String()
}

func TestAServerThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"status"}, {"worker"}, {"collect", "r1"}} {
		cmd := exec.Command(binary(t), append(command, "--nats", fakeNATS(t, "2.11.4"))...)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, 2, cmd.ProcessState.ExitCode())
		require.Equal(t, "stopwhen: the NATS server has version 2.11.4, which cannot store pages atomically (use version 2.12 or newer)\n", string(out))
	}
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	cmd := exec.Command(binary(t), "status", "--nats", ns.ClientURL())
	out, _ := cmd.CombinedOutput()
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Contains(t, string(out), "the NATS server does not have JetStream enabled")
	require.Contains(t, string(out), "enable JetStream in the configuration of the server")
}

func TestHintsNameTheServerWithoutItsSecrets(t *testing.T) {
	for want, n := range map[string]natsFlags{
		"":                              {},
		" --nats nats://a:1,nats://b:2": {urls: "nats://a:1,nats://b:2"},
		" --nats URL":                   {urls: "nats://a:1,nats://me:s3cr3t@b:2"},
		" --nats-context 'the hub'":     {context: "the hub"},
		" --nats a:1 --nats-creds 'it'\\''s' --nats-tls-ca ca.pem": {urls: "a:1", creds: "it's", tlsCA: "ca.pem"},
	} {
		a := &natsClient{nats: n}
		require.Equal(t, want, a.natsArgs())
	}
}

// A server of HTTP accepts the connection and waits for a request. It may be a NATS server that
// hangs, so the error is transient.
func TestAServerThatSaysNothingIsNotCalledOutOfReach(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	conn, err := net.Dial("tcp", silent.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now()))
	_, err = conn.Read(make([]byte, 1))
	target := &natsTarget{servers: []string{"nats://hub"}}
	explained := target.explain(err)
	require.ErrorContains(t, explained, "what listens at nats://hub does not answer like a NATS server")
	require.Equal(t, 4, exitStatus(explained))
}

// certificate writes a certificate for 127.0.0.1 that is its own authority, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert = write(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	key = write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	return cert, key
}

func TestConnectionsWithTLS(t *testing.T) {
	clearNATS(t)
	cert, key := certificate(t)
	other, otherKey := certificate(t)
	server := startTestHub(t, hub.Options{TLSCert: cert, TLSKey: key})
	mutual := startTestHub(t, hub.Options{TLSCert: cert, TLSKey: key, TLSCA: cert})
	require.True(t, strings.HasPrefix(server, "tls://"))
	for _, test := range []struct {
		name  string
		flags natsFlags
		want  string // empty: it connects
	}{
		{"known authority", natsFlags{urls: server, tlsCA: cert}, ""},
		{"known authority and nats://", natsFlags{urls: strings.Replace(server, "tls", "nats", 1), tlsCA: cert}, ""},
		{"client certificate", natsFlags{urls: mutual, tlsCA: cert, tlsCert: cert, tlsKey: key}, ""},
		{"no authority", natsFlags{urls: server}, "signed by an unknown authority (name the authority with --nats-tls-ca FILE)"},
		{"another authority", natsFlags{urls: server, tlsCA: other}, "signed by an unknown authority"},
		{"another name", natsFlags{urls: strings.Replace(server, "127.0.0.1", "localhost", 1), tlsCA: cert}, "wanted to match localhost (use a name that the certificate has)"},
		{"no client certificate", natsFlags{urls: mutual, tlsCA: cert}, "--nats-tls-cert FILE and --nats-tls-key FILE"},
		{"another client certificate", natsFlags{urls: mutual, tlsCA: cert, tlsCert: other, tlsKey: otherKey}, "--nats-tls-cert FILE and --nats-tls-key FILE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, printed, err := tryConnect(t, test.flags)
			if test.want == "" {
				require.NoError(t, err, printed)
				return
			}
			require.Contains(t, printed, test.want)
			require.Equal(t, exitUsage, exitStatus(err), printed)
		})
	}
}
