package failure

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnErrorNamesPlaceRequestAndFixOnOneLine(t *testing.T) {
	for _, c := range []struct {
		name string
		err  *Error
		want string
	}{
		{"everything", &Error{Job: "users", Page: 2, Method: "GET", URL: "https://api.test/users", Message: "status 401", Hint: "check it"},
			"job users, page 2: GET https://api.test/users: status 401 (check it)"},
		{"before the first page", &Error{Job: "users", Message: "no base URL"}, "job users: no base URL"},
		{"rule", &Error{Job: "users", Page: 1, Op: "rule offset.short", Message: "no limit"}, "job users, page 1, rule offset.short: no limit"},
		{"rule without a job", &Error{Op: "rule a", Message: "b"}, "rule a: b"},
		{"other operation", &Error{Op: "read", Message: "b"}, "b"},
		{"address without a method", &Error{URL: "https://api.test/", Message: "b"}, "https://api.test/: b"},
		{"cause", &Error{Err: io.ErrUnexpectedEOF}, "unexpected EOF"},
		{"only a class", ErrTransient, "transient"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.err.Error()) })
	}
}

func TestAnErrorIsTheErrorOfItsClass(t *testing.T) {
	err := fmt.Errorf("run: %w", &Error{Class: IO, Message: "disk full", Err: io.ErrShortWrite})
	require.ErrorIs(t, err, ErrIO)
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.NotErrorIs(t, err, ErrAPI)
	require.NotErrorIs(t, err, &Error{Class: IO, Message: "other"})
}

func TestTheClassDecidesTheExitStatus(t *testing.T) {
	require.Zero(t, ExitStatus(nil))
	require.Equal(t, 1, ExitStatus(errors.New("other")))
	require.Equal(t, 1, ExitStatus(&Error{Class: "unknown"}))
	require.Equal(t, 4, ExitStatus(fmt.Errorf("run: %w", &Error{Class: Transient})))
	for i, class := range Classes() {
		want := i + 1
		if class == Cancelled {
			want = 130
		}
		require.Equal(t, want, class.ExitStatus(), class)
	}
}
