// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/certificates"
	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// The times of Gardener's extension library (extensions/pkg/webhook/certificates).
const (
	authorityValidity = 30 * 24 * time.Hour
	authorityOverlap  = 24 * time.Hour
	certificatePeriod = 5 * time.Minute
)

// Certificates are the CA and the server certificate of the webhooks, stored in Secrets by Gardener's secrets
// manager. The CA is valid for 30 days, and trusted for another day after its rotation. The leader generates
// them; every replica writes the newest server certificate to its disk for the webhook server.
type Certificates struct {
	// Component is the extension's name without Gardener's prefix, such as provider-graft.
	Component string
	// Namespace is the namespace of the Secrets. If it is empty, certificates are generated at start and never
	// rotated.
	Namespace string
	// Mode and URL determine the host of the server certificate, as in Endpoint.
	Mode, URL string
}

// FullName returns the component's name with Gardener's prefix, which is the name of the Service.
func (c Certificates) FullName() string { return extensionswebhook.PrefixedName(c.Component, false) }

// ClusterName returns the name of an installation's cluster-scoped objects, such as the registration: FullName
// and the namespace, or FullName without a namespace. gardenlet gives each ControllerInstallation a permanent
// namespace of its own (gardener: pkg/utils/gardener/controllerinstallation.go), so that two installations in
// one cluster share no object. The chart's template graft.cluster returns the same name.
func (c Certificates) ClusterName() string {
	if c.Namespace == "" {
		return c.FullName()
	}
	return c.FullName() + "." + c.Namespace
}

// identity and caName return the names that Gardener's library uses for its secrets manager and the CA
// (gardener: extensions/pkg/webhook/certificates/add.go).
func (c Certificates) identity() string { return c.FullName() + "-webhook" }
func (c Certificates) caName() string   { return "ca-" + c.Component + "-webhook" }

func (c Certificates) serverName() string { return c.Component + "-webhook-server" }

// SecretSelector returns a selector for the Secrets of the library. Other Secrets of the namespace need not be
// cached.
func (c Certificates) SecretSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{
		secretsmanager.LabelKeyManagedBy:       secretsmanager.LabelValueSecretsManager,
		secretsmanager.LabelKeyManagerIdentity: c.identity(),
	})
}

// AddCertificates makes the leader maintain the certificates and every replica serve the newest one. It
// generates missing certificates before it returns, so that the webhook server finds one at start. Deleted
// Secrets are generated again at once; the reconcilers of Gardener's library
// (extensions/pkg/webhook/certificates) only check every five minutes. It fails if a Secret cannot be read or written.
func AddCertificates(ctx context.Context, mgr manager.Manager, c Certificates, certDir string) (Trust, error) {
	if c.Namespace == "" {
		bundle, err := certificates.GenerateUnmanagedCertificates(c.Component, false, certDir, c.Mode, c.URL)
		if err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
		key := make([]byte, 32)
		_, _ = rand.Read(key) // crypto/rand never returns an error
		return staticTrust{bundle, segmentOf(key)}, nil
	}
	if err := c.dropFuture(ctx, mgr.GetAPIReader(), mgr.GetClient(), time.Now()); err != nil {
		return nil, fmt.Errorf("removing certificates that are not valid yet: %w", err)
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating the client for certificates: %w", err)
	}
	serve := &servingCertificate{certificates: c, folder: certDir}
	if err := serve.write(ctx, uncached); errors.Is(err, errNoCertificate) {
		if err = c.generate(ctx, uncached); err == nil {
			err = serve.write(ctx, uncached)
		}
		if err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
	} else if err != nil {
		return nil, err
	}
	if err := c.watch(mgr, serve); err != nil {
		return nil, fmt.Errorf("adding the management of certificates: %w", err)
	}
	return secretBundle{reader: mgr.GetClient(), direct: mgr.GetAPIReader(), certificates: c}, nil
}

// watch generates certificates in the leader, and writes the file in each replica, when a Secret changes and
// periodically.
func (c Certificates) watch(mgr manager.Manager, serve *servingCertificate) error {
	// The leader ignores its own writes.
	deletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	if err := addController(mgr, "webhook-certificate", leader, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: certificatePeriod}, c.generate(ctx, mgr.GetClient())
	}, onChange(mgr, &corev1.Secret{}, deletions)); err != nil {
		return err
	}
	return addController(mgr, "webhook-certificate-reloader", everyReplica, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		err := serve.write(ctx, mgr.GetClient())
		if errors.Is(err, errNoCertificate) {
			err = nil // the leader generates another, which causes an event
		}
		return reconcile.Result{RequeueAfter: certificatePeriod}, err
	}, onChange(mgr, &corev1.Secret{}))
}

// generate generates missing or expiring certificates, and removes old ones. Names, lifetimes and rotation are the same
// as in Gardener's library, so that its Secrets stay in use.
func (c Certificates) generate(ctx context.Context, to client.Client) error {
	sm, err := secretsmanager.New(ctx, logf.FromContext(ctx).WithName("secretsmanager"), clock.RealClock{}, to, c.identity(),
		secretsmanager.Config{CASecretAutoRotation: true}, c.Namespace)
	if err != nil {
		return fmt.Errorf("creating the secrets manager: %w", err)
	}
	authority := &secretsutils.CertificateSecretConfig{
		Name: c.caName(), CommonName: c.caName(), CertType: secretsutils.CACert, Validity: ptr.To(authorityValidity),
	}
	if _, err := sm.Generate(ctx, authority, secretsmanager.Rotate(secretsmanager.KeepOld), secretsmanager.IgnoreOldSecretsAfter(authorityOverlap)); err != nil {
		return fmt.Errorf("generating the CA: %w", err)
	}
	server := &secretsutils.CertificateSecretConfig{
		Name: c.serverName(), CommonName: c.Component, CertType: secretsutils.ServerCert, SkipPublishingCACertificate: true,
	}
	host := Endpoint{Mode: c.Mode, URL: c.URL, Service: c.FullName(), Namespace: c.Namespace}.ServerName()
	switch address := net.ParseIP(host); {
	case c.Mode == ModeService:
		server.DNSNames = []string{c.FullName(), c.FullName() + "." + c.Namespace, host}
	case address != nil:
		server.IPAddresses = []net.IP{address}
	default:
		server.DNSNames = []string{host}
	}
	// The current CA signs the server certificate, so that it stays valid when the old CA is dropped.
	if _, err := sm.Generate(ctx, server, secretsmanager.SignedByCA(c.caName(), secretsmanager.UseCurrentCA)); err != nil {
		return fmt.Errorf("generating the server certificate: %w", err)
	}
	return sm.Cleanup(ctx)
}

// servingCertificate is the certificate in the webhook server's folder.
type servingCertificate struct {
	certificates Certificates
	folder       string
	written      []byte
}

var errNoCertificate = errors.New("there is no certificate for the webhook server yet")

// write writes the newest server certificate if it changed.
func (s *servingCertificate) write(ctx context.Context, from client.Reader) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(s.certificates.Namespace), client.MatchingLabelsSelector{Selector: s.certificates.SecretSelector()},
		client.MatchingLabels{secretsmanager.LabelKeyName: s.certificates.serverName()}); err != nil {
		return fmt.Errorf("reading the server certificate: %w", err)
	}
	if len(list.Items) == 0 {
		return errNoCertificate
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Secret) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	certificate := newest.Data[secretsutils.DataKeyCertificate]
	if bytes.Equal(certificate, s.written) {
		return nil
	}
	if err := writePair(s.folder, newest.Data[secretsutils.DataKeyPrivateKey], certificate); err != nil {
		return err
	}
	s.written = certificate
	return nil
}

// skew is the tolerated difference of clocks, as for Kerberos (RFC 4120, 8.2).
const skew = 5 * time.Minute

// dropFuture deletes CAs and certificates with an issue time in the future, which remain after a wrong clock was
// corrected: clients reject them until then, and Gardener's library does not replace them. The time must also be in the
// future for the API server; if only this machine's clock is slow, nothing is deleted. It deletes only the objects that
// it has read, not new ones of the same name.
func (c Certificates) dropFuture(ctx context.Context, from client.Reader, to client.Writer, now time.Time) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: c.SecretSelector()}); err != nil {
		return err
	}
	future := slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !issuedAfter(&s, now.Add(skew)) })
	if len(future) == 0 {
		return nil
	}
	there, err := c.serverTime(ctx, to)
	if err != nil {
		return err
	}
	for i := range future {
		secret := &future[i]
		if !issuedAfter(secret, there.Add(skew)) {
			continue
		}
		logf.FromContext(ctx).Info("Removing a certificate that is not valid yet; check the clocks of the machines", "secret", secret.Name,
			"issuedAt", secret.Labels[secretsmanager.LabelKeyIssuedAtTime])
		read := client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}
		if err := to.Delete(ctx, secret, read); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// issuedAfter reports whether a Secret's label has an issue time after at.
func issuedAfter(s *corev1.Secret, at time.Time) bool {
	issued, err := strconv.ParseInt(s.Labels[secretsmanager.LabelKeyIssuedAtTime], 10, 64)
	return err == nil && time.Unix(issued, 0).After(at)
}

// serverTime returns the API server's time, from the creationTimestamp of a dry run.
func (c Certificates) serverTime(ctx context.Context, to client.Writer) (time.Time, error) {
	asked := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: c.identity() + "-time-"}}
	if err := to.Create(ctx, asked, client.DryRunAll); err != nil {
		return time.Time{}, fmt.Errorf("asking the API server for the time: %w", err)
	}
	return asked.CreationTimestamp.Time, nil
}

// ErrNoBundle means that there is no CA yet. The registration must not be changed then.
var ErrNoBundle = errors.New("no CA bundle for the webhooks yet")

// BundleReader returns the CAs that the API server must trust, in PEM. The bundle is not empty unless there is
// an error.
type BundleReader interface {
	ReadBundle(context.Context) ([]byte, error)
}

// Trust authenticates the API server and the program to each other: it returns the CAs for the API server, and
// the path segments that the program accepts.
type Trust interface {
	BundleReader
	SegmentReader
}

// staticTrust never changes.
type staticTrust struct {
	bundle  []byte
	segment string
}

// ReadBundle returns the bundle.
func (t staticTrust) ReadBundle(context.Context) ([]byte, error) { return t.bundle, nil }

// ReadSegments returns the segment.
func (t staticTrust) ReadSegments(context.Context) ([]Segment, error) {
	return []Segment{{Value: t.segment}}, nil
}

// secretBundle reads the Secrets of the secrets manager.
type secretBundle struct {
	// reader is a cache, and direct reads from the API server before the cache is started.
	reader, direct client.Reader
	certificates   Certificates
}

// ReadSegments derives the segments from the keys of the CAs: the current CA, and the previous one as long as the
// secrets manager keeps it. It fails with ErrNoBundle if there is none.
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
	list, namespace := &corev1.SecretList{}, client.InNamespace(b.certificates.Namespace)
	managed := client.MatchingLabelsSelector{Selector: b.certificates.SecretSelector()}
	wanted := client.MatchingLabels{label: b.certificates.caName()}
	err := b.reader.List(ctx, list, namespace, managed, wanted, &client.ListOptions{UnsafeDisableDeepCopy: ptr.To(true)})
	var notStarted *cache.ErrCacheNotStarted
	if errors.As(err, &notStarted) {
		err = b.direct.List(ctx, list, namespace, managed, wanted)
	}
	slices.SortFunc(list.Items, func(x, y corev1.Secret) int {
		if order := y.CreationTimestamp.Compare(x.CreationTimestamp.Time); order != 0 {
			return order
		}
		return bytes.Compare([]byte(x.Name), []byte(y.Name))
	})
	return list.Items, err
}

// ReadBundle returns the newest bundle, followed by certificates that only older bundles contain. During a rotation
// there are briefly two bundles, and replicas that serve the old certificate. The secrets manager deletes the bundles
// that must no longer be trusted. It fails with ErrNoBundle if there is none.
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

// writePair writes a key and its certificate to the folder of the webhook server.
func writePair(folder string, key, certificate []byte) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("making the folder of the certificate: %w", err)
	}
	// The webhook server reads both files when the certificate changes.
	for _, file := range []struct {
		path    string
		content []byte
	}{
		{filepath.Join(folder, "tls.key"), key},
		{CertificateFile(folder), certificate},
	} {
		if err := disk.Replace(file.path, file.content, 0o600); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
	}
	return nil
}

// Serving checks the webhook server as the API server sees it.
type Serving struct {
	// Address is host:port; an empty host means this machine.
	Address string
	// Name is the required name in the certificate.
	Name string
	// Bundle returns the CAs that must have signed the certificate.
	Bundle BundleReader
}

// Check opens a connection with the server name and the CAs of the registration. It fails if they do not trust the
// served certificate.
func (s Serving) Check(ctx context.Context) error {
	bundle, err := s.Bundle.ReadBundle(ctx)
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

// Expiry is a collector for the expiry of the webhook server's certificate and of the CA that signed it.
type Expiry struct {
	// File is the certificate file of the webhook server, which reads it again when it changes.
	File string
	// Bundle returns the CAs that the API server trusts.
	Bundle BundleReader
}

// CertificateFile returns the path of the webhook server's certificate in a folder.
func CertificateFile(folder string) string { return filepath.Join(folder, "tls.crt") }

var descExpiry = prometheus.NewDesc("graft_certificate_expiry_timestamp_seconds",
	"Expiry time of the webhook server's certificate (serving) and of the registered CA that signed it (authority, if any), in seconds since 1970.",
	[]string{"certificate"}, nil)

// cacheTimeout limits reads from caches for metrics.
const cacheTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (e Expiry) Describe(to chan<- *prometheus.Desc) { to <- descExpiry }

// Collect implements prometheus.Collector. It exports no series for unreadable certificates, which triggers an
// alert; readiness reports the reason.
func (e Expiry) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), cacheTimeout)
	defer cancel()
	served, authority, _ := e.read(ctx)
	for name, c := range map[string]*x509.Certificate{"serving": served, "authority": authority} {
		if c != nil {
			to <- prometheus.MustNewConstMetric(descExpiry, prometheus.GaugeValue, float64(c.NotAfter.Unix()), name)
		}
	}
}

// read returns the served certificate, and the CA in the bundle that signed it. Each may be nil. It fails if the file or
// the bundle cannot be read.
func (e Expiry) read(ctx context.Context) (served, authority *x509.Certificate, err error) {
	raw, err := disk.ReadFile(e.File, disk.CertificateSize)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the certificate: %w", err)
	}
	chain := signing.Certificates(raw)
	if len(chain) == 0 {
		return nil, nil, nil
	}
	bundle, err := e.Bundle.ReadBundle(ctx)
	if err != nil {
		return chain[0], nil, err
	}
	for _, authority := range signing.Certificates(bundle) {
		if chain[0].CheckSignatureFrom(authority) == nil {
			return chain[0], authority, nil
		}
	}
	return chain[0], nil, nil
}

// Check returns an error if the certificate or its CA has expired, is not yet valid, or is no longer trusted,
// for instance after a jump of the clock or a long suspension. Gardener's library renews it within minutes, but
// a restart does at once, and no caller trusts the current certificate anyway. Check does not fail if the CAs cannot be
// read: readiness reports it, and a restart does not help.
func (e Expiry) Check(ctx context.Context, now time.Time) error {
	served, authority, err := e.read(ctx)
	if served == nil {
		return err
	}
	if err := holds("certificate", served, now); err != nil {
		return err
	}
	switch {
	case err != nil:
		return nil //nolint:nilerr // see above
	case authority == nil:
		return errors.New("no CA of the registration has signed the certificate of the webhook server")
	default:
		return holds("CA", authority, now)
	}
}

// holds returns an error if a certificate is not valid at a time.
func holds(what string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the %s of the webhook server expired at %s", what, c.NotAfter.Format(time.RFC3339))
	case now.Add(skew).Before(c.NotBefore):
		return fmt.Errorf("the %s of the webhook server is not valid before %s: check the clock", what, c.NotBefore.Format(time.RFC3339))
	}
	return nil
}
