package requests

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/secret"
)

// DescribesNoList reports whether a header has no effect on which items a list has: a credential, or a header about the
// client, the connection or the form of the response.
func DescribesNoList(name, text string) bool {
	return secret.IsHeader(name, text) || slices.Contains(withoutEffect, strings.ToLower(name))
}

var withoutEffect = []string{
	"accept", "accept-charset", "accept-encoding", "cache-control", "connection", "content-type", "dnt", "from", "keep-alive", "origin",
	"pragma", "prefer", "priority", "referer", "te", "traceparent", "tracestate", "upgrade-insecure-requests", "user-agent",
	"x-correlation-id", "x-request-id", "x-requested-with",
}
