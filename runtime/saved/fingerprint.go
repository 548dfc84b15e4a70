package saved

import (
	"net/url"
	"slices"
	"strings"
)

// The parts of the fingerprint of a configuration. A checkpoint stores the fingerprint, so that a run with
// another configuration does not continue from it. These parts are prefixes; package engine/checkpoint has others.
const (
	KeepPart  = "keep of " // the meaning of the kept values of a job, whose id follows
	InputPart = "input "   // the value of an input, whose name follows
)

// WithDetail adds a detail to the value of a part: the name of a setting, and a hash of it.
func WithDetail(part, name, hash string) string {
	return part + " " + url.QueryEscape(name) + "=" + hash
}

// Changed reports whether two values of a part differ. If only details do, it returns their names. A detail that one
// of the values lacks, which an earlier build has written, is not a difference.
func Changed(before, now string) (details []string, changed bool) {
	list, earlier, _ := strings.Cut(before, " ")
	other, current, _ := strings.Cut(now, " ")
	if list != other {
		return nil, true
	}
	known := strings.Fields(earlier)
	for detail := range strings.FieldsSeq(current) {
		name, _, _ := strings.Cut(detail, "=")
		if !slices.Contains(known, detail) && slices.ContainsFunc(known, func(d string) bool { return strings.HasPrefix(d, name+"=") }) {
			setting, _ := url.QueryUnescape(name) // cannot fail: WithDetail has written it
			details = append(details, setting)
		}
	}
	return details, details != nil
}
