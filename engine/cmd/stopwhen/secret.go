package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// secretValue matches the value of a key that begins with #, in JSON and in YAML.
// It works on malformed text, too: the secrets of a configuration with errors are
// not decoded.
var secretValue = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?#[\w-]+["']?\s*:[ \t]*` +
	`("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"'{\[,}\]][^,}\]\n]*)`)

// maskSecrets replaces every character of the secrets in a configuration by a
// star, so that positions remain valid. It returns the secrets, too.
func maskSecrets(text string) (masked string, secrets []string) {
	var out strings.Builder
	last := 0
	for _, at := range secretValue.FindAllStringSubmatchIndex(text, -1) {
		literal := text[at[2]:at[3]]
		secret := strings.Trim(strings.TrimSpace(literal), `"'`)
		start := at[2] + strings.Index(literal, secret)
		out.WriteString(text[last:start])
		out.WriteString(strings.Repeat("*", utf8.RuneCountInString(secret)))
		last = start + len(secret)
		secrets = append(secrets, secret)
		var decoded string
		if json.Unmarshal([]byte(literal), &decoded) == nil {
			secrets = append(secrets, decoded)
		}
	}
	return out.String() + text[last:], secrets
}

// hideSecrets hides the secrets of a configuration, and more of them, in its
// errors or warnings, whose snippets show lines of the configuration.
func hideSecrets(err error, name string, text []byte, more []string) {
	var mistakes diag.Diagnostics
	if !errors.As(err, &mistakes) {
		return
	}
	plain := strings.TrimPrefix(string(text), "\ufeff")
	masked, secrets := maskSecrets(plain)
	before, after := diag.NewSource(name, plain), diag.NewSource(name, masked)
	redactor := redact.New(append(secrets, more...))
	for _, m := range mistakes {
		if m.Snippet == before.Snippet(m.Pos) { // unless it is the snippet of an expression
			m.Snippet = after.Snippet(m.Pos)
		}
		m.Message, m.Hint, m.Snippet = redactor.String(m.Message), redactor.String(m.Hint), redactor.String(m.Snippet)
	}
}
