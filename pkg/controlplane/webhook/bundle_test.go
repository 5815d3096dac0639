// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func certificate(text string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(text)}))
}

func bundleSecret(name, namespace, bundleFor string, minute int, data string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
			Labels: map[string]string{
				"managed-by": "secrets-manager", "manager-identity": "gardener-extension-provider-graft-webhook", "bundle-for": bundleFor,
			},
		},
		Data: map[string][]byte{"bundle.crt": []byte(data)},
	}
}

// staticBundle is a bundle that never changes; an empty one is not there yet.
type staticBundle []byte

func (b staticBundle) ReadBundle(context.Context) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrNoBundle
	}
	return b, nil
}

func TestReadBundle(t *testing.T) {
	const ca = "ca-provider-graft-webhook"
	certificates := Certificates{Component: "provider-graft", Namespace: "own"}
	for name, test := range map[string]struct {
		secrets []*corev1.Secret
		want    string
	}{
		"returns nothing without a Secret":             {nil, ""},
		"returns the certificate of one CA":            {[]*corev1.Secret{bundleSecret("a", "own", ca, 0, certificate("1"))}, certificate("1")},
		"two CAs during a rotation":                    {[]*corev1.Secret{bundleSecret("a", "own", ca, 0, certificate("1")), bundleSecret("b", "own", ca, 1, certificate("2")+certificate("1"))}, certificate("2") + certificate("1")},
		"the old bundle has both CAs after a rotation": {[]*corev1.Secret{bundleSecret("a", "own", ca, 0, certificate("2")+certificate("1")), bundleSecret("b", "own", ca, 1, certificate("2"))}, certificate("2") + certificate("1")},
		"an empty bundle":                              {[]*corev1.Secret{bundleSecret("a", "own", ca, 0, "")}, ""},
		"a bundle that is not PEM":                     {[]*corev1.Secret{bundleSecret("a", "own", ca, 0, "x")}, ""},
		"Secrets of another namespace or CA":           {[]*corev1.Secret{bundleSecret("a", "other", ca, 0, certificate("1")), bundleSecret("b", "own", "another", 0, certificate("1"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder()
			for _, secret := range test.secrets {
				if !certificates.SecretSelector().Matches(labels.Set(secret.Labels)) {
					t.Error("the selector of the cache does not match the Secret")
				}
				builder.WithObjects(secret)
			}
			got, err := secretBundle{reader: builder.Build(), certificates: certificates}.ReadBundle(context.Background())
			if string(got) != test.want || (test.want == "") != errors.Is(err, ErrNoBundle) {
				t.Errorf("got %q and %v, want %q", got, err, test.want)
			}
		})
	}
}
