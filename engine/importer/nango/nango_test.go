package nango

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestProvidersBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "providers.yaml") }

// schemaKeys are the keys of Nango's schema of providers, and those that its scripts may replace.
var schemaKeys = map[string]string{
	"provider": `alias display_name auth auth_mode authorization_method authorization_params authorization_url
		authorization_url_skip_encode authorization_url_replacements body_format categories connection_configuration decode_url
		default_scopes disable_pkce docs docs_connect post_connection_script proxy token redirect_uri_metadata refresh_url
		refresh_params request_params request_url scope_separator signature_method signature token_expiration_buffer token_params
		token_headers token_response token_expires_in_ms token_request_auth_method expires_in_unit token_response_metadata
		token_url token_url_skip_encode webhook_user_defined_secret webhook_routing_script authorization_url_fragment
		connection_config credentials authorization_url_encode token_url_encode setup_guide_url additional_steps`,
	"proxy": "base_url connection_config decompress headers paginate query retry verification",
	"retry": "after at remaining error_code in_body",
	"paginate": `type cursor_name_in_request cursor_path_in_response limit_name_in_request link_rel_in_response_header
		link_path_in_response_body offset_name_in_request offset_start_value offset_calculation_method response_path
		limit in_body on_page`,
	"declaration": `type title description example pattern format order secret prefix suffix optional doc_section automated
		default_value hidden enum`,
}

// Each key of the schema is known, and each key that is known stands in a document of a case.
func TestEveryKeyHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	for kind, keys := range schemaKeys {
		for key := range strings.FieldsSeq(keys) {
			require.Contains(t, keysOf[kind], key)
		}
	}
	for _, keys := range keysOf {
		for key := range keys {
			require.Regexp(t, `(?m)(^|[ {])`+key+`: `, strings.ReplaceAll(documents, ":\n", ": \n"))
		}
	}
	for _, mode := range []string{"API_KEY", "BASIC", "CUSTOM", "JWT", "NONE", "OAUTH1", "OAUTH2", "OAUTH2_CC", "TWO_STEP"} {
		require.Contains(t, documents, "auth_mode: "+mode+"\n")
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "providers.yaml", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "providers.yaml", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "want one file", text("a: {}"), text("a: {}"))
	importertest.Refuses(t, Format, "want an object of providers", text("[1]"))
	importertest.Refuses(t, Format, "want an object, got", text("a: 5"))
	importertest.Refuses(t, Format, "want the name of a provider", text("../a: {}"))
	importertest.Refuses(t, Format, "nested too deeply", text("a: "+strings.Repeat("[", 100_000)))
	importertest.Refuses(t, Format, "nested too deeply", text("a: "+strings.Repeat("{b: ", 100_000)))
	importertest.Refuses(t, Format, "contains itself", text("a: &a {proxy: *a}"))
	bomb := "a0: &a0 {x: 1}\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%[1]d: &a%[1]d {x: *a%[2]d, y: *a%[2]d}\n", i+1, i)
	}
	importertest.Refuses(t, Format, "too large", text(bomb))
}

// A provider is read once for each alias that leads to it, so the number of these is bounded.
func TestALongChainOfAliasesIsRefused(t *testing.T) {
	chain := "a0: {auth_mode: API_KEY, proxy: {base_url: 'https://api.example.com'}}\n"
	for i := range 20_000 {
		chain += fmt.Sprintf("a%d: {alias: a%d}\n", i+1, i)
	}
	source, err := Format.Read([]importer.File{{Name: "providers.yaml", Text: []byte(chain)}}, importer.Options{})
	require.NoError(t, err)
	require.Len(t, source.Streams, 20_001)
	for i, stream := range source.Streams {
		require.Equal(t, i > maxAliases, strings.Contains(stream.Refused, "more than 20 aliases"), "%s: %s", stream.Name, stream.Refused)
	}
}
