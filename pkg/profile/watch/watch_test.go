// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestDigestOf checks that every difference changes the digest, and that the digest is stable.
func TestDigestOf(t *testing.T) {
	seen := map[watch.Digest]int{{}: -1}
	for i, files := range [][]source.File{
		nil,
		{{}},
		{{Name: "a"}},
		{{Data: []byte("a")}},
		{{Name: "a", Data: []byte("b")}},
		{{Name: "ab"}},
		{{Name: "a"}, {Name: "b"}},
		{{Name: "b"}, {Name: "a"}},
		{{Name: "a", Attachments: map[string][]byte{"b": nil}}},
		{{Name: "a", Attachments: map[string][]byte{"b": []byte("c")}}},
		{{Name: "a", Refused: map[string]string{"b": "c"}}},
		{{Name: "a", Refused: map[string]string{"b": "d"}}},
		{{Name: "a", Problem: "c"}},
	} {
		sum := watch.DigestOf(files)
		if earlier, ok := seen[sum]; ok {
			t.Errorf("%d has the digest of %d", i, earlier)
		}
		if seen[sum] = i; watch.DigestOf(files) != sum {
			t.Errorf("%d has two digests", i)
		}
	}
}

func TestPoll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	looks := 0
	watch.Poll(ctx, wake, func(context.Context) {
		if looks++; looks == 2 {
			cancel()
		}
	})
	if looks != 2 {
		t.Errorf("looked %d times", looks)
	}
}
