package airbyte

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
)

// address reads the address of a request.
func (t *translation) address(n node) error {
	base, later, err := t.addressParts(n)
	if err != nil {
		return err
	}
	text := t.addressText(base)
	if !hasScheme(text) {
		if text, err = t.wholeAddress(n, text); err != nil {
			return err
		}
	}
	whole, path := splitHost(pathAfterHost(text))
	if at, source := variable(whole); at >= 0 {
		return fmt.Errorf("%s: the host depends on %s, which is not translated: a configuration has one host", n.path, source)
	}
	t.out.BaseURL, t.out.Endpoint = t.divide(n, whole, path)
	if source := joined(later); source != joined(base) {
		prefix := t.out.BaseURL[len(whole)+1:]
		t.next = append(t.next, importer.Next{Target: importer.Target{In: importer.InEndpoint}, Source: t.endpointSource(later, whole, prefix)})
	}
	return nil
}

// addressParts returns the parts of the address of the first request and of the later requests.
func (t *translation) addressParts(n node) (first, later []jinja.Expr, err error) {
	root := n.get("url_base")
	path := n.get("path")
	if full := n.get("url"); full.given() {
		root = full
	}
	if !root.given() {
		return nil, nil, fmt.Errorf("%s: the address of the API (url_base) is missing", n.path)
	}
	for _, token := range []jinja.Expr{t.initial, t.token} {
		parts, err := jinja.Parts(root.text(), t.scope(root, token))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", root.path, err)
		}
		if text := path.text(); text != "" {
			below, err := jinja.Parts(text, t.scope(path, token))
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path.path, err)
			}
			parts = joinAddress(parts, below)
		}
		if first == nil {
			first = parts
		} else {
			later = parts
		}
	}
	return first, later, nil
}

// joinAddress joins the base and the path of an address with one slash.
func joinAddress(base, path []jinja.Expr) []jinja.Expr {
	if len(base) > 0 && base[len(base)-1].Constant {
		text := fmt.Sprint(base[len(base)-1].Const)
		base[len(base)-1] = jinja.Literal(strings.TrimRight(text, "/") + "/")
	} else {
		base = append(base, jinja.Literal("/"))
	}
	if len(path) > 0 && path[0].Constant {
		path[0] = jinja.Literal(strings.TrimLeft(fmt.Sprint(path[0].Const), "/"))
	}
	return append(base, path...)
}

// addressText returns the parts of an address with expressions in braces.
func (t *translation) addressText(parts []jinja.Expr) string {
	var out strings.Builder
	for _, p := range parts {
		switch {
		case p.Constant:
			out.WriteString(escapeBraces(fmt.Sprint(p.Const)))
		case importer.IsSegment(p.Source) || p.Kind == jinja.Number || p.Segment:
			out.WriteString("{" + p.Source + "}")
		default:
			out.WriteString("{+" + p.Source + "}")
		}
	}
	return strings.TrimSpace(out.String())
}

// wholeAddress handles an address without a scheme, whose beginning is a setting.
func (t *translation) wholeAddress(n node, text string) (string, error) {
	m := regexp.MustCompile(`^\{\+?(input\.\w+)\}`).FindStringSubmatch(text)
	if m == nil {
		if strings.HasPrefix(text, "{") {
			return "", fmt.Errorf("%s: the address is computed, which is not translated: %s", n.path, text)
		}
		t.note(importer.Check, n.get("url_base"), "api.baseUrl", "the address has no scheme; https is assumed")
		return "https://" + text, nil
	}
	return "{+trimSuffix(" + m[1] + ", '/')}" + text[len(m[0]):], nil
}

var (
	inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\+?([^{}]*)\}`) })
	aMember  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b([a-z_]\w*)\.\w`) })
)

// variable returns the first expression in braces that reads a variable of the job, and its index. The index is -1
// if there is none.
func variable(text string) (at int, source string) {
	for _, m := range inBraces().FindAllStringSubmatchIndex(text, -1) {
		source := text[m[2]:m[3]]
		for _, name := range aMember().FindAllStringSubmatch(source, -1) {
			if name[1] != "input" {
				return m[0], source
			}
		}
	}
	return -1, ""
}

// valueAsPath matches a host of letters, and the value after it that begins with the path of the address.
var valueAsPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://[A-Za-z0-9.-]+)\{\+([a-z_]\w*(?:\.\w+)+)\}`)
})

// pathAfterHost returns an address with a slash after its host, in the place of the one that the value after
// it begins with: https://api.example.com{+account.uri}.
func pathAfterHost(text string) string {
	m := valueAsPath().FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[2], "input.") {
		return text
	}
	return m[1] + "/{+trimPrefix(" + m[2] + ", '/')}" + text[len(m[0]):]
}

// hasScheme reports whether an address has a scheme outside of braces.
func hasScheme(text string) bool {
	at := strings.Index(text, "://")
	brace := strings.Index(text, "{")
	return at >= 0 && (brace < 0 || at < brace)
}

// splitHost divides an address into its origin and the path. Slashes in braces do not count.
func splitHost(text string) (origin, path string) {
	depth, begin := 0, 0
	if hasScheme(text) {
		begin = strings.Index(text, "://") + 3
	}
	for i, r := range text {
		if i < begin {
			continue
		}
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case '/', '?':
			if depth == 0 {
				return text[:i], strings.TrimPrefix(text[i:], "/")
			}
		}
	}
	return text, ""
}

// divide divides an address into the base of the API and the endpoint. The base is url_base, if that ends
// with a slash or a slash follows it.
func (t *translation) divide(n node, origin, path string) (string, string) {
	length := 0
	if root := n.get("url_base"); root.given() && !n.get("url").given() {
		parts, err := jinja.Parts(root.text(), t.scope(root, t.initial))
		if err == nil {
			_, base := splitHost(strings.TrimRight(t.addressText(parts), "/") + "/")
			if n.get("path").text() != "" && strings.HasPrefix(path, base) {
				length = len(base)
			}
		}
	}
	if length == 0 && n.get("path").text() == "" {
		if i := strings.LastIndex(strings.SplitN(path, "?", 2)[0], "/"); i >= 0 && !strings.Contains(path[i:], "}") {
			length = i + 1
		}
	}
	if at, _ := variable(path); at >= 0 && at < length {
		length = strings.LastIndex(path[:at], "/") + 1
	}
	endpoint := path[length:]
	if endpoint == "" {
		endpoint = "/" + path
		if strings.HasSuffix(path, "/") || path == "" {
			endpoint = "/" + path
		}
	}
	return origin + "/" + path[:length], endpoint
}

func joined(parts []jinja.Expr) string { return jinja.Joined(parts).Source }

// endpointSource returns the expression for the endpoint of the later requests.
func (t *translation) endpointSource(parts []jinja.Expr, origin, prefix string) string {
	var kept []jinja.Expr
	cut := origin + "/" + prefix
	for _, p := range parts {
		if text, ok := p.Const.(string); ok && p.Constant && cut != "" {
			n := 0
			for n < len(text) && n < len(cut) && text[n] == cut[n] {
				n++
			}
			cut = cut[n:]
			if text = text[n:]; text == "" {
				continue
			}
			p = jinja.Literal(text)
		} else if cut != "" && !p.Constant {
			if braces := "{" + p.Source + "}"; strings.HasPrefix(cut, braces) || strings.HasPrefix(cut, "{+"+p.Source+"}") {
				cut = cut[strings.Index(cut, "}")+1:]
				continue
			}
		}
		kept = append(kept, p)
	}
	return jinja.Joined(kept).Source
}
