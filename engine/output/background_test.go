package output

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

func TestRowsAreCompressedInTheBackground(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range compressions {
		t.Run(string(name), func(t *testing.T) {
			var frames bytes.Buffer
			w := background{c}.NewWriter(&frames)
			var want []byte
			for range 4 { // frames: none of them is a multiple of a piece
				for range 8 {
					part := make([]byte, rng.IntN(2*pieceBytes))
					for i := range part {
						part[i] = byte('a' + rng.IntN(26))
					}
					n, err := w.Write(part)
					require.NoError(t, err)
					require.Equal(t, len(part), n)
					want = append(want, part...)
				}
				require.NoError(t, w.Close())
				require.Equal(t, string(want), decompressed(t, c, frames.Bytes()), "a frame that has ended can be read")
				w.Reset(&frames)
			}

			require.NoError(t, w.Close(), "an empty frame")
			require.Equal(t, string(want), decompressed(t, c, frames.Bytes()))

			w.Reset(&frames)
			_, err := w.Write(make([]byte, 3*pieceBytes/2)) // a frame that is dropped
			require.NoError(t, err)
			w.Reset(io.Discard)
			length := frames.Len()
			require.NoError(t, w.Close())
			require.Equal(t, length, frames.Len(), "nothing is written after Reset")
		})
	}
}

func TestAnErrorOfTheBackgroundIsReturned(t *testing.T) {
	full := errors.New("no space left on device")
	for name, c := range compressions {
		t.Run(string(name), func(t *testing.T) {
			w := background{c}.NewWriter(failingWriter{full})
			var err error
			for i := 0; err == nil && i < 100; i++ {
				noise := make([]byte, pieceBytes)
				for j := range noise {
					noise[j] = byte(rand.Uint32())
				}
				_, err = w.Write(noise)
			}
			require.ErrorIs(t, err, full, "by a later Write")

			w.Reset(failingWriter{full})
			_, err = w.Write([]byte("{}\n"))
			require.NoError(t, err)
			require.ErrorIs(t, w.Close(), full)
		})
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func decompressed(t *testing.T, c checkpoint.Compression, frames []byte) string {
	t.Helper()
	r, err := c.NewReader(bytes.NewReader(frames))
	require.NoError(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}
