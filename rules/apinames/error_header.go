package apinames

import (
	"regexp"
	"strings"
	"sync"
)

// errorHeaders are the headers that report an error although the status is one of success. Each value is matched by the row's
// pattern; without one, any value counts that does not say that there is no error.
var errorHeaders = []struct {
	name    string
	pattern func() *regexp.Regexp
}{
	{"X-Stream-Error", nil}, // IPFS
	{"X-Error", nil}, {"X-Error-Message", nil}, {"X-Error-Code", nil}, {"X-Error-Description", nil}, {"Error", nil},
	{"X-Ms-Error-Code", nil},  // Azure
	{"X-Amzn-Errortype", nil}, // AWS
	{"X-Clickhouse-Exception-Code", nil},
	{"Grpc-Status", grpcFailure},
	{"Status", statusFailure}, {"X-Status", statusFailure},
	{"Warning", cutWords},
	{"Retry-After", retryDelay},
}

var (
	grpcFailure   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-46-9]|1[0-6])$`) }) // 5 says that nothing was found
	statusFailure = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(4(0[0-35-9]|[1-9][0-9])|5[0-9][0-9])\b`) })
	retryDelay    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[1-9]`) })
)

// ErrorHeaders returns the names of the headers that may report an error, as they are spelled in a response.
var ErrorHeaders = sync.OnceValue(func() (names []string) {
	for _, row := range errorHeaders {
		names = append(names, row.name)
	}
	return names
})

// IsErrorHeader reports whether a header reports an error by its value.
func IsErrorHeader(name, v string) bool {
	for _, row := range errorHeaders {
		if strings.EqualFold(row.name, name) {
			return row.pattern == nil && isErrorValue(v) || row.pattern != nil && row.pattern().MatchString(v)
		}
	}
	return false
}

// IsErrorTrailer reports whether a trailer, which follows the body, reports an error: [IsErrorHeader] does, or its name has a
// word for an error.
func IsErrorTrailer(name, v string) bool {
	return IsErrorHeader(name, v) || namesErrorByWord(name) && isErrorValue(v)
}
