package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// hubFlags are the flags of stopwhen hub. Secrets are in environment variables, since
// every user of a machine can read its command lines.
type hubFlags struct {
	listen, dir, config         string
	tokenEnv, user, passwordEnv string
	tlsCert, tlsKey, tlsCA      string
}

func (a *app) hubCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hub",
		Short: "Run the server that many machines share their work through",
		Long: `Run a NATS server with JetStream, for a team that has none. It stores the runs
that are submitted, the work that waits, and the items that workers obtained.
What it has acknowledged survives a crash and a loss of power. It ends with
status 0 on SIGINT or SIGTERM; start it again with the same directory, and all
go on.

Without options it serves the programs of this machine only. To serve others,
name an address and a token, or a user and a password; their secrets are in
environment variables. A NATS configuration file has accounts, users with
permissions, TLS and clusters.`,
		Example: `  stopwhen hub
  stopwhen hub --dir /var/lib/stopwhen --listen 0.0.0.0:4222 \
    --token-env HUB_TOKEN --tls-cert hub.pem --tls-key hub.key
  stopwhen hub --config nats.conf`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.hub() },
	}
	f, h := cmd.Flags(), &a.flags.hub
	f.StringVar(&h.listen, "listen", "", "`HOST:PORT` to listen on; port 0 is any free one (default "+hub.DefaultListen+")")
	f.StringVar(&h.dir, "dir", "", "`DIR` of the store, created if it is missing (default "+hub.DefaultDir+")")
	f.StringVar(&h.config, "config", "", "NATS configuration `FILE`; --listen and --dir override it")
	f.StringVar(&h.tokenEnv, "token-env", "", "`NAME` of an environment variable with the token that clients present")
	f.StringVar(&h.user, "user", "", "`NAME` of the user that clients log in as")
	f.StringVar(&h.passwordEnv, "password-env", "", "`NAME` of an environment variable with the password of --user")
	f.StringVar(&h.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate of the hub")
	f.StringVar(&h.tlsKey, "tls-key", "", "PEM `FILE` with the key of --tls-cert")
	f.StringVar(&h.tlsCA, "tls-ca", "", "PEM `FILE` with authorities; clients need a certificate of one of them")
	a.logFlags(cmd)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// logFlags adds the flags that say what is logged, and how.
func (a *app) logFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.logFormat, "log-format", formatText, "`FORMAT` of the log: text or json")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "log only errors")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log details")
	complete(cmd, "log-format", func() []string { return []string{formatText, formatJSON} })
}

// hub runs a hub until a signal arrives.
func (a *app) hub() error {
	if err := a.checkVolume(); err != nil {
		return err
	}
	o, err := a.hubOptions()
	if err != nil {
		return err
	}
	redacted := a.redactor.Writer(a.guard(a.stderr))
	defer redacted.Close()
	if o.Logger, err = a.newLogger(redacted, false); err != nil {
		return err
	}
	allowMemory()
	ctx, stop := a.catchSignals()
	defer stop()
	server, err := hub.Start(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // a signal arrived before the hub was ready
	case err != nil:
		return err
	}
	go func() {
		<-ctx.Done()
		server.Shutdown()
	}()
	o.Logger.Info(readyText(server), "event", "hub_ready", "hub_url", server.URL(), "listen", server.Addr(), "dir", server.Dir())
	return server.Wait()
}

// readyText says what to do next.
func readyText(server *hub.Server) string {
	next := "stopwhen submit CONFIG"
	if server.URL() != "nats://"+hub.DefaultListen {
		next += " --nats " + server.URL()
	}
	return fmt.Sprintf("hub is ready on %s and stores in %s; next: %s", server.URL(), server.Dir(), next)
}

// hubOptions returns the options of the hub for the flags.
func (a *app) hubOptions() (hub.Options, error) {
	h := a.flags.hub
	o := hub.Options{
		Dir: h.dir, Listen: h.listen, ConfigFile: h.config, User: h.user, TLSCert: h.tlsCert, TLSKey: h.tlsKey, TLSCA: h.tlsCA,
	}
	switch {
	case h.tokenEnv != "" && cmp.Or(h.user, h.passwordEnv) != "":
		return o, &usageError{"--token-env and --user cannot be used together"}
	case h.user != "" && h.passwordEnv == "":
		return o, &usageError{"--user requires --password-env"}
	case h.user == "" && h.passwordEnv != "":
		return o, &usageError{"--password-env requires --user"}
	case h.tlsCert == "" && cmp.Or(h.tlsKey, h.tlsCA) != "":
		return o, &usageError{"--tls-key and --tls-ca require --tls-cert"}
	case h.tlsCert != "" && h.tlsKey == "":
		return o, &usageError{"--tls-cert requires --tls-key"}
	}
	var err error
	if o.Token, err = a.secretFrom("--token-env", h.tokenEnv); err != nil {
		return o, err
	}
	o.Password, err = a.secretFrom("--password-env", h.passwordEnv)
	return o, err
}

// secretFrom returns the secret in the environment variable that a flag names, and hides
// it in everything that is printed.
func (a *app) secretFrom(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	secret := os.Getenv(name)
	if secret == "" {
		return "", &usageError{fmt.Sprintf("%s: the environment variable %s is not set", flag, name)}
	}
	a.redactor.Hide(secret)
	return secret, nil
}

// allowMemory lifts the limit on the heap that suits a run: the server holds an index of
// every message.
func allowMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
