// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

// object is one of namespace/name:UID.
func object(text string) *metav1.PartialObjectMetadata {
	name, uid, _ := strings.Cut(text, ":")
	namespace, name, _ := strings.Cut(name, "/")
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

func TestHas(t *testing.T) {
	everywhere := &count{uids: map[string]struct{}{}, names: map[string]struct{}{}}
	if err := everywhere.add(object("x/a:1")); err != nil {
		t.Fatal(err)
	}
	if err := everywhere.add(nil); err == nil {
		t.Error("no error for an object without metadata, want one")
	}
	here := &count{uids: everywhere.uids, names: everywhere.names, node: "here"}
	for name, c := range map[string]struct {
		of             *count
		holder         network.Holder
		lives, counted bool
	}{
		"finds an object by its UID":                   {everywhere, network.Holder{UID: "1"}, true, true},
		"does not find an object with another UID":     {everywhere, network.Holder{UID: "2", Namespace: "x", Name: "a"}, false, true},
		"finds an object by its name":                  {everywhere, network.Holder{Namespace: "x", Name: "a"}, true, true},
		"does not find an object of another namespace": {everywhere, network.Holder{Namespace: "y", Name: "a"}, false, true},
		"of the node":     {here, network.Holder{UID: "1", Node: "here"}, true, true},
		"of another node": {here, network.Holder{UID: "1", Node: "there"}, false, false},
		"without a node":  {here, network.Holder{UID: "2"}, false, false},
	} {
		if lives, counted := c.of.Has(c.holder); lives != c.lives || counted != c.counted {
			t.Errorf("%s: lives is %v, counted %v", name, lives, counted)
		}
	}
}

// TestKindsThatAreNotCounted checks which kinds are never counted.
func TestKindsThatAreNotCounted(t *testing.T) {
	c, err := New(Options{Config: &rest.Config{Host: "127.0.0.1:1"}, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Container", ""} {
		if _, err := c.Count(t.Context(), kind); !errors.Is(err, gc.ErrUncounted) {
			t.Errorf("%q: got error %v, want %v", kind, err, gc.ErrUncounted)
		}
	}
	if lives, err := c.Lives(t.Context(), network.Holder{Kind: "Pod", UID: "1"}); lives || err != nil {
		t.Errorf("a holder without a name: lives is %v, error %v", lives, err)
	}
}
