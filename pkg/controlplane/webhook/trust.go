// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// Trust authenticates the API server and the program to each other: it has the newest server certificate, the CAs for
// the API server, and the path segments that the program accepts. It is safe for concurrent use, and a collector of
// the expiry of the server certificate and of the CA that signed it.
type Trust struct {
	certificates Certificates
	current      atomic.Pointer[issued]
	// changed receives a value after each reading.
	changed chan event.GenericEvent
}

// issued is the content of the Secrets.
type issued struct {
	server *tls.Certificate
	// bundle is in PEM.
	bundle []byte
	// segments are those of the current CA, and of the previous one as long as the secrets manager keeps it, the newest
	// first.
	segments []Segment
}

// errIncomplete means that there is no server certificate, CA or bundle. The previous ones stay in use: an empty bundle
// would reject every admission.
var errIncomplete = errors.New("the Secrets of the webhook server lack a certificate, a CA or a bundle: delete them, and new ones are issued")

// load reads the Secrets of the secrets manager. During a rotation there are briefly two bundles, and replicas that
// serve the old certificate: the bundle is the newest one, followed by certificates that only older bundles contain. The
// secrets manager deletes the bundles that must no longer be trusted. load changes nothing if it fails.
func (t *Trust) load(ctx context.Context, from client.Reader) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(t.certificates.Namespace), client.MatchingLabelsSelector{Selector: t.certificates.SecretSelector()}); err != nil {
		return fmt.Errorf("reading certificates: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Secret) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	next, seen := &issued{}, map[string]bool{}
	for i := range list.Items {
		secret := &list.Items[i]
		switch {
		case secret.Labels[secretsmanager.LabelKeyBundleFor] == t.certificates.caName():
			next.bundle = appendCertificates(next.bundle, secret.Data[secretsutils.DataKeyCertificateBundle], seen)
		case secret.Labels[secretsmanager.LabelKeyName] == t.certificates.caName():
			if key := secret.Data[secretsutils.DataKeyPrivateKeyCA]; len(key) > 0 {
				next.segments = append(next.segments, Segment{segmentOf(key), secret.CreationTimestamp.Time})
			}
		case secret.Labels[secretsmanager.LabelKeyName] == t.certificates.serverName() && next.server == nil:
			server, err := tls.X509KeyPair(secret.Data[secretsutils.DataKeyCertificate], secret.Data[secretsutils.DataKeyPrivateKey])
			if err != nil {
				return fmt.Errorf("reading the certificate in the Secret %s (delete it, and a new one is issued): %w", secret.Name, err)
			}
			next.server = &server
		}
	}
	if next.server == nil || len(next.bundle) == 0 || len(next.segments) == 0 {
		return errIncomplete
	}
	t.current.Store(next)
	select {
	case t.changed <- event.GenericEvent{}:
	default:
	}
	return nil
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

// GetCertificate returns the server certificate, for a tls.Config.
func (t *Trust) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return t.current.Load().server, nil
}

// Segments returns the accepted segments, the newest first. There is at least one.
func (t *Trust) Segments() []Segment { return t.current.Load().segments }

// bundle returns the CAs for the API server, in PEM.
func (t *Trust) bundle() []byte { return t.current.Load().bundle }

// Check returns an error if the API server does not trust the server certificate: it or its CA has expired or is not yet
// valid, for instance after a jump of the clock or a long suspension. Gardener's library renews it within minutes, but
// a restart does at once, and no caller trusts the current certificate anyway.
func (t *Trust) Check(now time.Time) error {
	current, roots := t.current.Load(), x509.NewCertPool()
	roots.AppendCertsFromPEM(current.bundle)
	verify := func(at time.Time) error {
		_, err := current.server.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at})
		return err
	}
	err := verify(now)
	if err == nil || verify(now.Add(skew)) == nil { // this clock may be a little behind
		return nil
	}
	return fmt.Errorf("the certificate of the webhook server is not trusted; check the clock: %w", err)
}

var descExpiry = prometheus.NewDesc("graft_certificate_expiry_timestamp_seconds",
	"Expiry time of the webhook server's certificate (serving) and of the registered CA that signed it (authority, if any), in seconds since 1970.",
	[]string{"certificate"}, nil)

// Describe implements prometheus.Collector.
func (*Trust) Describe(to chan<- *prometheus.Desc) { to <- descExpiry }

// Collect implements prometheus.Collector.
func (t *Trust) Collect(to chan<- prometheus.Metric) {
	expires := func(name string, c *x509.Certificate) {
		to <- prometheus.MustNewConstMetric(descExpiry, prometheus.GaugeValue, float64(c.NotAfter.Unix()), name)
	}
	current := t.current.Load()
	expires("serving", current.server.Leaf)
	for _, authority := range signing.Certificates(current.bundle) {
		if current.server.Leaf.CheckSignatureFrom(authority) == nil {
			expires("authority", authority)
			return
		}
	}
}

// Serving checks the webhook server as the API server sees it.
type Serving struct {
	// Address is host:port; an empty host means this machine.
	Address string
	// Name is the required name in the certificate.
	Name string
	// Bundle returns the CAs that must have signed the certificate.
	Bundle func(context.Context) ([]byte, error)
}

// Check opens a connection with the server name and the CAs of the registration. It fails if they do not trust the
// served certificate.
func (s Serving) Check(ctx context.Context) error {
	bundle, err := s.Bundle(ctx)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: s.Name, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("reaching the webhook server: %w", err)
	}
	return connection.Close()
}
