package language

import (
	"crypto"
	"crypto/hmac"
	_ "crypto/md5"
	"crypto/rsa"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// digest is the bytes of a hash. The functions that work on bytes take it as it is;
// everywhere else it is text, its hexadecimal digits: exposeDigests sees to that.
type digest string

// hashes are the algorithms of hmac and rsa, by name.
var hashes = map[string]crypto.Hash{
	"md5": crypto.MD5, "sha1": crypto.SHA1, "sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512,
}

// bytesOf returns the bytes of a digest, or of a scalar as it is sent.
func bytesOf(v any) ([]byte, error) {
	if d, ok := v.(digest); ok {
		return []byte(d), nil
	}
	text, ok := value.Text(v)
	if !ok {
		return nil, fmt.Errorf("want text, got %s", KindOf(v))
	}
	return []byte(text), nil
}

// onBytes returns the body of a function of the bytes of one value.
func onBytes(f func([]byte) any) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if args[0] == nil {
			return nil, nil
		}
		return f(must(bytesOf(args[0]))), nil
	}
}

// hashed returns the body of a function that hashes one value.
func hashed(algorithm string) func(...any) (any, error) {
	return onBytes(func(b []byte) any {
		return digest(hashOf(hashes[algorithm], b))
	})
}

func hashOf(algorithm crypto.Hash, b []byte) []byte {
	h := algorithm.New()
	h.Write(b)
	return h.Sum(nil)
}

func inBase64(b []byte) any { return base64.StdEncoding.EncodeToString(b) }

func inHex(b []byte) any { return hex.EncodeToString(b) }

// onKeyAndBytes returns the body of a function of the name of a hash, a key, and the bytes of a value.
func onKeyAndBytes(function string, f func(algorithm crypto.Hash, key, b []byte) ([]byte, error)) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		name := args[0].(string)
		algorithm, ok := hashes[name]
		if !ok {
			names := slices.Sorted(maps.Keys(hashes))
			return nil, (&Fault{Message: fmt.Sprintf("%s: want %s, got %q", function, wording.OrList(names), name)}).
				withNearest(name, names)
		}
		if args[1] == nil || args[2] == nil {
			return nil, nil
		}
		key, err := bytesOf(args[1])
		if err != nil {
			return nil, fmt.Errorf("the key: %w", err)
		}
		out, err := f(algorithm, key, must(bytesOf(args[2])))
		if err != nil {
			return nil, err
		}
		return digest(out), nil
	}
}

// keyedHash is hmac (RFC 2104).
func keyedHash(algorithm crypto.Hash, key, b []byte) ([]byte, error) {
	h := hmac.New(algorithm.New, key)
	h.Write(b)
	return h.Sum(nil), nil
}

// rsaSignature is rsa (RFC 8017, RSASSA-PKCS1-v1_5).
func rsaSignature(algorithm crypto.Hash, key, b []byte) ([]byte, error) {
	private, err := privateKey(key)
	if err != nil {
		return nil, err
	}
	return rsa.SignPKCS1v15(nil, private, algorithm, hashOf(algorithm, b))
}

var errNoPrivateKey = errors.New("the key: want a private RSA key in PEM, without a passphrase (PKCS #1 or PKCS #8)")

// privateKey reads a private key in PEM. Its newlines may be written \n, as in a variable of the environment.
func privateKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(string(text), `\n`, "\n")))
	if block == nil {
		return nil, errNoPrivateKey
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errNoPrivateKey
	}
	return private, nil
}

// exposeDigests replaces every digest of a tree by its hexadecimal digits, except where a
// function takes its bytes.
func (l *Language) exposeDigests(node *ast.Node) { exposer{l, map[string]bool{}}.visit(node) }

type exposer struct {
	language  *Language
	variables map[string]bool // let variables that are digests
}

// visit exposes the digests below a node, and the node itself if it is a digest.
func (e exposer) visit(node *ast.Node) {
	if let, ok := (*node).(*ast.VariableDeclaratorNode); ok {
		e.visit(&let.Value)
		outer := e.variables[let.Name]
		e.variables[let.Name] = unexpose(&let.Value)
		e.visit(&let.Expr)
		e.variables[let.Name] = outer
		return
	}
	for _, child := range children(*node) {
		if *child != nil {
			e.visit(child)
		}
	}
	if e.isDigest(*node) {
		replace(node, safeHex, *node)
	}
}

// isDigest reports whether the value of a node is a digest. It restores the digests among the arguments
// of a function that takes bytes, and among the alternatives of a conditional expression.
func (e exposer) isDigest(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.CallNode:
		f := e.language.function(calleeName(n))
		if f == nil || !f.givesDigest && !f.takesBytes {
			return false
		}
		for i := range n.Arguments {
			unexpose(&n.Arguments[i])
		}
		return f.givesDigest
	case *ast.IdentifierNode:
		return e.variables[n.Value]
	case *ast.ConditionalNode:
		return isCallOf(n.Exp1, safeHex) && isCallOf(n.Exp2, safeHex) && unexpose(&n.Exp1) && unexpose(&n.Exp2)
	}
	return false
}

// unexpose restores a digest that was exposed. It reports whether the node is an exposed digest.
func unexpose(node *ast.Node) bool {
	if !isCallOf(*node, safeHex) {
		return false
	}
	*node = (*node).(*ast.CallNode).Arguments[0]
	return true
}
