// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ofTime is a Secret, of the library or not, issued at a time.
func ofTime(namespace, name string, labels map[string]string, issued string) *corev1.Secret {
	labels = maps.Clone(labels)
	labels["issued-at-time"] = issued
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// TestFutureCertificatesAreDeleted checks that exactly certificates from the future, by the clocks of this machine and of the API server,
// are deleted.
func TestFutureCertificatesAreDeleted(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	certificates := Certificates{Component: "provider-graft", Namespace: "garden"}
	ours := map[string]string{"managed-by": "secrets-manager", "manager-identity": certificates.identity()}
	at := func(after time.Duration) string { return strconv.FormatInt(now.Add(after).Unix(), 10) }
	others := []string{"elsewhere/future", "garden/of-a-clock-a-little-ahead", "garden/of-others", "garden/past", "garden/wrong"}
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		// server is the lead of the API server's clock over this machine's; asked is the error of reading it.
		server time.Duration
		asked  error
		left   []string
		err    error
	}{
		"both clocks are right again":             {left: others},
		"this machine is behind":                  {server: time.Hour, left: append(slices.Clone(others), "garden/future")},
		"the API server is behind":                {server: -time.Hour, left: others},
		"keeps certificates if the request fails": {asked: refused, left: append(slices.Clone(others), "garden/future"), err: refused},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithObjects(
				ofTime("garden", "past", ours, at(-time.Hour)),
				ofTime("garden", "of-a-clock-a-little-ahead", ours, at(skew)),
				ofTime("garden", "future", ours, at(skew+time.Second)),
				ofTime("garden", "wrong", ours, "tomorrow"),
				ofTime("garden", "of-others", map[string]string{"managed-by": "secrets-manager"}, at(time.Hour)),
				ofTime("elsewhere", "future", ours, at(time.Hour)),
			).WithInterceptorFuncs(interceptor.Funcs{Create: tellTime(now.Add(c.server), c.asked)}).Build()
			if err := certificates.dropFuture(t.Context(), cluster, now); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			slices.Sort(c.left)
			if diff := cmp.Diff(c.left, namesOfSecrets(t, cluster)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDropFutureOnly checks that a slow replica does not delete a Secret with the same name that a faster one has
// created since.
func TestDropFutureOnly(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	certificates := Certificates{Component: "provider-graft", Namespace: "garden"}
	ours := map[string]string{"managed-by": "secrets-manager", "manager-identity": certificates.identity()}
	future := strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
	for name, renew := range map[string]func(context.Context, client.Client) error{
		"keeps a Secret that was created again": func(ctx context.Context, c client.Client) error {
			if err := c.Delete(ctx, ofTime("garden", "ca", ours, future)); err != nil {
				return err
			}
			fresh := ofTime("garden", "ca", ours, strconv.FormatInt(now.Unix(), 10))
			fresh.UID = "fresh"
			return c.Create(ctx, fresh)
		},
		"keeps a Secret that was changed meanwhile": func(ctx context.Context, c client.Client) error {
			return c.Update(ctx, ofTime("garden", "ca", ours, strconv.FormatInt(now.Unix(), 10)))
		},
		"accepts that the Secret was deleted meanwhile": func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, ofTime("garden", "ca", ours, future))
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := ofTime("garden", "ca", ours, future)
			old.UID = "old"
			cluster := fake.NewClientBuilder().WithObjects(old).Build()
			tell := tellTime(now, nil)
			slow := interceptor.NewClient(cluster, interceptor.Funcs{
				// The request for the time comes between the read and the deletion of the Secret.
				Create: func(ctx context.Context, c client.WithWatch, asked client.Object, options ...client.CreateOption) error {
					if err := renew(ctx, cluster); err != nil {
						return err
					}
					return tell(ctx, c, asked, options...)
				},
			})
			if err := certificates.dropFuture(t.Context(), slow, now); err != nil {
				t.Fatal(err)
			}
			var want []string
			if name != "accepts that the Secret was deleted meanwhile" {
				want = []string{"garden/ca"}
			}
			if diff := cmp.Diff(want, namesOfSecrets(t, cluster)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// tellTime is an API server that says of a Secret that it is not to make when it would have made it.
func tellTime(now time.Time, err error) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(_ context.Context, _ client.WithWatch, asked client.Object, options ...client.CreateOption) error {
		how := (&client.CreateOptions{}).ApplyOptions(options)
		if !slices.Contains(how.DryRun, metav1.DryRunAll) {
			return errors.New("it is to be made")
		}
		asked.SetCreationTimestamp(metav1.NewTime(now))
		return err
	}
}

func namesOfSecrets(t *testing.T, c client.Reader) []string {
	t.Helper()
	left := &corev1.SecretList{}
	if err := c.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range left.Items {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	return names
}
