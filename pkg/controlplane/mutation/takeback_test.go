// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TestTakeBack checks the object without Graft: recorded values are restored, except for values from Secrets, and
// unrecorded ones stay.
func TestTakeBack(t *testing.T) {
	written := taken(t, writing, []byte(etcdBefore), nil)
	for name, test := range map[string]struct {
		object  string
		want    string
		changed []string
		marked  bool
	}{
		"restores an unchanged object":             {object: string(written), want: `{"gone":"once","other":"theirs"} null {"quota":"8Gi"}`, marked: true},
		"keeps a value that was changed later":     {object: strings.Replace(string(written), "9Gi", "7Gi", 1), want: `{"gone":"once","other":"theirs"} null {"quota":"7Gi"}`, changed: []string{"spec.etcd.quota"}, marked: true},
		"keeps an object that Graft never mutated": {object: etcdBefore, want: `{"gone":"once","other":"theirs"} {"region":"old"} {"quota":"8Gi"}`},
		"keeps values without a record":            {object: strings.Replace(string(written), "/written-", "/lost-", 1), want: `{"new":"a","other":"b"} {"region":"s3cr3t"} {"quota":"9Gi"}`, marked: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := annotation.Restore([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, summary(t, got.Object)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.changed, got.Changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if (len(got.Profiles) == 1 && strings.HasPrefix(got.Profiles[0], "p@")) != test.marked || len(got.Profiles) > 1 {
				t.Errorf("the profiles are %v", got.Profiles)
			}
			if bytes.Contains(got.Object, []byte("graft.provider.extensions.gardener.cloud/")) {
				t.Errorf("annotations of Graft's are left: %s", got.Object)
			}
			again, err := annotation.Unmarked(got.Object)
			if err != nil || !bytes.Equal(again, got.Object) {
				t.Errorf("removing the marks a second time changed the object: %s, %v", again, err)
			}
		})
	}
	if unmarked, err := annotation.Unmarked(written); err != nil || !strings.Contains(string(unmarked), "9Gi") || strings.Contains(string(unmarked), "/written-") {
		t.Errorf("unmarked is %s, %v", unmarked, err)
	}
	for _, f := range []func([]byte) error{
		func(raw []byte) error { _, err := annotation.Restore(raw); return err },
		func(raw []byte) error { _, err := annotation.Unmarked(raw); return err },
	} {
		if err := f([]byte(`{`)); !errors.Is(err, document.ErrSyntax) {
			t.Errorf("got error %v", err)
		}
	}
}
