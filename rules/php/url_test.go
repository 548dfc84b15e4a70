package php_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/php"
)

func TestMergeURL(t *testing.T) {
	for _, tt := range []struct{ name, url, params, want string }{
		{"no params", "http:///x?a&a%5B=%zz", `{}`, "http:///x?a&a%5B=%zz"},
		{"no query yet", "users", `{"a":1}`, "users?a=1"},
		{"only params that are dropped", "users", `{"":1,"0":2}`, "users?"},
		{"only a param that is null", "users", `{"a":null}`, "users?"},
		{"the URL's come first", "/users?page=2", `{"account":123}`, "/users?page=2&account=123"},
		{"a param overrides in place", "/users?page=2&x=1", `{"page":5,"y":2}`, "/users?page=5&x=1&y=2"},
		{"a null takes the URL's away", "/users?page=2&x=1", `{"page":null}`, "/users?x=1"},
		{"empty query", "/users?#f", `{"a":1}`, "/users?a=1#f"},
		{"fragment", "http://h/p?x=1#top", `{"a":1}`, "http://h/p?x=1&a=1#top"},
		{"user, password and port", "https://u:p@h:8080/p", `{"a":1}`, "https://u:p@h:8080/p?a=1"},
		{"user only", "https://u@h", `{"a":1}`, "https://u@h?a=1"},
		{"address of the sixth version", "http://[::1]:80/x?a=1", `{"b":1}`, "http://[::1]:80/x?a=1&b=1"},
		{"values are decoded and encoded", "/u?q=a%20b+c~", `{"z":1}`, "/u?q=a+b+c%7E&z=1"},
		{"names are not decoded", "/u?a%5B0%5D=1", `{"z":1}`, "/u?a%255B0%255D=1&z=1"},
		{"a repeated name keeps its place and the last value", "/u?a=1&b=2&a=3", `{"z":1}`, "/u?a=3&b=2&z=1"},
		{"a name without a value", "/u?flag", `{"z":1}`, "/u?flag=&z=1"},
		{"nothing between two &", "/u?a=1&&b=2", `{"z":1}`, "/u?a=1&=&b=2&z=1"},
		{"the host without a scheme is lost", "//host/x?a=1", `{"z":1}`, "/x?a=1&z=1"},
		{"host and port without a scheme too", "localhost:8080/x?a=1", `{"z":1}`, "/x?a=1&z=1"},
		{"a colon makes a scheme", "items:list?a=1", `{"z":1}`, "list?a=1&z=1"},
		{"a colon in the path", "users/1:2?x=http://y", `{"z":1}`, "users/1:2?x=http%3A%2F%2Fy&z=1"},
		{"a colon in the query", "/x?t=10:30", `{"z":1}`, "/x?t=10%3A30&z=1"},
		{"no host", "http:///x?a=1", `{"z":1}`, "?z=1"},
		{"no port", "http://h:99999/x?a=1", `{"z":1}`, "?z=1"},
		{"a port too large without a scheme", "x//:99999", `{"z":1}`, "?z=1"},
		{"a port with zeros", "http://h:00443/x", `{"z":1}`, "http://h:443/x?z=1"},
		{"a port with a letter", "http://h:80a/x", `{"z":1}`, "http://h:80/x?z=1"},
		{"a port that is a letter", "http://h:a/x", `{"z":1}`, "?z=1"},
		{"a colon without a port", "http://h:/x", `{"z":1}`, "http://h/x?z=1"},
		{"a host that is empty in PHP", "http://0/x", `{"z":1}`, "/x?z=1"},
		{"a scheme that is empty in PHP", "0://h/x", `{"z":1}`, "/x?z=1"},
		{"a path that looks like a port", "/x:80/?a=1", `{"z":1}`, "?z=1"},
		{"control characters", "http://h/\x01?a=\x02", `{"z":1}`, "http://h/_?a=_&z=1"},
		{"not ASCII", "/é?ü=ö", `{"z":1}`, "/é?%C3%BC=%C3%B6&z=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, php.MergeURL(tt.url, object(t, tt.params)))
		})
	}
}
