package credential

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// at is a clock that stands still.
type at time.Time

func (c at) Now() time.Time { return time.Time(c) }

func (c at) Sleep(context.Context, time.Duration) error { return nil }

// signature signs a request and returns the signature.
func signature(t *testing.T, auth transport.Credentials, method, address, body string, headers ...string) string {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	require.NoError(t, err)
	for _, h := range headers {
		name, text, _ := strings.Cut(h, ": ")
		r.Header.Set(name, text)
	}
	require.NoError(t, auth.Sign(r, []byte(body)))
	m := regexp.MustCompile(`Signature=([0-9a-f]{64})$`).FindStringSubmatch(r.Header.Get("Authorization"))
	require.NotNil(t, m, r.Header.Get("Authorization"))
	return m[1]
}

func awsAuth(service, key, secret string, now time.Time) transport.Credentials {
	return newAWS(&rules.Auth{Type: rules.AuthAWS4, Values: map[string]string{
		"region": "us-east-1", "service": service, "accessKeyId": key, "secretAccessKey": secret,
	}}, Options{Options: transport.Options{Clock: at(now)}})
}

// TestSignaturesAreThoseOfTheAWSTestSuite has vectors of the Signature Version 4 test suite
// that AWS publishes (aws-sig-v4-test-suite, without the headers that are not signed here).
func TestSignaturesAreThoseOfTheAWSTestSuite(t *testing.T) {
	auth := awsAuth("service", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	const host = "https://example.amazonaws.com"
	for _, c := range []struct{ name, method, address, body, header, want string }{
		{"get-vanilla", "GET", host + "/", "", "", vanilla},
		{"get-relative", "GET", host + "/example/..", "", "", vanilla},
		{"get-relative-relative", "GET", host + "/example1/example2/../..", "", "", vanilla},
		{"get-slash", "GET", host + "//", "", "", vanilla},
		{"get-slash-dot-slash", "GET", host + "/./", "", "", vanilla},
		{"get-vanilla-query-order-key-case", "GET", host + "/?Param2=value2&Param1=value1", "", "",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-vanilla-query-unreserved", "GET", host + "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=" +
			"-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "",
			"9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
		{"get-vanilla-utf8-query", "GET", host + "/?%E1%88%B4=bar", "", "",
			"2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
		{"post-vanilla", "POST", host + "/", "", "",
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"post-x-www-form-urlencoded", "POST", host + "/", "Param1=value1", "Content-Type: application/x-www-form-urlencoded",
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			if c.header != "" {
				headers = []string{c.header}
			}
			require.Equal(t, c.want, signature(t, auth, c.method, c.address, c.body, headers...))
		})
	}
}

func TestSignaturesAreThoseOfTheAWSDocumentation(t *testing.T) {
	iam := awsAuth("iam", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	require.Equal(t, "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7", signature(t, iam, "GET",
		"https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "", "Content-Type: application/x-www-form-urlencoded; charset=utf-8"))

	s3 := awsAuth("s3", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	require.Equal(t, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		signature(t, s3, "GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", ""))
	require.Equal(t, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		signature(t, s3, "GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", ""))
}

func TestPathsAreEscapedAgainExceptForS3(t *testing.T) {
	for address, want := range map[string][2]string{ // for another service, and for S3
		"https://h/":             {"/", "/"},
		"https://h":              {"/", "/"},
		"https://h/a/":           {"/a/", "/a/"},
		"https://h/a%20b":        {"/a%2520b", "/a%20b"},
		"https://h/%E1%88%B4":    {"/%25E1%2588%25B4", "/%E1%88%B4"},
		"https://h/a//b/../c/./": {"/a/c/", "/a//b/../c/./"},
		"https://h/a:b=c":        {"/a%3Ab%3Dc", "/a%3Ab%3Dc"},
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{(&awsSigner{service: "es"}).canonicalPath(u), (&awsSigner{service: "s3"}).canonicalPath(u)}, address)
	}
}

func TestTemporaryCredentialsAreSigned(t *testing.T) {
	auth := newAWS(&rules.Auth{Values: map[string]string{
		"region": "r", "service": "s", "accessKeyId": "k", "secretAccessKey": "x", "sessionToken": "tok",
	}}, Options{Options: transport.Options{Clock: at(time.Now())}})
	r, err := http.NewRequest("GET", "https://h/?b=2+3&a", nil)
	require.NoError(t, err)
	require.NoError(t, auth.Sign(r, nil))
	require.Equal(t, "tok", r.Header.Get("X-Amz-Security-Token"))
	require.Contains(t, r.Header.Get("Authorization"), "SignedHeaders=host;x-amz-date;x-amz-security-token, ")
	require.Equal(t, "a=&b=2%203", r.URL.RawQuery, "what is sent is what is signed")
}
