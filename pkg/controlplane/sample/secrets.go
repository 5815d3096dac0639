// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener/pkg/utils"
	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// secrets replaces Gardener's secrets manager. Names follow the manager's scheme and depend on the configuration only;
// the data are fixed texts of a realistic size, because random keys would change the bytes.
type secrets struct {
	namespace string
	mutex     sync.Mutex
	generated map[string]*corev1.Secret
}

var _ secretsmanager.Interface = (*secrets)(nil)

// authorities are the secrets that gardenlet generates before any component is deployed
// (pkg/gardenlet/operation/botanist/secrets.go). A component gets the bundle of a certificate authority unless it
// requests the current certificate.
var authorities = []string{
	"ca", "ca-client", "ca-etcd", "ca-etcd-peer", "ca-front-proxy", "ca-kubelet", "ca-metrics-server", "ca-vpn",
	"service-account-key",
}

var others = []string{"generic-token-kubeconfig", "ssh-keypair"}

func newSecrets(namespace string) *secrets {
	return &secrets{namespace: namespace, generated: map[string]*corev1.Secret{}}
}

// Get returns a secret of gardenlet, or one that was generated before. It returns no old ones, because nothing has been
// rotated.
func (s *secrets) Get(name string, options ...secretsmanager.GetOption) (*corev1.Secret, bool) {
	class := ""
	if o := (&secretsmanager.GetOptions{}).ApplyOptions(options); o.Class != nil {
		class = string(*o.Class)
	}
	switch {
	case class == "old":
		return nil, false
	case slices.Contains(authorities, name):
		if class == "" {
			class = "bundle"
		}
		return s.fixed(name, class), true
	case slices.Contains(others, name):
		return s.fixed(name, class), true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	secret, ok := s.generated[name]
	return secret.DeepCopy(), ok
}

// Generate returns a secret named after its configuration, with stable data.
func (s *secrets) Generate(_ context.Context, config secretsutils.ConfigInterface, _ ...secretsmanager.GenerateOption) (*corev1.Secret, error) {
	meta, err := secretsmanager.ObjectMeta(s.namespace, "gardenlet", config, false, "", nil, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("naming secret %q: %w", config.GetName(), err)
	}
	secret := secretsmanager.Secret(meta, dataFor(config))

	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.generated[config.GetName()] = secret
	return secret.DeepCopy(), nil
}

// Cleanup does nothing: nothing was left over.
func (s *secrets) Cleanup(context.Context) error { return nil }

func (s *secrets) fixed(name, class string) *corev1.Secret {
	full := name + "-" + utils.ComputeSHA256Hex([]byte(name + class))[:8]
	if class == "bundle" {
		full = name + "-bundle-" + utils.ComputeSHA256Hex([]byte(name + class))[:8]
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: full, Namespace: s.namespace},
		Data: map[string][]byte{
			secretsutils.DataKeyCertificateBundle: []byte(certificate),
			secretsutils.DataKeySSHAuthorizedKeys: []byte("ssh-rsa " + strings.Repeat("AAAA", 92) + " \n"),
		},
	}
}

// dataFor returns the data that components read during their deployment.
func dataFor(config secretsutils.ConfigInterface) map[string][]byte {
	switch c := config.(type) {
	case *secretsutils.StaticTokenSecretConfig:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(c.Tokens)) {
			token := c.Tokens[name]
			lines = append(lines, strings.Join([]string{strings.Repeat("sampletoken", 11), token.Username, token.UserID, strings.Join(token.Groups, ",")}, ","))
		}
		return map[string][]byte{secretsutils.DataKeyStaticTokenCSV: []byte(strings.Join(lines, "\n"))}
	case *secretsutils.ETCDEncryptionKeySecretConfig:
		return map[string][]byte{
			secretsutils.DataKeyEncryptionKeyName:        []byte("key1735689600"),
			secretsutils.DataKeyEncryptionSecret:         []byte(strings.Repeat("sample-k", 4)),
			secretsutils.DataKeyEncryptionSecretEncoding: []byte("none"),
		}
	default:
		return map[string][]byte{secretsutils.DataKeyCertificateBundle: []byte(certificate)}
	}
}

// certificate has the form and the size of a certificate; it is none.
var certificate = "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("U2FtcGxlIGRhdGEgb2YgYSBjb250cm9sIHBsYW5lLCBub3QgYSBjZXJ0aWZpY2F0\n", 22) +
	"-----END CERTIFICATE-----\n"
