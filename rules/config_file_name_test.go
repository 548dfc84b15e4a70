package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestFileNames(t *testing.T) {
	for name, test := range map[string]struct{ dataTypes, want []string }{
		"an endpoint":                    {[]string{"/v1/users?active=1"}, []string{"v1-users-active-1"}},
		"other alphabets":                {[]string{"пользователи", "顧客", "Größe"}, []string{"пользователи", "顧客", "Größe"}},
		"one type twice":                 {[]string{"users", "orders", "users"}, []string{"users", "orders", "users"}},
		"types that give one name":       {[]string{"a b", "a/b", "A-b"}, []string{"a-b", "a-b-2", "A-b-3"}},
		"nothing that is safe":           {[]string{"//", "..", "--"}, []string{"items", "items-2", "items-3"}},
		"hidden files and flags":         {[]string{".env", "-rf"}, []string{"env", "rf"}},
		"no more than 128 bytes":         {[]string{strings.Repeat("a", 200)}, []string{strings.Repeat("a", 128)}},
		"no half of a letter at the end": {[]string{strings.Repeat("顧", 50)}, []string{strings.Repeat("顧", 42)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, rules.FileNames(test.dataTypes))
		})
	}
}
