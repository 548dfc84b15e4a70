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
	c := &hubCommand{app: p}
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
		RunE: c.Run,
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "", "`HOST:PORT` to listen on; port 0 is any free one (default "+hub.DefaultListen+")")
	f.StringVar(&c.dir, "dir", "", "`DIR` of the store, created if it is missing (default "+hub.DefaultDir+")")
	f.StringVar(&c.config, "config", "", "NATS configuration `FILE`; --listen and --dir override it")
	f.StringVar(&c.tokenEnv, "token-env", "", "`NAME` of an environment variable with the token that clients present")
	f.StringVar(&c.user, "user", "", "`NAME` of the user that clients log in as")
	f.StringVar(&c.passwordEnv, "password-env", "", "`NAME` of an environment variable with the password of --user")
	f.StringVar(&c.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate of the hub")
	f.StringVar(&c.tlsKey, "tls-key", "", "PEM `FILE` with the key of --tls-cert")
	f.StringVar(&c.tlsCA, "tls-ca", "", "PEM `FILE` with authorities; clients need a certificate of one of them")
	c.logFlags.register(cmd, "log details")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// Run runs a hub until a signal arrives.
func (c *hubCommand) Run(*cobra.Command, []string) error {
	o, err := c.hubOptions()
	if err != nil {
		return err
	}
	logger, closeLog, err := c.openLog(nil, false)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Logger = logger
	allowMemory()
	ctx, stop := c.catchSignals()
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
func (c *hubCommand) hubOptions() (hub.Options, error) {
	o := hub.Options{
		Dir: c.dir, Listen: c.listen, ConfigFile: c.config, User: c.user, TLSCert: c.tlsCert, TLSKey: c.tlsKey, TLSCA: c.tlsCA,
	}
	switch {
	case c.tokenEnv != "" && cmp.Or(c.user, c.passwordEnv) != "":
		return o, &usageError{"--token-env and --user cannot be used together"}
	case c.user != "" && c.passwordEnv == "":
		return o, &usageError{"--user requires --password-env"}
	case c.user == "" && c.passwordEnv != "":
		return o, &usageError{"--password-env requires --user"}
	case c.tlsCert == "" && cmp.Or(c.tlsKey, c.tlsCA) != "":
		return o, &usageError{"--tls-key and --tls-ca require --tls-cert"}
	case c.tlsCert != "" && c.tlsKey == "":
		return o, &usageError{"--tls-cert requires --tls-key"}
	}
	var err error
	if o.Token, err = c.secretFrom("--token-env", c.tokenEnv); err != nil {
		return o, err
	}
	o.Password, err = c.secretFrom("--password-env", c.passwordEnv)
	return o, err
}

// secretFrom returns the secret in the environment variable that a flag names, and hides
// it in everything that is printed.
func (c *hubCommand) secretFrom(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	secret := os.Getenv(name)
	if secret == "" {
		return "", &usageError{fmt.Sprintf("%s: the environment variable %s is not set", flag, name)}
	}
	c.redactor.Hide(secret)
	return secret, nil
}

// allowMemory lifts the limit on the heap that suits a run: the server holds an index of
// every message.
func allowMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
