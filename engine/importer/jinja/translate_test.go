package jinja_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer/jinja"
)

// scope is that of a stream that reads the page before.
func scope() jinja.Scope {
	return jinja.Scope{
		"config": jinja.Members("config", func(keys []string) (jinja.Expr, error) {
			return jinja.Name("input."+keys[len(keys)-1], jinja.Text), nil
		}),
		"response": jinja.Path("body"), "record": jinja.Path("item"), "headers": jinja.Path("headers"),
		"start": jinja.Name("window.from.Format('2006-01-02T15:04:05Z')", jinja.Text),
	}
}

func TestTemplatesBecomeExpressions(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{`plain`, `'plain'`},
		{`{{ config['a'] }}`, `input.a`},
		{`Token token={{ config["a"] }}`, `'Token token=' + input.a`},
		{`{{ response.meta['next-page'] }}`, `body.meta["next-page"]`},
		{`{{ response.get("meta", {}).get("next", {}) }}`, `body.meta.next`},
		{`{{ not response.has_more }}`, `not truthy(body.has_more)`},
		{`{{ not response.next_cursor }}`, `empty(body.next_cursor) or not truthy(body.next_cursor)`},
		{`{{ response.next is none }}`, `body.next == nil`},
		{`{{ response.next is not defined or response.b is none }}`, `body.next == nil or body.b == nil`},
		{`{{ ('a' if response.x == 1 else 'b') ~ 'c' }}`, `(body.x == 1 ? 'a' : 'b') + 'c'`},
		{`{{ 'a' if response.x == 1 else 'b' if response.y == 2 else 'c' }}`, `body.x == 1 ? 'a' : body.y == 2 ? 'b' : 'c'`},
		{`{% if response.x == 1 %}a{% else %}{{ config.b }}{% endif %}`, `body.x == 1 ? 'a' : input.b`},
		{`{{ record['a'] | default(0) }}`, `item.a ?? 0`},
		{`{{ record.a or 'x' }}`, `empty(item.a) ? 'x' : item.a`},
		{`{{ response.next and response['next'] or '' }}`, `empty(body.next) ? '' : body.next`},
		{`{{ record.a and record.a.b }}`, `item.a.b`},
		{`{{ 'x' in record.name }}`, `type(item.name) == 'string' ? item.name contains 'x' : 'x' in item.name`},
		{`{{ 'next' in response.links }}`, `body.links.next != nil`},
		{`{{ format_datetime(start, '%Y-%m-%d') }}`, `window.from.Format('2006-01-02')`},
		{`{{ timestamp(start) | int }}`, `window.from.Unix()`},
		{`{{ format_datetime(record.at, '%Y-%m-%d', '%s') }}`, `earlier(item.at, nil, '2006-01-02')`},
		{`{{ config['a'] | lower }}`, `lower(input.a)`},
		{`{{ format_datetime(config['start'], '%Y-%m-%d') }}`, `date(input.start).Format('2006-01-02')`},
		{`{{ format_datetime(day_delta(-30), '%Y-%m-%dT%H:%M:%SZ') }}`, `earlier(now(), '30d', '2006-01-02T15:04:05Z')`},
		{`{{ 'locked' in response.error_code }}`, `body.error_code contains 'locked'`},
		{`{{ 'test.' if False == True else '' }}`, `''`},
		{`{{ day_delta(-30, format='%Y-%m-%d') }}`, `earlier(now(), '30d', '2006-01-02')`},
		{`{{ (now_utc() - duration('P1D')).strftime('%s') }}`, `earlier(now(), '1d', 'unix')`},
		{`{{ response.total > 10 and not response.items }}`, `body.total > 10 and (empty(body.items) or not truthy(body.items))`},
		{`{{ response.next | regex_search('[?&]page=(\d+)') }}`, `query(body.next, 'page')`},
		{`{{ record.id in ['a', 'b'] }}`, `item.id in ['a', 'b']`},
		{`{{ 'x' in response }}`, `body.x != nil`},
		{`{{ 'x' in response and response.x == 'a' }}`, `body.x == 'a'`},
		{`{{ 'x' in response and response.y == 'a' }}`, `body.x != nil and body.y == 'a'`},
		{`{{ response['data'][-1]['id'] }}`, `body.data[-1].id`},
		{`{{ response.url.split('?')[1] }}`, `split(body.url, '?')[1]`},
		{`{{ "it's" }}`, `"it's"`},
		{`{{ response.page + 1 }}`, `body.page + 1`},
		{`{{ [1, 2] }}`, `[1, 2]`},
		{`{%- set x = response.page -%} {{ x + 1 }}`, `body.page + 1`},
		{`{{ -1 }}`, `-1`},
		{`{{ config['url'].rstrip('/') }}`, `trimPrefix(trim('|' + input.url, '/'), '|')`},
		{`{{ config['url'].lstrip('|/') }}`, `trimSuffix(trim(input.url + '.', '|/'), '.')`},
		{`{{ 'https://a.example//'.rstrip('/') }}`, `'https://a.example'`},
		{`{{ 'xyxa'.lstrip('xy') }}`, `'a'`},
		{`{{ 'sales ORDERS' | title }}`, `'Sales Orders'`},
		{`{{ 'sales ORDERS' | capitalize }}`, `'Sales orders'`},
		{`{{ 'éa' | capitalize }}`, `'Éa'`},
		{`{{ 'a & b' | escape }}`, `'a &amp; b'`},
		{`{{ response.a is none if response.b is defined else true }}`, `body.b != nil ? body.a == nil : true`},
	} {
		t.Run(c.template, func(t *testing.T) {
			e, err := jinja.Translate(c.template, scope())
			require.NoError(t, err)
			require.Equal(t, c.want, e.Source)
		})
	}
}

func TestWhatHasNoCounterpartIsRefused(t *testing.T) {
	for _, template := range []string{
		`{{ unknown }}`, `{{ response.x | mystery }}`, `{% for x in response %}{{ x }}{% endfor %}`, `{{ response.`,
		`{{ config[response.x] }}`, `{{ response.x | regex_search('a(b|c)d') }}`, `{{ format_datetime(config.a, '%Q') }}`, `{{ [x for x in y] }}`,
		`{{ config.a.rstrip(config.b) }}`, `{{ config.a.rstrip('|.x') }}`, `{{ config.a | title }}`, `{{ "it's" | title }}`,
		`{{ config.a | capitalize }}`, `{{ config.a | escape }}`, `{{ config.a | e }}`,
	} {
		_, err := jinja.Translate(template, scope())
		require.Error(t, err, template)
	}
}

func TestTemplatesThatRepeatThemselvesAreRefused(t *testing.T) {
	template := "{{ response.a" + strings.Repeat(" or response.a", 200) + " }}"
	_, err := jinja.Translate(template, scope())
	require.ErrorContains(t, err, "too long")
	for _, template := range []string{"{{ " + strings.Repeat("(", 5000), "{{ " + strings.Repeat("not ", 3000) + "a }}",
		strings.Repeat("{{ 'a' if b else ", 300)} {
		_, err := jinja.Translate(template, scope())
		require.Error(t, err)
	}
}

func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{`{{ a if b else c }}`, `{% if a %}b{% elif c %}d{% endif %}`, `{{ x[1:] | join(',') }}`, `{{ ((((`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, template string) {
		began := time.Now()
		e, err := jinja.Translate(template, scope())
		require.Less(t, time.Since(began), 5*time.Second)
		if err == nil {
			require.NotEmpty(t, e.Source)
		}
	})
}
