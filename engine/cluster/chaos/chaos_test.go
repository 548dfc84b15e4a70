//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// A round has worked with everything that is broken, and has collected every item once. The
// command plays many of them.
func TestEveryItemIsExtractedExactlyOnce(t *testing.T) {
	total := map[string]int{}
	const seed = 4 // a small round, in which the server is restarted
	_, err := playOne(seed, "", true, total)
	require.NoError(t, err)
	require.NotEmpty(t, total)
}

// Without a rule that the promise rests on, the check fails.
func TestTheCheckFailsWithoutTheExpectation(t *testing.T) {
	for seed := uint64(1); ; seed++ {
		_, err := playOne(seed, controlBlind, false, map[string]int{})
		if err != nil {
			require.Regexp(t, "are there more than once|the run has not ended", err)
			return
		}
		require.Less(t, seed, uint64(5), "no round has failed")
	}
}

func TestTheItemsOfAPartitionAreCompared(t *testing.T) {
	want := byPartition([]byte("#a {}\n1\n#b {}\n1\n#a {}\n2\n"))
	require.Equal(t, map[string]string{"#a {}": "1\n2\n", "#b {}": "1\n"}, want)
	for text, message := range map[string]string{
		"#a {}\n1\n2\n#b {}\n1\n":        "",
		"#a {}\n2\n1\n#b {}\n1\n":        "partition #a {}: the items are in another order",
		"#a {}\n1\n#b {}\n1\n":           "partition #a {}: 1 items are missing, 0 are there more than once",
		"#a {}\n1\n2\n2\n#b {}\n1\n":     "partition #a {}: 0 items are missing, 1 are there more than once",
		"#a {}\n1\n2\n":                  "partition #b {}: 1 items are missing, 0 are there more than once",
		"#a {}\n1\n2\n#b {}\n1\n#c {}\n": "partition #c {} is not one of the run",
	} {
		err := sameItems(want, byPartition([]byte(text)))
		if message == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, message)
	}
}

// What is written to a wire in any pieces is cut into frames.
func TestAStreamIsCutIntoFrames(t *testing.T) {
	const stream = "PING\r\nPUB a.b 2\r\n\r\n\r\nHPUB a.b inbox 21 23\r\nNATS/1.0\r\nName: v\r\n\r\nhi\r\nMSG s 7 reply 1\r\nx\r\n"
	for size := range len(stream) {
		var all []string
		var pending []byte
		for part := range strings.SplitSeq(stream[:size]+"\x00"+stream[size:], "\x00") {
			pending = append(pending, part...)
			for {
				f, rest, ok := cut(pending)
				pending = rest
				if !ok {
					break
				}
				all = append(all, strings.Join([]string{f.verb, f.subject, f.reply, f.header("Name"), string(f.body)}, "|"))
				require.NotEmpty(t, f.raw)
			}
		}
		require.Equal(t, []string{"PING||||", "PUB|a.b|||\r\n", "HPUB|a.b|inbox|v|hi", "MSG|s|reply||x"}, all)
		require.Empty(t, pending)
	}
}
