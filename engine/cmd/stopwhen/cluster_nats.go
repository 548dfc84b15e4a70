package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// natsFlags say how the commands that share work reach NATS. Passwords and tokens are
// not among them, since every user of a machine can read its command lines.
type natsFlags struct {
	urls                   string // separated by commas
	context                string
	creds                  string
	tlsCA, tlsCert, tlsKey string
}

// A natsClient is how a command reaches NATS.
type natsClient struct {
	app  *app
	nats natsFlags

	connected func(*nats.Conn) // is called after the connection is made; may be nil
	ends      atomic.Bool      // set before the command closes its connection, which is then no error
}

// addNATSFlags adds the flags of commands that connect to NATS.
func (n *natsClient) addNATSFlags(cmd *cobra.Command) {
	f, to := cmd.Flags(), &n.nats
	f.StringVar(&to.urls, "nats", "", "`URL` of a NATS server, or several with commas between them; "+
		"default: NATS_URL, the selected NATS context, or "+nats.DefaultURL)
	f.StringVar(&to.context, "nats-context", "", "`NAME` of a context of the nats command, or the path of its file")
	f.StringVar(&to.creds, "nats-creds", "", "`FILE` with NATS credentials")
	f.StringVar(&to.tlsCA, "nats-tls-ca", "", "PEM `FILE` with the authorities that sign the certificate of the server")
	f.StringVar(&to.tlsCert, "nats-tls-cert", "", "PEM `FILE` with the certificate of this client")
	f.StringVar(&to.tlsKey, "nats-tls-key", "", "PEM `FILE` with the key of --nats-tls-cert")
}

// files returns the flags that name files.
func (n natsFlags) files() []streamUse {
	return []streamUse{
		{"--nats-creds", n.creds}, {"--nats-tls-ca", n.tlsCA}, {"--nats-tls-cert", n.tlsCert}, {"--nats-tls-key", n.tlsKey},
	}
}

// A natsConn is a connection to NATS.
type natsConn struct {
	*nats.Conn
	domain, prefix string // of JetStream, as in the context; usually empty
}

// JetStream returns the client for streams.
func (c *natsConn) JetStream() (jetstream.JetStream, error) {
	switch {
	case c.domain != "":
		return jetstream.NewWithDomain(c.Conn, c.domain)
	case c.prefix != "":
		return jetstream.NewWithAPIPrefix(c.Conn, c.prefix)
	}
	return jetstream.New(c.Conn)
}

// A natsTarget is the server to connect to, and how.
type natsTarget struct {
	urls       string
	useContext bool
	context    string // if it is empty, the selected context, if any
	options    []nats.Option
	creds      string   // file of credentials
	servers    []string // without credentials, for messages; known after the first attempt
}

// connect connects to NATS under a name. With wait, it waits for a server that cannot be
// reached until the context is done.
func (n *natsClient) connect(ctx context.Context, name string, wait bool, log *slog.Logger) (*natsConn, error) {
	target, err := n.target()
	if err != nil {
		return nil, err
	}
	target.options = append(target.options,
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.Timeout(natsTimeout), n.inspect(target))
	target.options = append(target.options, n.logConnection(log)...)
	for next := time.Now(); ; {
		conn, err := target.dialUntil(ctx)
		if err == nil {
			return conn, nil
		}
		if !wait || !errors.Is(err, failure.ErrTransient) {
			return nil, err
		}
		if !time.Now().Before(next) {
			log.Warn(err.Error()+"; trying again", "event", "nats_unreachable")
			next = time.Now().Add(natsReminder)
		}
		select {
		case <-ctx.Done():
		case <-time.After(natsPause):
		}
	}
}

const (
	natsTimeout  = 5 * time.Second // for one server
	natsPause    = 2 * time.Second // between attempts to connect
	natsReminder = time.Minute     // between log lines that say that the server is unreachable
)

// opConnect is the operation of errors of connecting to NATS.
const opConnect = "connect"

// dialUntil is [natsTarget.dial], but returns when the context is done.
func (t *natsTarget) dialUntil(ctx context.Context) (*natsConn, error) {
	type result struct {
		conn *natsConn
		err  error
	}
	dialled := make(chan result, 1)
	go func() {
		conn, err := t.dial()
		dialled <- result{conn, err}
	}()
	select {
	case r := <-dialled:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-dialled; r.conn != nil {
				r.conn.Close()
			}
		}()
		return nil, &failure.Error{
			Class: failure.Cancelled, Op: opConnect, Message: "interrupted before NATS was reached", Err: context.Cause(ctx),
		}
	}
}

// dial connects once.
func (t *natsTarget) dial() (*natsConn, error) {
	if !t.useContext {
		conn, err := nats.Connect(t.urls, t.options...)
		if err != nil {
			return nil, t.explain(err)
		}
		return &natsConn{Conn: conn}, nil
	}
	conn, settings, err := natscontext.Connect(t.context, t.options...)
	if err != nil {
		return nil, t.explain(err)
	}
	return &natsConn{Conn: conn, domain: settings.JSDomain, prefix: settings.JSAPIPrefix}, nil
}

// target returns the server that the flags and the environment name.
func (n *natsClient) target() (*natsTarget, error) {
	flags := n.nats
	if err := flags.check(); err != nil {
		return nil, err
	}
	if flags.context != "" || !flags.explicit() && !inEnvironment("NATS_URL", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN") {
		return &natsTarget{useContext: true, context: flags.context}, nil
	}
	t := &natsTarget{urls: cmp.Or(flags.urls, os.Getenv("NATS_URL"), nats.DefaultURL), creds: flags.creds}
	if err := checkURLs(t.urls); err != nil {
		return nil, err
	}
	login, err := n.natsLogin()
	if err != nil {
		return nil, err
	}
	t.options = slices.Concat(login, flags.fileOptions())
	return t, nil
}

// explicit reports whether any flag is set.
func (n natsFlags) explicit() bool { return n != natsFlags{} }

// check checks the flags together, and that their files can be read.
func (n natsFlags) check() error {
	files := natsFlags{creds: n.creds, tlsCA: n.tlsCA, tlsCert: n.tlsCert, tlsKey: n.tlsKey}
	switch {
	case n.context != "" && n.urls != "":
		return &usageError{"--nats and --nats-context cannot be used together"}
	case n.context != "" && files.explicit():
		return &usageError{"--nats-context cannot be used with --nats-creds or --nats-tls-…: " +
			"a context has its own credentials and certificates"}
	case (n.tlsCert == "") != (n.tlsKey == ""):
		return &usageError{"--nats-tls-cert and --nats-tls-key require each other"}
	}
	for _, file := range n.files() {
		if file.path == "" {
			continue
		}
		if _, err := os.ReadFile(file.path); err != nil {
			return &usageError{fmt.Sprintf("%s: %v", file.name, err)}
		}
	}
	return nil
}

// fileOptions returns the options for the files that the flags name.
func (n natsFlags) fileOptions() []nats.Option {
	var options []nats.Option
	if n.creds != "" {
		options = append(options, nats.UserCredentials(n.creds))
	}
	if n.tlsCA != "" {
		options = append(options, nats.RootCAs(n.tlsCA))
	}
	if n.tlsCert != "" {
		options = append(options, nats.ClientCert(n.tlsCert, n.tlsKey))
	}
	return options
}

func inEnvironment(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return os.Getenv(name) != "" })
}

// natsLogin returns the options for the credentials in the environment. Credentials in a URL override
// them.
func (n *natsClient) natsLogin() ([]nats.Option, error) {
	user, password, token := os.Getenv("NATS_USER"), os.Getenv("NATS_PASSWORD"), os.Getenv("NATS_TOKEN")
	switch {
	case user != "" && token != "":
		return nil, &usageError{"the environment has NATS_USER and NATS_TOKEN; unset one of them"}
	case password != "" && user == "":
		return nil, &usageError{"the environment has NATS_PASSWORD without NATS_USER"}
	case n.nats.creds != "" && cmp.Or(user, token) != "":
		return nil, &usageError{"--nats-creds cannot be used with NATS_USER or NATS_TOKEN; unset them"}
	case user != "":
		return []nats.Option{nats.UserInfo(user, password)}, nil
	case token != "":
		return []nats.Option{nats.Token(token)}, nil
	}
	return nil, nil
}

// checkURLs checks addresses of servers. Messages do not show them, since they may have
// a password.
func checkURLs(list string) error {
	for i, address := range strings.Split(list, ",") {
		u, err := parseServer(address)
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return &usageError{fmt.Sprintf("--nats: address %d is invalid; want nats://HOST:PORT, or tls://, ws:// or wss://", i+1)}
		}
	}
	return nil
}

// parseServer parses the address of a server, whose scheme may be left out.
func parseServer(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

// inspect returns an option that reads the other options: it hides their secrets in everything that is
// printed, and keeps the addresses for messages. Without an address, it sets the default address, as the
// client does when it connects.
func (n *natsClient) inspect(t *natsTarget) nats.Option {
	return func(o *nats.Options) error {
		if len(o.Servers) == 0 {
			o.Servers = []string{nats.DefaultURL}
		}
		n.app.redactor.Hide(o.Password)
		n.app.redactor.Hide(o.Token)
		t.servers = nil
		for _, address := range o.Servers {
			u, err := parseServer(address)
			if err != nil {
				t.servers = append(t.servers, "an invalid address")
				continue
			}
			if password, ok := u.User.Password(); ok {
				n.app.redactor.Hide(password)
			} else {
				n.app.redactor.Hide(u.User.Username()) // a token
			}
			u.User = nil
			t.servers = append(t.servers, u.String())
		}
		return nil
	}
}

// logConnection returns the options that log when a connection is lost and restored.
func (n *natsClient) logConnection(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("lost the connection to NATS: "+err.Error()+"; trying again", "event", "nats_disconnected")
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			log.Info("connected to NATS again at "+c.ConnectedUrlRedacted(), "event", "nats_reconnected")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("NATS: "+plain(err), "event", "nats_error")
		}),
		nats.ClosedHandler(func(c *nats.Conn) {
			if err := c.LastError(); err != nil && !n.ends.Load() && !errors.Is(err, nats.ErrPermissionViolation) { // which closes nothing
				log.Error("NATS has closed the connection: "+err.Error(), "event", "nats_closed")
			}
		}),
	}
}
