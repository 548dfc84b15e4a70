package requests

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// MaxURLBytes is the length of the longest address that is requested or read.
const MaxURLBytes = 8 << 10

// A LengthError says that something is longer than is allowed.
type LengthError struct {
	What  string // "the URL"
	Limit int    // bytes
}

// Error returns the limit.
func (e *LengthError) Error() string {
	return fmt.Sprintf("%s is longer than %d bytes", e.What, e.Limit)
}

// CheckURLLength refuses an address that is longer than [MaxURLBytes]. Its error is a
// [*LengthError].
func CheckURLLength(address string) error {
	if len(address) <= MaxURLBytes {
		return nil
	}
	return &LengthError{What: "the URL", Limit: MaxURLBytes}
}

// A Base is an address that others are resolved against. It was parsed once, since nearly
// all addresses of a run are resolved against the same one.
type Base struct {
	text string
	url  *url.URL // nil: text is not an address, or empty
}

// NewBase returns the base with a text, which need not be an address.
func NewBase(text string) Base {
	u, err := url.Parse(text)
	if err != nil {
		u = nil
	}
	return Base{text, u}
}

// String returns the address as it was given.
func (b Base) String() string { return b.text }

// Resolve resolves an address against a base (RFC 3986). It drops the base's own
// query and both fragments. An address that is longer than [MaxURLBytes] is a
// [*LengthError].
func Resolve(base, ref string) (string, error) { return NewBase(base).Resolve(ref) }

// Resolve is the function of this name, with b as the base.
func (b Base) Resolve(ref string) (string, error) {
	if err := CheckURLLength(ref); err != nil {
		return "", err
	}
	base := b.url
	switch {
	case base == nil && b.text == "":
		base = &url.URL{}
	case base == nil:
		return "", fmt.Errorf("not an address: %s", value.Clip(b.text, 80))
	}
	to, err := url.Parse(escapeIllegal(ref))
	if err != nil {
		return "", fmt.Errorf("not an address: %s", value.Clip(ref, 80))
	}
	if to.Scheme == "" && to.Host == "" && to.Path == "" {
		to.Path = base.Path // "?page=2" keeps the path, and "#f" the query
		if to.RawQuery == "" && !to.ForceQuery {
			to.RawQuery = base.RawQuery
		}
	}
	out := base.ResolveReference(to)
	if out.Path == "" {
		out.Path = "/"
	}
	out.Fragment, out.RawFragment, out.ForceQuery = "", "", false
	return out.String(), nil
}

// escapeIllegal percent-encodes the characters that an address must not have:
// spaces, control characters, quotes, everything beyond ASCII, and a percent sign
// that does not begin an escape.
func escapeIllegal(ref string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		escaped := c == '%' && i+2 < len(ref) && isHex(ref[i+1]) && isHex(ref[i+2])
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 || c == '%' && !escaped {
			fmt.Fprintf(&b, "%s%%%02X", ref[copied:i], c)
			copied = i + 1
		}
	}
	if copied == 0 {
		return ref
	}
	return b.String() + ref[copied:]
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
