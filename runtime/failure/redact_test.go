package failure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func hide(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }

func TestAnErrorWithoutSecretsStaysAsItIs(t *testing.T) {
	for _, err := range []error{
		nil, io.EOF, ErrTransient, errors.Join(io.EOF, io.ErrClosedPipe), fmt.Errorf("a: %w", io.EOF), Recovered("j", "oh no", nil),
	} {
		require.Equal(t, err, Redact(err, hide))
		if err != nil {
			require.Same(t, any(err), any(Redact(err, hide)))
		}
	}
}

func TestEveryCauseOfAnErrorIsRedacted(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: fmt.Errorf("s3cret: %w", context.DeadlineExceeded)}
	sent := &url.Error{Op: "Get", URL: "http://api.test/?key=s3cret", Err: dial}
	for name, err := range map[string]error{
		"an error of the run": &Error{Class: API, Job: "j", Partition: "p=s3cret", URL: "s3cret", Message: "s3cret", Hint: "s3cret", Err: sent},
		"an error of a sink":  fmt.Errorf("cannot write s3cret: %w", sent),
		"a list":              errors.Join(&Error{Class: API, Message: "a"}, sent, Recovered("j", errors.New("s3cret"), nil)),
		"two causes":          fmt.Errorf("%w, then %w", sent, &Error{Class: API, Message: "a"}),
		"a panic":             Recovered("j", sent, nil),
		"a cause alone":       &Error{Class: IO, Message: "cannot be written", Err: errors.New("s3cret")},
	} {
		t.Run(name, func(t *testing.T) {
			shown := Redact(err, hide)
			require.Equal(t, hide(err.Error()), shown.Error())
			for _, target := range []error{context.DeadlineExceeded, ErrAPI, ErrIO, ErrInternal, sent, io.EOF} {
				require.Equal(t, errors.Is(err, target), errors.Is(shown, target), "%v", target)
			}
			var was, is *net.OpError
			require.Equal(t, errors.As(err, &was), errors.As(shown, &is))
			require.Equal(t, was, is)
			require.Equal(t, ClassFor(err, API), ClassFor(shown, API))
			requireHidden(t, shown)
		})
	}
}

// requireHidden checks an error and all its causes.
func requireHidden(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err), "s3cret")
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, cause := range several.Unwrap() {
			requireHidden(t, cause)
		}
	}
	requireHidden(t, errors.Unwrap(err))
}

// An error of the run below another error is the redacted one.
func TestARedactedErrorOfTheRunIsFound(t *testing.T) {
	var failed *Error
	require.ErrorAs(t, Redact(fmt.Errorf("nightly: %w", &Error{Class: API, Message: "s3cret"}), hide), &failed)
	require.Equal(t, "***", failed.Message)
}

type broken struct{}

func (broken) Error() string { panic("s3cret") }

func TestAnErrorWhoseTextPanicsIsRedacted(t *testing.T) {
	requireHidden(t, Redact(errors.Join(io.EOF, broken{}), hide).(interface{ Unwrap() []error }).Unwrap()[1])
}
