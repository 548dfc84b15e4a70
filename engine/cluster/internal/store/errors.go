package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Errors that callers test for.
var (
	ErrLost     = errors.New("another worker has continued the task")
	ErrDeleted  = errors.New("the run has been deleted, or was never submitted")
	ErrConflict = errors.New("the record has been changed in the meantime")
	ErrNoQueue  = errors.New("the run has no queue")
	ErrEmpty    = errors.New("nothing has been submitted yet") // the user may not create the streams either
)

// JetStream error codes that the client does not name.
const (
	codeAccountResources  jetstream.ErrorCode = 10002
	codeInsufficient      jetstream.ErrorCode = 10023
	codeMemoryResources   jetstream.ErrorCode = 10028
	codeStorageResources  jetstream.ErrorCode = 10047
	codeMessageTooLarge   jetstream.ErrorCode = 10054
	codeWrongLast         jetstream.ErrorCode = 10071
	codeNoPeers           jetstream.ErrorCode = 10005
	codeReplicas          jetstream.ErrorCode = 10074
	codeStoreFailed       jetstream.ErrorCode = 10077
	codeHeaderTooLarge    jetstream.ErrorCode = 10097
	codeStorageLimit      jetstream.ErrorCode = 10120
	codeWrongLastReplicas jetstream.ErrorCode = 10164
	codeNoTTL             jetstream.ErrorCode = 10166
	codeTooManyRequests   jetstream.ErrorCode = 10167
	codeNoBatches         jetstream.ErrorCode = 10174
	codeBatchIncomplete   jetstream.ErrorCode = 10176
	codeBatchesInFlight   jetstream.ErrorCode = 10210
)

// codeOf returns the code of a JetStream error, or 0.
func codeOf(err error) jetstream.ErrorCode {
	_, code := apiErrorOf(err)
	return code
}

// apiErrorOf returns the status and the code of a JetStream error, or zeros. Watches of buckets return errors of
// the older API of the client.
func apiErrorOf(err error) (status int, code jetstream.ErrorCode) {
	if api, ok := errors.AsType[jetstream.JetStreamError](err); ok && api.APIError() != nil {
		return api.APIError().Code, api.APIError().ErrorCode
	}
	if older, ok := errors.AsType[nats.JetStreamError](err); ok && older.APIError() != nil {
		return older.APIError().Code, jetstream.ErrorCode(older.APIError().ErrorCode)
	}
	return 0, 0
}

// isFull reports whether a page was refused because a limit of the stream, the account or the disk
// has been reached.
func isFull(err error) bool {
	switch codeOf(err) {
	case codeStoreFailed:
		return !strings.Contains(err.Error(), "message size") // the error for a message that is too large has the same code, but does not go away
	case codeInsufficient, codeMemoryResources, codeStorageResources, codeAccountResources, codeStorageLimit:
		return true
	}
	return false
}

// isTemporary reports whether the same request may succeed a little later.
func isTemporary(err error) bool {
	for _, temporary := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		nats.ErrConnectionReconnecting, nats.ErrStaleConnection, nats.ErrNoServers, jetstream.ErrNoHeartbeat, jetstream.ErrServerShutdown,
		jetstream.ErrNoStreamResponse, // no server of a cluster leads the stream for now
		jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerLeadershipChanged,
		errMissed,
		jetstream.ErrStreamNameAlreadyInUse, jetstream.ErrBucketExists, jetstream.ErrConsumerExists, // another process was faster
	} {
		if errors.Is(err, temporary) {
			return true
		}
	}
	if errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) { // the connection broke during a write
		return true
	}
	status, code := apiErrorOf(err)
	switch code {
	case codeWrongLastReplicas, codeTooManyRequests, codeBatchIncomplete, codeBatchesInFlight:
		return true
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount, 0:
		return false
	}
	return status == http.StatusServiceUnavailable
}

// errEmptied means that the streams that every program needs are gone.
var errEmptied = &failure.Error{Class: failure.State, Op: "store",
	Message: "the NATS server no longer has the runs: it was started with another directory, or its streams were deleted",
	Hint:    "start it with the directory that it had, or submit the runs again",
}

// ErrReplaced means that a run no longer has the pages that were read.
var ErrReplaced = &failure.Error{Class: failure.State, Op: "store",
	Message: "the NATS server no longer has all pages that were read: it lost the last ones, or was restored from an older copy",
	Hint:    "submit the run again, with its id, which queues what is missing, and collect it from the beginning",
}

func interrupted(ctx context.Context) error {
	return &failure.Error{Class: failure.Cancelled, Op: "store", Message: "interrupted", Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}

func silent(what string, waited time.Duration, err error) error {
	return &failure.Error{
		Class: failure.Transient, Op: "store", Err: err,
		Message: fmt.Sprintf("%s: the NATS server has not answered for %s: %s", what, waited.Round(time.Second), Reason(err)),
		Hint:    "check that the server runs and can be reached",
	}
}

// A cause explains why the server refused a request, and suggests a remedy.
type cause struct {
	class         failure.Class
	message, hint string // the hint may have a verb for [remedy.Replicas]
}

// causes maps error codes to causes. Other errors are printed unchanged.
var causes = map[jetstream.ErrorCode]cause{
	jetstream.JSErrCodeJetStreamNotEnabled: {failure.Config, "the NATS server does not have JetStream enabled",
		"enable JetStream in the configuration of the server"},
	jetstream.JSErrCodeJetStreamNotEnabledForAccount: {failure.Config, "the account of the NATS user does not have JetStream enabled",
		"enable JetStream for the account, or connect with another user"},
	codeMessageTooLarge: {failure.IO, "the message is larger than the stream allows", "remove max_msg_size from the stream"},
	codeHeaderTooLarge:  {failure.Internal, "the headers of a message are too large", ""},
	codeNoPeers: {failure.Config, "fewer servers of the NATS cluster are running than the run has replicas",
		"start the others, or use %s with a smaller number"},
	codeReplicas:         {failure.Config, "the NATS server is not in a cluster, and cannot keep replicas", "use %s with 1"},
	codeNoBatches:        {failure.Config, "the stream does not allow atomic batches", "set allow_atomic for the stream"},
	codeStoreFailed:      {failure.IO, "the stream is full, or cannot be written", "raise its limit, or delete runs that are not needed"},
	codeInsufficient:     {failure.IO, "the NATS server has no room left", "free disk space, raise its limits, or delete runs"},
	codeMemoryResources:  {failure.IO, "the NATS server has no memory left for streams", "raise max_memory_store of the server"},
	codeStorageResources: {failure.IO, "the NATS server has no room left", "raise max_file_store of the server, or delete runs"},
	codeAccountResources: {failure.IO, "the account has no room left", "raise the limits of the account, or delete runs"},
	codeStorageLimit:     {failure.Config, "the account has no limits for storage, which JetStream requires", "set them for the account"},
	jetstream.JSErrCodeMaximumConsumersLimit: {failure.IO, "the stream has as many consumers as it may have",
		"raise max_consumers of the stream"},
}

// explain returns an error of the server as an error with a hint.
func explain(what string, err error) error {
	switch denied, isDenial := errors.AsType[*denial](err); {
	case isDenial:
		return denied.explain(what)
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, ErrDeleted):
		return ErrDeleted
	case errors.Is(err, ErrLost), errors.Is(err, ErrConflict), errors.As(err, new(*failure.Error)):
		return err
	}
	if c, ok := causes[codeOf(err)]; ok {
		failed := &failure.Error{Class: c.class, Op: "store", Message: what + ": " + c.message + ": " + err.Error(), Hint: c.hint, Err: err}
		if strings.Contains(c.hint, "%s") {
			return failed.WithRemedy(c.hint, remedy.Replicas)
		}
		return failed
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return &failure.Error{Class: failure.Transient, Op: "store", Message: what + ": the connection to the NATS server was closed", Err: err}
	}
	return &failure.Error{Class: failure.IO, Op: "store", Message: what + ": " + err.Error(), Err: err}
}

// Reason returns the message of a NATS client error for users. A client without a buffer reports a
// broken connection as a full buffer.
func Reason(err error) string {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return "the connection to the NATS server is interrupted"
	}
	return err.Error()
}

// A denial is a missing permission of the user. The server does not answer the request, but
// reports the denial to the connection.
type denial struct {
	subject string
	receive bool // the user may not subscribe to the subject; if false, the user may not publish to it
}

func (d *denial) Error() string {
	if d.receive {
		return "the NATS user may not subscribe to " + d.subject
	}
	return "the NATS user may not publish to " + d.subject
}

// explain returns the error of the denied operation.
func (d *denial) explain(what string) error {
	failed := &failure.Error{Class: failure.Config, Op: "store", Message: what + ": " + d.Error(), Err: d,
		Hint: "give the user this permission, or connect with another user"}
	if _, stream, creates := strings.Cut(d.subject, ".STREAM.CREATE."); creates {
		failed.Message = "nothing has been submitted yet: the stream " + stream + " does not exist, and " + d.Error()
		failed.Hint = "submit a run first, with a user who may create streams"
		failed.Err = errors.Join(d, ErrEmpty)
	}
	return failed
}

var deniedSubject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)violation for (publish|subscription) to "([^"]+)"`)
})

// denialOf returns the denial reported by a connection error, or nil if the error is another one.
func denialOf(err error) *denial {
	found := deniedSubject().FindStringSubmatch(err.Error())
	if found == nil {
		return nil
	}
	return &denial{subject: found[2], receive: strings.EqualFold(found[1], "subscription")}
}

// isAbout reports whether the subject of a denial belongs to a stream, as a subject of its
// messages or of requests about it.
func (d *denial) isAbout(stream string) bool {
	messages := workSubject
	if bucket, ok := strings.CutPrefix(stream, bucketStream); ok {
		messages = "$KV." + bucket + "."
	} else if run, ok := strings.CutPrefix(stream, runStream); ok {
		messages = pageSubject + run + "."
	}
	return stream != "" && strings.Contains(d.subject, messages) || slices.Contains(strings.Split(d.subject, "."), stream)
}
