package hub

import (
	"errors"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// Usage counts what a hub holds. In a cluster of servers, it counts the runs and tasks that this server
// leads, so that the sums over all servers describe the cluster.
type Usage struct {
	Connections int   // number of clients
	Stored      int64 // size of everything stored on the disk of this server, in bytes
	Limit       int64 // maximum of Stored
	Accounts    []AccountUsage
}

// An AccountUsage counts the runs and tasks of an account of a hub.
type AccountUsage struct {
	Name    string
	Runs    int // number of runs that have not been deleted
	Waiting int // number of queued tasks that no worker has
	Running int // number of tasks that workers have, or that have failed and are tried again after a pause
}

// Health returns why the hub cannot serve its clients, or nil.
func (s *Server) Health() error {
	select {
	case <-s.ended:
		return errors.New("the hub has ended")
	default:
	}
	if h := s.nats.Healthz(&server.HealthzOptions{}); h.Error != "" {
		return errors.New(h.Error)
	}
	return nil
}

// Usage counts the contents of the hub.
func (s *Server) Usage() (Usage, error) {
	info, err := s.nats.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true, StreamLeaderOnly: true})
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Connections: s.nats.NumClients(), Stored: int64(info.Store), Limit: info.Config.MaxStore}
	for _, account := range info.AccountDetails {
		usage := AccountUsage{Name: account.Name}
		for _, stream := range account.Streams {
			usage.add(&stream)
		}
		u.Accounts = append(u.Accounts, usage)
	}
	return u, nil
}

// add adds the contents of a stream.
func (u *AccountUsage) add(stream *server.StreamDetail) {
	if store.HoldsRun(stream.Name) {
		u.Runs++
	}
	for _, queue := range stream.Consumer {
		if store.HoldsTasks(stream.Name, queue.Name) {
			u.Waiting += int(queue.NumPending)
			u.Running += queue.NumAckPending
		}
	}
}
