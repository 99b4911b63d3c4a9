package triggers

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Under new names, a tenant ends few of the workers that he shares, unless he does so while others are
// read. Their owners are not read alone for that, but once.
func TestHitAndRun(t *testing.T) {
	var b blame
	now := time.Unix(0, 0)
	hits := func(others ...string) (ended int) {
		for i := range 100 {
			now = now.Add(10 * time.Second)
			key := fmt.Sprint("a/", now.Unix())
			if is, _ := b.alone(key, now); is {
				continue
			}
			ended++
			underWay := map[string]bool{key: true}
			for _, other := range others {
				underWay[fmt.Sprint(other, "/", i%50)] = true
			}
			b.underWay(underWay, now)
			for key := range underWay {
				b.ended(key, false, now)
			}
		}
		return ended
	}
	require.Equal(t, 100, hits("b"))
	for i := range 50 {
		is, err := b.alone(fmt.Sprint("b/", i), now)
		require.NoError(t, err)
		require.False(t, is)
	}
	require.Equal(t, ofNamespace, hits("a"))
	b = blame{}
	require.Equal(t, ofNamespace/proof, hits())
}

// An owner that is deleted and created again, also under another name, has no new beginning, and
// neither an owner of another namespace nor memory pays for its names.
func TestNewNamesAreNoNewBeginning(t *testing.T) {
	var b blame
	now := time.Unix(0, 0)
	alone := func(key string) bool {
		is, _ := b.alone(key, now)
		return is
	}
	first := Owner{Namespace: "a", Name: "first", UID: "1"}
	b.ended(first.key(), true, now)
	first.UID = "2"
	require.True(t, alone(first.key()))
	require.False(t, alone("a/other"), "one owner of the namespace has ended a worker")
	b.ended(first.key(), true, now)
	b.ended(first.key(), true, now)
	require.False(t, alone("a/other"), "it is the same owner")
	for i := range 2 {
		b.ended(fmt.Sprint("a/", i), true, now)
	}
	require.True(t, alone("a/other"))
	require.False(t, alone("b/other"))
	_, err := b.alone("a/other", now)
	require.NoError(t, err, "it is read, alone")
	now = now.Add(aloneFor + time.Second)
	require.False(t, alone("a/other"))
	b.ended("a/9", true, now)
	require.False(t, alone("a/other"), "one in this hour")

	for i := range 5_000 {
		now = now.Add(10 * time.Second)
		b.ended(fmt.Sprint("a/name-", i), true, now)
	}
	require.Less(t, len(b.owners), 1_500)
	require.True(t, alone("a/other"))
}
