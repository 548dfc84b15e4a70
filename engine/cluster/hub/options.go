package hub

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Sizes that a configuration file may override. A page larger than a message is stored in several
// messages; fewer messages are faster.
const (
	maxPayload      = 8 << 20
	maxPendingBytes = 16 * maxPayload // bytes that may wait for a slow client before it is disconnected
)

// serverOptions returns the options of the server: the configuration file with defaults for
// missing options.
func (o *Options) serverOptions() (*server.Options, error) {
	so := &server.Options{}
	if o.ConfigFile != "" {
		var err error
		if so, err = readConfig(o.ConfigFile); err != nil {
			return nil, err
		}
	}
	for _, set := range []func(*server.Options) error{o.setStore, o.setAuthentication, o.setTLS, o.setAddress, o.setCluster} {
		if err := set(so); err != nil {
			return nil, err
		}
	}
	so.MaxPayload = cmp.Or(so.MaxPayload, maxPayload)
	so.MaxPending = cmp.Or(so.MaxPending, max(maxPendingBytes, int64(so.MaxPayload)))
	so.NoSigs = true // the program handles signals
	return so, nil
}

// readConfig reads a configuration file of the server.
func readConfig(path string) (*server.Options, error) {
	so, err := server.ProcessConfigFile(path)
	if err != nil {
		return nil, optionError(fmt.Sprintf("invalid NATS configuration %s: %s", path, oneLine(err)), "")
	}
	values, err := conf.ParseFile(path)
	if err != nil {
		return nil, optionError(fmt.Sprintf("invalid NATS configuration %s: %s", path, oneLine(err)), "")
	}
	for name := range values {
		if strings.EqualFold(name, "jetstream") && !so.JetStream {
			return nil, optionError(path+" disables JetStream, which a hub needs", `remove "jetstream" from the file, or enable it`)
		}
	}
	return so, nil
}

// oneLine returns the messages of an error on one line.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}

// setStore sets where and how JetStream stores.
func (o *Options) setStore(so *server.Options) error {
	so.StoreDir = cmp.Or(o.Dir, so.StoreDir, DefaultDir)
	so.JetStream, so.DisableJetStreamBanner = true, true
	if so.SyncInterval == 0 {
		so.SyncAlways = true
	}
	if !so.SyncAlways {
		logger(o.Logger).Warn(fmt.Sprintf("%s sets sync_interval to %v: a crash of this machine loses pages that were acknowledged; "+
			`set it to "always"`, o.ConfigFile, so.SyncInterval), "event", "hub_unsafe")
	}
	return nil
}

// setAuthentication sets the credentials that clients need.
func (o *Options) setAuthentication(so *server.Options) error {
	if o.User == "" && o.Password == "" && o.Token == "" {
		return nil
	}
	switch {
	case o.User != "" && o.Token != "":
		return optionError("a hub has either a user and a password, or a token", "")
	case (o.User == "") != (o.Password == ""):
		return optionError("a user needs a password, and a password a user", "")
	case authenticates(so):
		return optionError(o.ConfigFile+" already says how clients authenticate", "set users and tokens in one place")
	}
	so.Username, so.Password, so.Authorization = o.User, o.Password, o.Token
	return nil
}

// authenticates reports whether clients must authenticate.
func authenticates(so *server.Options) bool {
	return so.Username != "" || so.Authorization != "" || len(so.Users) > 0 || len(so.Nkeys) > 0 ||
		len(so.TrustedOperators) > 0 || len(so.TrustedKeys) > 0 || so.AuthCallout != nil || so.TLSVerify || so.TLSMap
}

// setTLS sets the certificates.
func (o *Options) setTLS(so *server.Options) error {
	if o.TLSCert == "" && o.TLSKey == "" && o.TLSCA == "" {
		return nil
	}
	switch {
	case o.TLSCert == "" || o.TLSKey == "":
		return optionError("TLS needs a certificate and its key", "")
	case so.TLSConfig != nil:
		return optionError(o.ConfigFile+" already has a section tls", "set certificates in one place")
	}
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: o.TLSCert, KeyFile: o.TLSKey, CaFile: o.TLSCA, Verify: o.TLSCA != "",
	})
	if err != nil {
		return optionError("cannot use the certificates: "+err.Error(), "")
	}
	so.TLS, so.TLSConfig, so.TLSVerify, so.TLSCaCert = true, config, o.TLSCA != "", o.TLSCA
	so.TLSTimeout = cmp.Or(so.TLSTimeout, server.TLS_TIMEOUT.Seconds())
	return nil
}

// setAddress sets the address that the server listens on. Without authentication, only programs on
// this machine may connect.
func (o *Options) setAddress(so *server.Options) error {
	host, port, err := splitAddress(cmp.Or(o.Listen, DefaultListen))
	if err != nil {
		return err
	}
	if o.Listen != "" || so.Host == "" {
		so.Host = host
	}
	if o.Listen != "" || so.Port == 0 {
		so.Port = port
	}
	if isLoopback(so.Host) {
		return nil
	}
	if !authenticates(so) {
		return optionError("everybody who reaches "+so.Host+" could read and delete all runs: the hub does not authenticate its clients",
			"listen on 127.0.0.1, or set a token, a user and a password, or a configuration file with users")
	}
	if so.TLSConfig == nil {
		logger(o.Logger).Warn("clients that connect to "+so.Host+" send their credentials and items unencrypted; set a certificate for TLS",
			"event", "hub_unsafe")
	}
	return nil
}

// setCluster lets the hub join a cluster with the credentials that it demands of the others, so that the addresses in
// a file hold no password. It warns if everybody may join.
func (o *Options) setCluster(so *server.Options) error {
	secret := so.Cluster.Username != "" || so.Cluster.TLSConfig != nil
	for _, route := range so.Routes {
		if route.User == nil && so.Cluster.Username != "" {
			route.User = url.UserPassword(so.Cluster.Username, so.Cluster.Password)
		}
	}
	if so.Cluster.Port != 0 && !isLoopback(so.Cluster.Host) && !secret {
		logger(o.Logger).Warn("every server that reaches "+so.Cluster.Host+" can join the cluster, and read and delete all runs; "+
			`set "authorization" or "tls" in "cluster" of `+o.ConfigFile, "event", "hub_unsafe")
	}
	return nil
}

// splitAddress splits host:port. An empty host means every address of this machine, and port 0 any
// free port.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, optionError(fmt.Sprintf("want an address such as %s, got %q", DefaultListen, address), "")
	}
	const largest = 65535
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > largest {
		return "", 0, optionError(fmt.Sprintf("want a port from 0 to %d, got %q", largest, text), "")
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return cmp.Or(host, "0.0.0.0"), port, nil
}

// isLoopback reports whether a host can be reached only from this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func optionError(message, hint string) error {
	return &failure.Error{Class: failure.Config, Op: "hub", Message: message, Hint: hint}
}
