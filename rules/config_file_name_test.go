package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestFileNamesAreSafe(t *testing.T) {
	for name, test := range map[string]struct{ dataType, want string }{
		"an endpoint":                    {"/v1/users?active=1", "v1-users-active-1"},
		"another alphabet":               {"пользователи", "пользователи"},
		"an umlaut":                      {"Größe", "Größe"},
		"several characters, one dash":   {"a / b", "a-b"},
		"nothing that is safe":           {"//", "items"},
		"a parent directory":             {"../up", "up"},
		"a hidden file":                  {".env", "env"},
		"a flag":                         {"-rf", "rf"},
		"no more than 128 bytes":         {strings.Repeat("a", 200), strings.Repeat("a", 128)},
		"no half of a letter at the end": {strings.Repeat("顧", 50), strings.Repeat("顧", 42)},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, rules.FileName(test.dataType))
		})
	}
}
