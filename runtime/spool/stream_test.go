package spool

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// An upper writes a body in capital letters, up to a number of bytes, and keeps some bytes of each part for the next.
type upper struct {
	most, keeps int
	err         error // of Next
}

func (u *upper) Consume(from *Stream) any {
	data, more, err := from.Next(nil, nil)
	read := 0
	for more && err == nil && read < u.most {
		done := max(len(data)-u.keeps, 0)
		copy(data, bytes.ToUpper(data[:done]))
		read += done
		data, more, err = from.Next(data[:done], data[done:])
	}
	if u.err = err; err == nil && read < u.most {
		_, _, u.err = from.Next(bytes.ToUpper(data), nil)
	}
	return u
}

func TestALargeBodyIsReadWhileItArrives(t *testing.T) {
	skipWithoutFiles(t)
	b := &Buffer{}
	defer b.Release()
	body := strings.Repeat("0123456789abcdef", spoolBytes/8)
	for _, c := range []struct {
		name    string
		claimed int64
		keeps   int
	}{
		{"with its length", int64(len(body)), 0}, {"unknown length", -1, 100}, {"more is kept than there is room for", int64(len(body)), headroom + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			consumer := &upper{most: len(body) + 1, keeps: c.keeps}
			b.ReadBy(consumer)
			b.Reset(c.claimed)
			_, err := io.Copy(b, strings.NewReader(body))
			require.NoError(t, err)
			require.EqualValues(t, len(body), b.Len())
			view, mapping, err := b.Body()
			require.NoError(t, err)
			require.NotNil(t, mapping)
			require.Equal(t, strings.ToUpper(body), string(view))
			result, head := b.Consumed()
			require.Same(t, consumer, result)
			require.Equal(t, body[:headBytes], string(head))
		})
	}
	b.Reset(10)
	_, err := io.WriteString(b, "small")
	require.NoError(t, err)
	view, _, err := b.Body()
	require.NoError(t, err)
	require.Equal(t, "small", string(view), "a small body is not read by the consumer")
	result, _ := b.Consumed()
	require.Nil(t, result)
}

func TestABodyThatIsGivenUpEndsItsConsumer(t *testing.T) {
	skipWithoutFiles(t)
	consumer := &upper{most: 10 * spoolBytes}
	b := &Buffer{}
	b.ReadBy(consumer)
	b.Reset(2 * spoolBytes)
	_, err := b.Write(make([]byte, spoolBytes))
	require.NoError(t, err)
	b.Release()
	require.ErrorIs(t, consumer.err, errAborted)
	require.Zero(t, b.file.size)
}

func TestAConsumerThatStopsLeavesTheRestOfTheBody(t *testing.T) {
	skipWithoutFiles(t)
	b := &Buffer{}
	defer b.Release()
	b.ReadBy(&upper{most: 1})
	b.Reset(2 * spoolBytes)
	_, err := b.Write(make([]byte, 2*spoolBytes))
	require.NoError(t, err)
	require.EqualValues(t, 2*spoolBytes, b.Len())
	_, _, err = b.Body()
	require.NoError(t, err)
}

type consumerFunc func(*Stream) any

func (f consumerFunc) Consume(from *Stream) any { return f(from) }

func TestAConsumerThatFailsIsAnErrorOfTheBody(t *testing.T) {
	skipWithoutFiles(t)
	for name, consume := range map[string]consumerFunc{
		"a panic":        func(*Stream) any { panic("a mistake") },
		"runtime.Goexit": func(*Stream) any { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := &Buffer{}
			defer b.Release()
			b.ReadBy(consume)
			b.Reset(2 * spoolBytes)
			_, err := b.Write(make([]byte, 2*spoolBytes)) // more than the parts that are in memory
			require.NoError(t, err)
			_, _, err = b.Body()
			var fault *failure.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, failure.Internal, fault.Class)
		})
	}
}
