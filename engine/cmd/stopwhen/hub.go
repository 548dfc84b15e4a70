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

// A hubCommand is stopwhen hub. Secrets are in environment variables, since
// every user of a machine can read its command lines.
type hubCommand struct {
	*app
	listen, dir, config         string
	tokenEnv, user, passwordEnv string
	tlsCert, tlsKey, tlsCA      string
}

func newHub(p *app) *cobra.Command {
	a := &hubCommand{app: p}
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
		RunE: a.Run,
	}
	f := cmd.Flags()
	f.StringVar(&a.listen, "listen", "", "`HOST:PORT` to listen on; port 0 is any free one (default "+hub.DefaultListen+")")
	f.StringVar(&a.dir, "dir", "", "`DIR` of the store, created if it is missing (default "+hub.DefaultDir+")")
	f.StringVar(&a.config, "config", "", "NATS configuration `FILE`; --listen and --dir override it")
	f.StringVar(&a.tokenEnv, "token-env", "", "`NAME` of an environment variable with the token that clients present")
	f.StringVar(&a.user, "user", "", "`NAME` of the user that clients log in as")
	f.StringVar(&a.passwordEnv, "password-env", "", "`NAME` of an environment variable with the password of --user")
	f.StringVar(&a.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate of the hub")
	f.StringVar(&a.tlsKey, "tls-key", "", "PEM `FILE` with the key of --tls-cert")
	f.StringVar(&a.tlsCA, "tls-ca", "", "PEM `FILE` with authorities; clients need a certificate of one of them")
	a.logFlags.register(cmd, "log details")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// Run runs a hub until a signal arrives.
func (a *hubCommand) Run(*cobra.Command, []string) error {
	o, err := a.hubOptions()
	if err != nil {
		return err
	}
	logger, closeLog, err := a.openLog(nil, false)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger = logger
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
func (a *hubCommand) hubOptions() (hub.Options, error) {
	o := hub.Options{
		Dir: a.dir, Listen: a.listen, ConfigFile: a.config, User: a.user, TLSCert: a.tlsCert, TLSKey: a.tlsKey, TLSCA: a.tlsCA,
	}
	switch {
	case a.tokenEnv != "" && cmp.Or(a.user, a.passwordEnv) != "":
		return o, &usageError{"--token-env and --user cannot be used together"}
	case a.user != "" && a.passwordEnv == "":
		return o, &usageError{"--user requires --password-env"}
	case a.user == "" && a.passwordEnv != "":
		return o, &usageError{"--password-env requires --user"}
	case a.tlsCert == "" && cmp.Or(a.tlsKey, a.tlsCA) != "":
		return o, &usageError{"--tls-key and --tls-ca require --tls-cert"}
	case a.tlsCert != "" && a.tlsKey == "":
		return o, &usageError{"--tls-cert requires --tls-key"}
	}
	var err error
	if o.Token, err = a.secretFrom("--token-env", a.tokenEnv); err != nil {
		return o, err
	}
	o.Password, err = a.secretFrom("--password-env", a.passwordEnv)
	return o, err
}

// secretFrom returns the secret in the environment variable that a flag names, and hides
// it in everything that is printed.
func (a *hubCommand) secretFrom(flag, name string) (string, error) {
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
