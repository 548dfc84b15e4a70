package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestFileNamesAreSafeAndDiffer(t *testing.T) {
	for name, test := range map[string]struct{ dataTypes, want []string }{
		"an endpoint":                    {[]string{"/v1/users?active=1"}, []string{"v1-users-active-1"}},
		"other alphabets":                {[]string{"пользователи", "顧客", "Größe"}, []string{"пользователи", "顧客", "Größe"}},
		"one type twice":                 {[]string{"users", "orders", "users"}, []string{"users", "orders", "users"}},
		"types that give one name":       {[]string{"a b", "a/b", "A-b"}, []string{"a-b-2", "a-b-3", "A-b"}},
		"the same in another order":      {[]string{"a/b", "A-b", "a b"}, []string{"a-b-3", "A-b", "a-b-2"}},
		"a type that is named so":        {[]string{"a/b", "a:b", "a-b-2"}, []string{"a-b", "a-b-3", "a-b-2"}},
		"nothing that is safe":           {[]string{"//", "..", "--"}, []string{"items-3", "items-2", "items"}},
		"hidden files and flags":         {[]string{".env", "-rf"}, []string{"env", "rf"}},
		"no more than 128 bytes":         {[]string{strings.Repeat("a", 200)}, []string{strings.Repeat("a", 128)}},
		"no half of a letter at the end": {[]string{strings.Repeat("顧", 50)}, []string{strings.Repeat("顧", 42)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, rules.FileNames(test.dataTypes))
		})
	}
}
