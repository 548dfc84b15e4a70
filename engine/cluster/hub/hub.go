// Package hub runs a NATS server with JetStream inside a program, for a team that has
// no NATS. It alone imports the server: a program that submits, works or collects links
// only the client.
//
// The store is synchronized with the disk on every write, so that acknowledged data survive a power
// loss.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Defaults of the [Options].
const (
	DefaultListen = "127.0.0.1:4222" // address that a hub listens on
	DefaultDir    = "stopwhen-hub"   // directory of a hub, relative to the working directory
)

// Options configure a hub. The zero Options are valid.
type Options struct {
	// Dir is the directory of the store, which is created if it is missing. If it is empty, the hub
	// uses the store_dir of the configuration file, or else [DefaultDir].
	Dir string
	// Listen is the address to listen on, as host:port; port 0 is any free port. If it is empty,
	// the hub uses the address of the configuration file, or else [DefaultListen]. An address other
	// than a loopback address requires that clients authenticate.
	Listen string
	// ConfigFile is the path of a configuration file of the NATS server, with accounts, users, TLS
	// and clusters. Its logging options are ignored. It may be empty.
	ConfigFile string
	// User and Password, or Token, are the credentials of clients. If they are empty, the
	// configuration file decides.
	User, Password, Token string
	// TLSCert and TLSKey are PEM files. If they are empty, the configuration file decides.
	TLSCert, TLSKey string
	// TLSCA is a PEM file with the authorities whose certificates clients must present. If it is
	// empty, clients need no certificates.
	TLSCA string
	// Logger receives the log of the server: its activity on level debug, and its warnings and
	// errors on their own levels. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// A Server is a running hub.
type Server struct {
	nats   *server.Server
	dir    string
	lock   *flock.Flock
	broken <-chan string // has the reason when a stream can no longer be written
	ended  chan struct{} // closed after the server has ended
	err    error         // reason why the server has ended by itself; valid after ended is closed

	shutdown sync.Once
}

// Start starts a hub, and returns when it accepts connections. The context bounds only the start.
// Errors are of type [*failure.Error]: class config for options, addresses and configuration
// files, io for the directory, and state if another hub uses it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	serverOptions, err := o.serverOptions()
	if err != nil {
		return nil, err
	}
	dir := serverOptions.StoreDir // a copy, because the server changes serverOptions.StoreDir
	lock, err := prepareStore(dir)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, serverOptions, logger(o.Logger))
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s.dir, s.lock = dir, lock
	go s.watch()
	return s, nil
}

// start starts a server, and waits until it is ready or has failed. Recovering a large
// store takes a while.
func start(ctx context.Context, o *server.Options, log *slog.Logger) (*Server, error) {
	ns, err := server.NewServer(o)
	if err != nil {
		return nil, &failure.Error{Class: failure.Config, Op: "hub", Message: "cannot start the hub: " + err.Error(), Err: err}
	}
	fatal, broken := make(chan error, 1), make(chan string, 1)
	ns.SetLogger(&natsLogger{log: log, fatal: fatal, broken: broken, fromFile: o.ConfigFile != ""}, false, false)
	go ns.Start()
	const interval = 100 * time.Millisecond
	for !ns.ReadyForConnections(interval) {
		select {
		case err = <-fatal:
			err = startError(err, o)
		case <-ctx.Done():
			err = interrupted(ctx)
		default:
			continue
		}
		ns.Shutdown()
		ns.WaitForShutdown()
		return nil, err
	}
	return &Server{nats: ns, broken: broken, ended: make(chan struct{})}, nil
}

func interrupted(ctx context.Context) error {
	return &failure.Error{Class: failure.Cancelled, Op: "hub", Message: "interrupted before the hub was ready", Err: context.Cause(ctx)}
}

// startError explains why a server did not start.
func startError(err error, o *server.Options) error {
	failed := &failure.Error{Class: failure.Config, Op: "hub", Message: "cannot start the hub: " + err.Error(), Err: err}
	address := net.JoinHostPort(o.Host, fmt.Sprint(max(o.Port, 0)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		failed.Message = "cannot listen on " + address + ": another program uses this address"
		failed.Hint = "listen on another port, or end the other program; a hub that already runs can be used by everybody"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		failed.Message = "cannot listen on " + address + ": this machine does not have the address"
	case errors.Is(err, syscall.EACCES) && errors.As(err, new(*net.OpError)):
		failed.Message = "cannot listen on " + address + ": permission denied"
		failed.Hint = "listen on a port above 1023"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return storeError(o.StoreDir, err)
	}
	return failed
}

// URL returns the address of the hub for programs on this machine, such as nats://127.0.0.1:4222.
// It has no credentials.
func (s *Server) URL() string {
	u, err := url.Parse(s.nats.ClientURL())
	if err != nil {
		return s.nats.ClientURL()
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String()
}

// Addr returns the address that the hub listens on, as host:port.
func (s *Server) Addr() string { return s.nats.Addr().String() }

// Dir returns the directory of the store.
func (s *Server) Dir() string { return s.dir }

// Wait waits until the hub has ended. It returns nil after [Server.Shutdown], and an error
// of class io if the server has ended by itself, since its store can no longer be written.
func (s *Server) Wait() error {
	<-s.ended
	return s.err
}

// Shutdown ends the hub, and waits until its store is closed. Clients reconnect when a
// hub is started with the same address and directory, and nothing stored is lost.
func (s *Server) Shutdown() {
	s.end(nil)
	<-s.ended
}

// end ends the server once; the first reason counts.
func (s *Server) end(reason error) {
	s.shutdown.Do(func() {
		s.err = reason
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
		if err := s.lock.Unlock(); s.err == nil {
			s.err = err
		}
		close(s.ended)
	})
}

// watch ends the hub when its store can no longer be written, for example because the disk is
// full: clients would otherwise wait for answers in vain.
func (s *Server) watch() {
	const interval = time.Second
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		why := "the server has disabled it; its log says why"
		select {
		case <-s.ended:
			return
		case why = <-s.broken:
		case <-tick.C:
			if s.nats.JetStreamEnabled() {
				continue
			}
		}
		s.end(&failure.Error{
			Class: failure.IO, Op: "hub", Message: "the store in " + s.Dir() + " cannot be written any more: " + why,
			Hint: "if the disk is full, free some space; then start the hub again: nothing that it acknowledged is lost, and workers go on",
		})
		return
	}
}

// Files of a hub in its directory, next to the files of the server.
const (
	lockName  = "hub.lock"
	probeName = "hub.probe"
)

// probeBytes is the free space that a hub needs to start.
const probeBytes = 1 << 20

// prepareStore creates the directory of a store, locks it for this hub, and checks that
// it can be written.
func prepareStore(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError(dir, err)
	}
	lock := flock.New(filepath.Join(dir, lockName))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, storeError(dir, errors.Join(err, lock.Close()))
	}
	if !locked {
		_ = lock.Close()
		return nil, &failure.Error{
			Class: failure.State, Op: "hub", Message: "the directory " + dir + " is in use by another hub",
			Hint: "end that hub, use it, or start this one with another directory",
		}
	}
	if err := probe(filepath.Join(dir, probeName)); err != nil {
		return nil, storeError(dir, errors.Join(err, lock.Unlock()))
	}
	return lock, nil
}

// probe creates a file, writes it, and removes it again. It follows no symbolic link. The directory is
// locked, so only a hub that was killed can have left a file of the same name.
func probe(path string) error {
	_ = os.Remove(path) // if that fails, the next line does, too
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, probeBytes))
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(path))
}

// storeError explains why the directory of a store cannot be used.
func storeError(dir string, err error) error {
	failed := &failure.Error{Class: failure.IO, Op: "hub", Message: "cannot use the directory " + dir + ": " + err.Error(), Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		failed.Message = "the disk of the directory " + dir + " is full"
		failed.Hint = "free some space, or use a directory on another disk"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		failed.Message = dir + " is not a directory"
	case errors.Is(err, fs.ErrPermission):
		failed.Message = "the directory " + dir + " cannot be written: permission denied"
		failed.Hint = "use another directory, or run the hub as the user that owns it"
	}
	return failed
}
