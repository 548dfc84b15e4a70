package store

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// defaultReplicas is the number of servers of a cluster that hold a stream.
const defaultReplicas = 3

// Replicas returns the number of servers that hold a new run.
func (s *Store) Replicas() int {
	switch {
	case s.options.Replicas > 0:
		return s.options.Replicas
	case s.nc.ConnectedClusterName() != "":
		return defaultReplicas
	}
	return 1
}

// queueReplicas returns the number of servers that hold the queue, and so the buckets.
func (s *Store) queueReplicas() int {
	if known, ok := s.streams.Load(workStream); ok {
		if stream, ok := known.(jetstream.Stream); ok {
			return max(stream.CachedInfo().Config.Replicas, 1)
		}
	}
	return s.Replicas()
}

// raiseReplicas raises the number of servers that hold the queue and the buckets, if a new run asks for
// more: the run would stop with the server that holds them.
func (s *Store) raiseReplicas(ctx context.Context) error {
	want := s.Replicas()
	if s.queueReplicas() >= want {
		return nil
	}
	for _, name := range []string{
		bucketStream + configBucket, bucketStream + runBucket, bucketStream + paceBucket, bucketStream + workerBucket, workStream,
	} {
		err := s.retry(ctx, "raise the replicas of "+name, name, func(ctx context.Context) error {
			stream, err := s.js.Stream(ctx, name)
			if err != nil {
				return err
			}
			config := stream.CachedInfo().Config
			if config.Replicas < want {
				config.Replicas = want
				stream, err = s.js.UpdateStream(ctx, config)
			}
			if err == nil {
				s.streams.Store(name, stream)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
