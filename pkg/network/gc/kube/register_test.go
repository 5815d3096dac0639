// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestObjects checks the known objects after each change.
func TestObjects(t *testing.T) {
	objects := newObjects()
	for i, c := range []struct {
		change func() error
		want   string
	}{
		{func() error { return objects.Replace([]any{object("x/a:1"), object("x/b:2")}, "") }, "x/a:1 x/b:2"},
		{func() error { return objects.Add(object("y/a:3")) }, "x/a:1 x/b:2 y/a:3"},
		{func() error { return objects.Update(object("x/b:2")) }, "x/a:1 x/b:2 y/a:3"},
		// A name that came back before the end of the one before was told.
		{func() error { return objects.Update(object("x/a:4")) }, "x/a:1 x/a:4 x/b:2 y/a:3"},
		{func() error { return objects.Delete(object("x/a:1")) }, "x/a:4 x/b:2 y/a:3"},
		{func() error { return objects.Delete(object("x/b:2")) }, "x/a:4 y/a:3"},
		{func() error { return objects.Replace([]any{object("z/a:5")}, "") }, "z/a:5"},
	} {
		if err := c.change(); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
		var got []string
		for _, name := range objects.ListIndexFuncValues(byName) {
			uids, err := objects.IndexKeys(byName, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, uid := range uids {
				got = append(got, name+":"+uid)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("after change %d (-want +got):\n%s", i, diff)
		}
	}
	for name, broken := range map[string]func(any) error{"add": objects.Add, "delete": objects.Delete, "replace": func(o any) error { return objects.Replace([]any{o}, "") }} {
		if err := broken("nothing"); err == nil {
			t.Errorf("%s: no error of what has no metadata", name)
		}
	}
}

func TestHas(t *testing.T) {
	r := &register{objects: newObjects()}
	if err := r.objects.Add(object("x/a:1")); err != nil {
		t.Fatal(err)
	}
	everywhere, here := &count{register: r}, &count{register: &register{objects: r.objects, node: "here"}}
	for name, c := range map[string]struct {
		of             *count
		holder         network.Holder
		lives, counted bool
	}{
		"by UID":          {everywhere, network.Holder{UID: "1"}, true, true},
		"another UID":     {everywhere, network.Holder{UID: "2", Namespace: "x", Name: "a"}, false, true},
		"by name":         {everywhere, network.Holder{Namespace: "x", Name: "a"}, true, true},
		"another name":    {everywhere, network.Holder{Namespace: "y", Name: "a"}, false, true},
		"of the node":     {here, network.Holder{UID: "1", Node: "here"}, true, true},
		"of another node": {here, network.Holder{UID: "1", Node: "there"}, false, false},
		"without a node":  {here, network.Holder{UID: "2"}, false, false},
	} {
		if lives, counted := c.of.Has(c.holder); lives != c.lives || counted != c.counted {
			t.Errorf("%s: lives is %v, counted %v", name, lives, counted)
		}
	}
}

// TestUncounted checks which kinds cannot be counted without a cluster.
func TestUncounted(t *testing.T) {
	c, err := New(Options{Config: &rest.Config{Host: "127.0.0.1:1"}, Clock: clock.RealClock{}, Patience: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Pod", "Container", ""} {
		if _, err := c.Count(t.Context(), kind); !errors.Is(err, gc.ErrUncounted) {
			t.Errorf("%q: got error %v, want %v", kind, err, gc.ErrUncounted)
		}
	}
	if lives, err := c.Lives(t.Context(), network.Holder{Kind: "Pod", UID: "1"}); lives || err != nil {
		t.Errorf("a holder without a name: lives is %v, error %v", lives, err)
	}
	if _, err := parseVersion("abc"); !errors.Is(err, gc.ErrUncounted) {
		t.Errorf("got error %v, want %v", err, gc.ErrUncounted)
	}
}
