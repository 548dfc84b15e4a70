package pace

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// Reason returns the message of an error of the NATS client, for people. Clients that do not
// buffer call a broken connection a buffer that is full.
func Reason(err error) string {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return "the connection to the NATS server is interrupted"
	}
	return err.Error()
}
