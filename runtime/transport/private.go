package transport

import "context"

type contextKey int

const withoutRecording contextKey = iota

// WithoutRecording marks the requests of a context as private: what they send and receive
// are credentials, which must not be recorded.
func WithoutRecording(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRecording, true)
}

// Recordable reports whether a transport may record a request of this context.
func Recordable(ctx context.Context) bool { return ctx.Value(withoutRecording) == nil }
