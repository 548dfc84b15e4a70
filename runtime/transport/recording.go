package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/requests"
)

type contextKey int

const (
	withoutRecording contextKey = iota
	credentialNames
)

// WithoutRecording marks the requests of a context as private, because they send or receive
// credentials.
func WithoutRecording(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRecording, true)
}

// Recordable reports whether a transport may record a request.
func Recordable(r *http.Request) bool { return r.Context().Value(withoutRecording) == nil }

// hiddenCredential replaces a credential in a recording.
const hiddenCredential = "***"

// Recorded returns the address and the headers of a request for a recording: without the values
// that [Credentials.Sign] has computed, such as signatures, which no redactor knows.
func Recorded(r *http.Request) (address string, header http.Header) {
	names, _ := r.Context().Value(credentialNames).([]string)
	if names == nil {
		return r.URL.String(), r.Header
	}
	header = r.Header.Clone()
	var query []string
	for p := range requests.Params(r.URL.RawQuery) {
		if name, _, hasValue := strings.Cut(p.Text, "="); hasValue && slices.Contains(names, p.Name) {
			p.Text = name + "=" + hiddenCredential
		}
		query = append(query, p.Text)
	}
	for _, name := range names {
		if header.Get(name) != "" {
			header.Set(name, hiddenCredential)
		}
	}
	shown := *r.URL
	shown.RawQuery = strings.Join(query, "&")
	return shown.String(), header
}
