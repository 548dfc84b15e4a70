package remedy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/remedy"
)

func TestARemedyIsWordedForItsReader(t *testing.T) {
	command := func(n remedy.Name) string { return n.Command }
	for _, c := range []struct {
		name            string
		remedy          remedy.Remedy
		program, person string
	}{
		{"no name", remedy.New("check %s", "50%"), "check 50%", "check 50%"},
		{"a name", remedy.StartOver, "checkpoint.Restart, without PublisherOptions.Append, starts over and replaces the output",
			"--restart, without --append, starts over and replaces the output"},
		{"a name with a value", remedy.New("set it with %s", remedy.InputValue.Of("a")), `set it with WithInputs(map[string]any{"a": VALUE})`, "set it with --set a=VALUE"},
		{"a name with names", remedy.New("%s", remedy.Work.With(remedy.Env.Of("A,B"), remedy.Env.Of("C"))),
			"Cluster.Work(WithEnv A,B WithEnv C)", "stopwhen worker --env A,B --env C"},
		{"a name without the names that it may have", remedy.New("%s", remedy.Work.With()), "Cluster.Work()", "stopwhen worker"},
		{"a remedy in a remedy", remedy.New("move %s, or %s", "f", remedy.New("use %s", remedy.Merge)), "move f, or use PublisherOptions.Merge", "move f, or use --merge"},
	} {
		require.Equal(t, c.program, c.remedy.String(), c.name)
		require.Equal(t, c.person, c.remedy.Words(command), c.name)
		require.True(t, c.remedy.InWords(), c.name)
	}
}

func TestARemedyIsATextInJSON(t *testing.T) {
	text, err := json.Marshal(remedy.StartOver)
	require.NoError(t, err)
	require.Equal(t, `"checkpoint.Restart, without PublisherOptions.Append, starts over and replaces the output"`, string(text))
}

func TestAReplacementHasNoWords(t *testing.T) {
	require.False(t, remedy.Remedy{Replacement: "limit"}.InWords())
	require.Empty(t, remedy.Remedy{}.String())
}
