package triggers

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tenant that ends only workers that it shares, under new names, ends twelve of them. The owners of others are
// then read alone at the most, and not for that.
func TestHitAndRun(t *testing.T) {
	var b blame
	now, ended := time.Unix(0, 0), 0
	for i := range 100 {
		now = now.Add(10 * time.Second)
		key := fmt.Sprint("a/", i)
		if is, _ := b.alone(key, now); is {
			continue
		}
		ended++
		b.underWay(map[string]bool{key: true, fmt.Sprintf("b/%d", i%50): true}, now)
		b.ended(key, false, now)
	}
	require.Equal(t, ofNamespace, ended)
	_, err := b.alone("b/1", now)
	require.NoError(t, err)
	b = blame{}
	for i := range 3 { // nobody else was under way
		b.underWay(map[string]bool{fmt.Sprint("a/", i): true}, now)
	}
	is, _ := b.alone("a/3", now)
	require.True(t, is)
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
