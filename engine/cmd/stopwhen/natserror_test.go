package main

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
