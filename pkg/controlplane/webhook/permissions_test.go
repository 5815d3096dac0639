// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// permissions permits the names that are true, or fails.
type permissions struct {
	names map[string]bool
	asked int
	err   error
}

func (p *permissions) May(_ context.Context, r mutation.Permission) (bool, error) {
	p.asked++
	return p.names[r.Name], p.err
}

func TestPermissions(t *testing.T) {
	ctx := context.Background()
	f := &fixture{registry: prometheus.NewRegistry()}
	log := funcr.New(func(_, args string) { f.log.WriteString(args + "\n") }, funcr.Options{})
	store := NewStore(compile, nil, NewMetrics(f.registry), log)
	permitted := &permissions{names: map[string]bool{"a": true}}
	store.Authorizer = permitted
	reading := func(provider, secret string) string {
		return strings.Replace(text2profile("one", provider, "false"), "refuse: false", "refuse: false, reads: "+secret, 1)
	}
	a, b := Route{Set: target.ControlPlane, Provider: "a"}, Route{Set: target.ControlPlane, Provider: "b"}

	files := &reader{}
	files.set(reading("a", "a"))
	if err := store.Load(ctx, files); err != nil || !store.Serves(a) {
		t.Fatalf("a profile with all permissions is rejected: %v", err)
	}
	files.set(reading("b", "b"))
	err := store.Load(ctx, files)
	const want = `p.yaml:5:36: lookups.x: the profile one has no permission to get this: add a ClusterRole with {apiGroups: [""], resources: [secrets], ` +
		`resourceNames: [b], verbs: [get]}; the chart adds it for the value lookups.secrets: [b]`
	if err == nil || err.Error() != want || !store.Serves(a) || store.Serves(b) {
		t.Fatalf("want a rejected profile and the earlier one active: %s", cmp.Diff(want, err.Error()))
	}
	if got := f.count(t, "graft_profile_reload_failed", nil); got != 1 {
		t.Errorf("graft_profile_reload_failed is %v", got)
	}

	asked := permitted.asked
	if again := store.Load(ctx, files); again == nil || permitted.asked != asked {
		t.Errorf("the permission is checked again before the retry delay: %v", again)
	}
	store.waiting.next = time.Now().Add(-time.Second)
	if err := store.Load(ctx, files); err == nil || permitted.asked != asked+1 {
		t.Errorf("want one more check after the retry delay, got %d and %v", permitted.asked-asked, err)
	}
	permitted.names["b"] = true
	store.waiting.next = time.Now().Add(-time.Second)
	if err := store.Load(ctx, files); err != nil || !store.Serves(b) {
		t.Errorf("a profile is not loaded after its permission was granted: %v", err)
	}

	permitted.err = errors.New("nobody is there")
	files.set(reading("a", "c"))
	if err := store.Load(ctx, files); err != nil || !store.Serves(a) || !strings.Contains(f.log.String(), "nobody is there") {
		t.Errorf("without an answer, a profile is refused: %v, %s", err, f.log.String())
	}
}

func TestMissingRule(t *testing.T) {
	for _, c := range []struct {
		read mutation.Permission
		want string
	}{
		{mutation.Permission{Resource: "configmaps", Name: "x"}, "lookups.configMaps: [x]"},
		{mutation.Permission{Resource: "configmaps", Name: "x", Namespace: "garden"}, "or a Role in the namespace garden,"},
		{
			mutation.Permission{Group: "extensions.gardener.cloud", Resource: "infrastructures", Name: "x"},
			`lookups.objects: [{group: "extensions.gardener.cloud", resource: infrastructures, names: [x]}]`,
		},
	} {
		if got := missingRule(c.read); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q does not say %q", c.read, got, c.want)
		}
	}
}
