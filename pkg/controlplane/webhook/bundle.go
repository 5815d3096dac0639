// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// ErrNoBundle means that there is no CA yet. The registration must not be changed then.
var ErrNoBundle = errors.New("no CA bundle for the webhooks yet")

// BundleReader returns the CAs that the API server must trust, in PEM. The bundle is not empty unless there is
// an error.
type BundleReader interface {
	ReadBundle(context.Context) ([]byte, error)
}

// staticBundle is a bundle that never changes.
type staticBundle []byte

// ReadBundle returns the bundle, or ErrNoBundle if it is empty.
func (b staticBundle) ReadBundle(context.Context) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrNoBundle
	}
	return b, nil
}

// Trust authenticates the API server and the program to each other: it returns the CAs for the API server, and
// the path segments that the program accepts.
type Trust interface {
	BundleReader
	SegmentReader
}

// staticTrust never changes.
type staticTrust struct {
	staticBundle
	staticSegment
}

// secretBundle reads the Secrets of the secrets manager.
type secretBundle struct {
	reader       client.Reader
	certificates Certificates
}

// ReadSegments derives the segments from the keys of the CAs: the current CA, and the previous one as long as
// the secrets manager keeps it.
func (b secretBundle) ReadSegments(ctx context.Context) ([]Segment, error) {
	authorities, err := b.list(ctx, secretsmanager.LabelKeyName)
	if err != nil {
		return nil, fmt.Errorf("listing CAs: %w", err)
	}
	var segments []Segment
	for i := range authorities {
		if key := authorities[i].Data[secretsutils.DataKeyPrivateKeyCA]; len(key) > 0 {
			segments = append(segments, Segment{segmentOf(key), authorities[i].CreationTimestamp.Time})
		}
	}
	if len(segments) == 0 {
		return nil, ErrNoBundle
	}
	return segments, nil
}

// list returns the Secrets with the CA's name in a label, the newest first.
func (b secretBundle) list(ctx context.Context, label string) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := b.reader.List(ctx, list, client.InNamespace(b.certificates.Namespace), client.MatchingLabels{
		secretsmanager.LabelKeyManagedBy:       secretsmanager.LabelValueSecretsManager,
		secretsmanager.LabelKeyManagerIdentity: b.certificates.identity(),
		label:                                  b.certificates.caName(),
	})
	slices.SortFunc(list.Items, func(x, y corev1.Secret) int {
		if order := y.CreationTimestamp.Compare(x.CreationTimestamp.Time); order != 0 {
			return order
		}
		return bytes.Compare([]byte(x.Name), []byte(y.Name))
	})
	return list.Items, err
}

// ReadBundle returns the newest bundle, followed by certificates that only older bundles contain. During a
// rotation there are briefly two bundles, and replicas that serve the old certificate. The secrets manager
// deletes the bundles that must no longer be trusted.
func (b secretBundle) ReadBundle(ctx context.Context) ([]byte, error) {
	bundles, err := b.list(ctx, secretsmanager.LabelKeyBundleFor)
	if err != nil {
		return nil, fmt.Errorf("listing CA bundles: %w", err)
	}
	var bundle []byte
	seen := map[string]bool{}
	for i := range bundles {
		bundle = appendCertificates(bundle, bundles[i].Data[secretsutils.DataKeyCertificateBundle], seen)
	}
	if len(bundle) == 0 {
		return nil, ErrNoBundle
	}
	return bundle, nil
}

// appendCertificates appends the new certificates in from.
func appendCertificates(bundle, from []byte, seen map[string]bool) []byte {
	for {
		var block *pem.Block
		if block, from = pem.Decode(from); block == nil {
			return bundle
		}
		if block.Type == "CERTIFICATE" && !seen[string(block.Bytes)] {
			seen[string(block.Bytes)] = true
			bundle = append(bundle, pem.EncodeToMemory(block)...)
		}
	}
}
