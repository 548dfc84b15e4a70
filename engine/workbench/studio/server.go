package studio

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/workbench"
)

// assets is the page.
//
//go:embed assets
var assets embed.FS

// A Handler answers the calls of the page: a method, and its parameters as JSON. The error of a call
// is shown in the page, so it has no secrets.
type Handler interface {
	Call(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// maxCallBytes is the size of the largest call: that of a recording that is dropped into the page.
const maxCallBytes = 256 << 20

// A Server serves the page and its calls.
type Server struct {
	handler  Handler
	listener net.Listener
	token    string
	hosts    map[string]bool // values of the header Host that are accepted

	mu     sync.Mutex
	launch string // the token of an address that is opened once; empty if it was
}

// Listen returns a server that listens on a loopback address, such as 127.0.0.1:0. Port 0 is any free
// one. Other addresses are refused: the page writes a file and makes requests with credentials.
func Listen(address string, handler Handler) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("want HOST:PORT, such as 127.0.0.1:8080, got %q", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address; to use the studio from another machine, forward a port: "+
			"ssh -L 8080:127.0.0.1:8080 HOST", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return &Server{
		handler: handler, listener: listener, token: newToken(), launch: newToken(),
		hosts: map[string]bool{listener.Addr().String(): true, net.JoinHostPort("localhost", port): true},
	}, nil
}

// newToken returns a token of 256 bits.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Address returns the address of the page, with its token. It is valid as long as the server runs.
func (s *Server) Address() string { return s.addressWith(s.token) }

// Launch returns an address of the page that can be opened once. The arguments of a program are visible
// to everybody on the machine, so a browser is started with this one.
func (s *Server) Launch() string { return s.addressWith(s.launch) }

func (s *Server) addressWith(token string) string {
	return fmt.Sprintf("http://%s/?token=%s", s.listener.Addr(), token)
}

// Serve answers requests until the context is cancelled.
func (s *Server) Serve(ctx context.Context) error {
	const patience = 10 * time.Second
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// policy is the content security policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers are the headers of every response.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	if !s.hosts[r.Host] {
		http.Error(w, "the header Host names another server", http.StatusForbidden)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		http.Error(w, "the request comes from a page of another origin", http.StatusForbidden)
		return
	}
	if method, ok := strings.CutPrefix(r.URL.Path, "/call/"); ok {
		s.call(w, r, method)
		return
	}
	s.file(w, r)
}

// file answers with a file of the page. Its names are those of the folder, not of a file system.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		if r.URL.Query().Has("token") && !s.known(r.URL.Query().Get("token")) {
			http.Error(w, "the token in the address is not that of this studio; open the address that stopwhen studio has printed",
				http.StatusForbidden)
			return
		}
		name = "index.html"
	}
	if strings.Contains(name, "/") {
		http.NotFound(w, r)
		return
	}
	content, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	_, _ = w.Write(content) // fails only if the client has disconnected
}

func contentType(name string) string {
	switch {
	case strings.HasSuffix(name, ".js"):
		return "text/javascript; charset=utf-8"
	case strings.HasSuffix(name, ".css"):
		return "text/css; charset=utf-8"
	case strings.HasSuffix(name, ".svg"):
		return "image/svg+xml"
	}
	return "text/html; charset=utf-8"
}

// known reports whether a token is valid: that of the server, or that of a launch address that has not
// been opened yet.
func (s *Server) known(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return equal(token, s.token) || s.launch != "" && equal(token, s.launch)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// TokenHeader is the header of a call that has the token.
const TokenHeader = "Stopwhen-Token"

// call answers a call of the page.
func (s *Server) call(w http.ResponseWriter, r *http.Request, method string) {
	switch token := r.Header.Get(TokenHeader); {
	case r.Method != http.MethodPost:
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	case r.Header.Get("Origin") == "":
		http.Error(w, "want the header Origin", http.StatusForbidden)
		return
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	case method == "enter" && s.enter(token):
		reply(w, map[string]string{"token": s.token}, nil)
		return
	case !equal(token, s.token):
		http.Error(w, "the token of the call is not that of this studio", http.StatusForbidden)
		return
	}
	params, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallBytes))
	if err != nil {
		http.Error(w, "the call is too large", http.StatusRequestEntityTooLarge)
		return
	}
	result, err := s.handler.Call(r.Context(), method, params)
	reply(w, result, err)
}

// enter reports whether a token is valid: that of the server or, once, that of the address that the
// browser is started with.
func (s *Server) enter(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launch != "" && equal(token, s.launch) {
		s.launch = ""
		return true
	}
	return equal(token, s.token)
}

// An answer is the response to a call.
type answer struct {
	Result any              `json:"result,omitempty"`
	Error  *workbench.Error `json:"error,omitempty"`
}

// reply writes the result of a call, or its error.
func reply(w http.ResponseWriter, result any, err error) {
	a := answer{Result: result}
	if err != nil {
		known, ok := errors.AsType[*workbench.Error](err)
		if !ok {
			known = &workbench.Error{Message: err.Error()}
		}
		a = answer{Error: known}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // fails only if the client has disconnected
}
