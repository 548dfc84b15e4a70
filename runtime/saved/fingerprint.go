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

// listDetail begins the names of details that are in the hash of the list as well. They tell what another hash is about.
const listDetail = "list "

// WithListDetail is [WithDetail] for a setting that is in the hash of the list, too.
func WithListDetail(part, name, hash string) string { return WithDetail(part, listDetail+name, hash) }

// SameList reports whether two values of a part are about the same list, also if details differ.
func SameList(before, now string) bool {
	list, _, _ := strings.Cut(before, " ")
	other, _, _ := strings.Cut(now, " ")
	return list == other
}

// Changed reports whether two values of a part differ. If only details do, it returns their names. If the lists differ,
// it returns the names of the settings of which both values have a detail. A detail that only one of the values has,
// because another release wrote the other, is not a difference.
func Changed(before, now string) (details []string, changed bool) {
	_, earlier, _ := strings.Cut(before, " ")
	_, current, _ := strings.Cut(now, " ")
	same := SameList(before, now)
	known := strings.Fields(earlier)
	for detail := range strings.FieldsSeq(current) {
		name, _, _ := strings.Cut(detail, "=")
		if !slices.Contains(known, detail) && slices.ContainsFunc(known, func(d string) bool { return strings.HasPrefix(d, name+"=") }) {
			setting, _ := url.QueryUnescape(name) // cannot fail: WithDetail has written it
			if setting, ofList := strings.CutPrefix(setting, listDetail); ofList != same {
				details = append(details, setting)
			}
		}
	}
	return details, !same || details != nil
}
