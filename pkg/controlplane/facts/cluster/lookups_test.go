// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

func makeSecret(namespace, name string, data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

// asking is a client that counts its requests.
func asking(t *testing.T, asked *[]string, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				*asked = append(*asked, key.String())
				return c.Get(ctx, key, into, options...)
			},
		}).Build()
}

// TestLookupIsNotCached checks that each lookup asks the API server once and sees changes, and that a timeout is an error
// with the name of the object.
func TestLookupIsNotCached(t *testing.T) {
	var asked []string
	c := asking(t, &asked, makeSecret("a", "x", map[string]string{"k": "v"}))
	s := New(c, c, Options{})
	for _, computed := range []bool{false, true} {
		request := facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "x", Keys: []string{"k"}, Computed: computed}
		for _, value := range []string{"v", "w"} {
			if err := c.Update(t.Context(), makeSecret("a", "x", map[string]string{"k": value})); err != nil {
				t.Fatal(err)
			}
			asked = nil
			if found, err := s.Lookup(t.Context(), "a", request); err != nil || found.Keys["k"] != value || len(asked) != 1 {
				t.Fatalf("got %v, %v and the requests %v, want %s from one", found, err, asked, value)
			}
		}
	}
	slow := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			<-ctx.Done()
			return errors.New("client rate limiter Wait returned an error")
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := New(c, slow, Options{}).Lookup(ctx, "a", facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "x"})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "reading the Secret a/x") {
		t.Errorf("got %v", err)
	}
}
