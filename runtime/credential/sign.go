package credential

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A signer signs requests with the values of expressions.
type signer struct {
	Options
	machines sync.Pool
	atOnce   bool // whether all expressions see the request as it was before them
}

func newSigner(of *rules.Auth, options Options) transport.Credentials {
	s := &signer{Options: options, atOnce: of.Independent, machines: sync.Pool{New: func() any { return &language.Machine{} }}}
	auth := transport.Credentials{Sign: s.sign}
	for _, e := range options.Expressions.Parts {
		auth.Computed = append(auth.Computed, e.Rule.Target)
	}
	return auth
}

// sign adds headers and parameters to a request, in the order of their expressions. Each expression
// sees the results of earlier ones, unless they are evaluated at once.
func (s *signer) sign(request *http.Request, body []byte) error {
	machine := s.machines.Get().(*language.Machine)
	defer s.machines.Put(machine)
	machine.Context = request.Context()
	page := s.page()
	page.UUID = sync.OnceValue(newUUID)
	for i, e := range s.Expressions.Parts {
		if i == 0 || !s.atOnce {
			page.Request = requestFacts(request, body)
		}
		text, err := s.Expressions.Text(e, machine, page)
		if err != nil {
			return s.fault(failure.Config, "the request cannot be signed: ", err)
		}
		if e.Rule.Role == rules.RoleHeader {
			request.Header.Set(e.Rule.Target, text)
			continue
		}
		address, err := url.Parse(transport.WithQuery(request.URL.String(), []transport.Pair{{Name: e.Rule.Target, Value: text}}))
		if err != nil {
			return s.fault(failure.Config, "the request cannot be signed: ", err)
		}
		request.URL = address
	}
	return nil
}

// requestFacts returns a request as expressions see it.
func requestFacts(r *http.Request, body []byte) rules.Object {
	headers := map[string]any{"Host": hostOf(r)}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	escaped := r.URL.EscapedPath()
	if escaped == "" {
		escaped = "/"
	}
	return rules.Object{
		{Name: "method", Value: r.Method}, {Name: "url", Value: r.URL.String()}, {Name: "path", Value: escaped},
		{Name: "query", Value: r.URL.RawQuery}, {Name: "headers", Value: headers}, {Name: "body", Value: string(body)},
	}
}

func hostOf(r *http.Request) string {
	if r.Host != "" {
		return r.Host
	}
	return r.URL.Host
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// An awsSigner signs requests with AWS Signature Version 4, in the header Authorization
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html).
type awsSigner struct {
	region, service        string
	accessKeyID, secretKey string
	sessionToken           string // "" unless the credentials are temporary
	clock                  transport.Clock
}

func newAWS(auth *rules.Auth, options Options) transport.Credentials {
	v := auth.Values
	s := &awsSigner{
		region: v["region"], service: v["service"], accessKeyID: v["accessKeyId"], secretKey: v["secretAccessKey"],
		sessionToken: v["sessionToken"], clock: options.Clock,
	}
	return transport.Credentials{Sign: s.sign, Computed: []string{"Authorization"}}
}

const awsAlgorithm = "AWS4-HMAC-SHA256"

// sign adds the signature to the headers. It rewrites the query in its canonical form, so that the
// request is sent as it was signed.
func (s *awsSigner) sign(r *http.Request, body []byte) error {
	now := s.clock.Now().UTC()
	r.Header.Set("X-Amz-Date", now.Format("20060102T150405Z"))
	if s.sessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", s.sessionToken)
	}
	if s.isS3() {
		r.Header.Set("X-Amz-Content-Sha256", value.SHA256(body))
	}
	r.URL.RawQuery = canonicalQuery(r.URL.RawQuery)
	headers := s.signedHeaders(r)
	names := slices.Sorted(maps.Keys(headers))
	canonical := &bytes.Buffer{}
	fmt.Fprintf(canonical, "%s\n%s\n%s\n", r.Method, s.canonicalPath(r.URL), r.URL.RawQuery)
	for _, name := range names {
		fmt.Fprintf(canonical, "%s:%s\n", name, headers[name])
	}
	fmt.Fprintf(canonical, "\n%s\n%s", strings.Join(names, ";"), value.SHA256(body))
	scope := strings.Join([]string{now.Format("20060102"), s.region, s.service, "aws4_request"}, "/")
	text := strings.Join([]string{awsAlgorithm, now.Format("20060102T150405Z"), scope, value.SHA256(canonical.Bytes())}, "\n")
	r.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		awsAlgorithm, s.accessKeyID, scope, strings.Join(names, ";"), hex.EncodeToString(keyed(s.signingKey(now), text))))
	return nil
}

// isS3 reports whether the service is S3, which has its own rules for paths and bodies.
func (s *awsSigner) isS3() bool { return s.service == "s3" }

// signingKey returns the key for the requests of a day.
func (s *awsSigner) signingKey(now time.Time) []byte {
	key := []byte("AWS4" + s.secretKey)
	for _, part := range []string{now.Format("20060102"), s.region, s.service, "aws4_request"} {
		key = keyed(key, part)
	}
	return key
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signedHeaders returns the headers that the signature covers: Host, Content-Type and the AWS
// headers. Proxies may change others.
func (s *awsSigner) signedHeaders(r *http.Request) map[string]string {
	headers := map[string]string{"host": hostOf(r)}
	for name, values := range r.Header {
		if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, "x-amz-") {
			trim := func(v string) string { return strings.Join(strings.Fields(v), " ") }
			headers[lower] = strings.Join(lists.Map(values, trim), ",")
		}
	}
	return headers
}

// canonicalPath returns the path for the signature. It escapes the escapes of the sent path again
// and, except for S3, removes dot segments and empty segments.
func (s *awsSigner) canonicalPath(u *url.URL) string {
	sent := u.EscapedPath()
	if s.isS3() {
		if plain, err := url.PathUnescape(sent); err == nil {
			sent = plain
		}
		return awsEscapePath("/" + strings.TrimPrefix(sent, "/"))
	}
	clean := path.Clean("/" + sent)
	if strings.HasSuffix(sent, "/") && clean != "/" {
		clean += "/"
	}
	return awsEscapePath(clean)
}

// canonicalQuery returns the parameters of a query, escaped and sorted.
func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	var pairs [][2]string
	for p := range requests.Params(query) {
		if p.Text != "" {
			pairs = append(pairs, [2]string{awsEscape(p.Name), awsEscape(p.Value)})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return strings.Join(lists.Map(pairs, func(p [2]string) string { return p[0] + "=" + p[1] }), "&")
}

// awsEscape percent-encodes everything but the unreserved characters (RFC 3986, 2.3).
func awsEscape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// awsEscapePath is [awsEscape] for a path, whose slashes remain.
func awsEscapePath(text string) string { return strings.ReplaceAll(awsEscape(text), "%2F", "/") }
