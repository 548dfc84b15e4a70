package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	monitored
	options               hub.Options // without the secrets
	tokenEnv, passwordEnv string
}

func newHub(a *app) *cobra.Command {
	c := &hubCommand{app: a, monitored: monitored{app: a}}
	cmd := &cobra.Command{
		Use:   "hub",
		Short: "Run the server for runs on many machines",
		Long: `Run a NATS server with JetStream, for teams without one. It stores the runs
that are submitted, the work that waits, and the items that workers obtained.
What it has acknowledged survives a crash and a loss of power. It ends with
status 0 on SIGINT or SIGTERM; start it again with the same directory, and all
runs continue.

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
	f.StringVar(&c.options.Listen, "listen", "", "`HOST:PORT` to listen on; port 0 is any free one (default "+hub.DefaultListen+")")
	f.StringVar(&c.options.Dir, "dir", "", "`DIR` of the store, created if it is missing (default "+hub.DefaultDir+")")
	f.StringVar(&c.options.ConfigFile, "config", "", "NATS configuration `FILE`; --listen and --dir override it")
	f.StringVar(&c.tokenEnv, "token-env", "", "`NAME` of an environment variable with the token that clients present")
	f.StringVar(&c.options.User, "user", "", "`NAME` of the user that clients log in as")
	f.StringVar(&c.passwordEnv, "password-env", "", "`NAME` of an environment variable with the password of --user")
	f.StringVar(&c.options.TLSCert, "tls-cert", "", "PEM `FILE` with the certificate of the hub")
	f.StringVar(&c.options.TLSKey, "tls-key", "", "PEM `FILE` with the key of --tls-cert")
	f.StringVar(&c.options.TLSCA, "tls-ca", "", "PEM `FILE` with authorities; clients need a certificate of one of them")
	c.metricsFlag(cmd)
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
	return c.logged(func(ctx context.Context, logger *slog.Logger) error {
		o.Logger = logger
		allowMemory()
		server, err := hub.Start(ctx, o)
		if err != nil {
			select {
			case <-ctx.Done():
				return nil // a signal arrived before the hub was ready
			default:
				return err
			}
		}
		stop, err := c.serveMetrics(logger, server.Health, newHubMetrics(server))
		if err != nil {
			server.Shutdown()
			return err
		}
		defer stop()
		go func() {
			<-ctx.Done()
			server.Shutdown()
		}()
		logger.Info(readyText(server), "event", "hub_ready", "hub_url", server.URL(), "listen", server.Addr(), "dir", server.Dir())
		return server.Wait()
	})
}

// readyText returns the message of a hub that is ready, with the next command.
func readyText(server *hub.Server) string {
	next := "stopwhen submit CONFIG"
	if server.URL() != "nats://"+hub.DefaultListen {
		next += " --nats " + server.URL()
	}
	return fmt.Sprintf("hub is ready on %s and stores in %s; next: %s", server.URL(), server.Dir(), next)
}

// hubOptions returns the options of the hub for the flags.
func (c *hubCommand) hubOptions() (hub.Options, error) {
	o := c.options
	err := refuse([]misuse{
		{c.tokenEnv != "" && cmp.Or(o.User, c.passwordEnv) != "", "--token-env and --user cannot be used together"},
		{o.User != "" && c.passwordEnv == "", "--user requires --password-env"},
		{o.User == "" && c.passwordEnv != "", "--password-env requires --user"},
		{o.TLSCert == "" && cmp.Or(o.TLSKey, o.TLSCA) != "", "--tls-key and --tls-ca require --tls-cert"},
		{o.TLSCert != "" && o.TLSKey == "", "--tls-cert requires --tls-key"},
	})
	if err := errors.Join(err, c.checkMetrics()); err != nil {
		return o, err
	}
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

// allowMemory lifts the limit on the heap that suits a run, since the server holds an index of every
// message, and lets garbage take half of the heap instead of all of it again.
func allowMemory() {
	const garbage = 50
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
