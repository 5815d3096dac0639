// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// Options configure a landscape. The zero value is a complete one.
type Options struct {
	// Binaries is the folder with etcd, kube-apiserver and, optionally, kubectl.
	// Default: .cache/tools/bin of the module that the working directory belongs to.
	Binaries string
	// Without names groups of custom resource definitions that are not installed, as in a seed without a component.
	// [Landscape.InstallCRDs] installs them later.
	Without []CRDs
	// Address is the address of kube-apiserver, for programs in other networks. Default: 127.0.0.1.
	Address string
	// APIServerArgs are flags of kube-apiserver, by name without dashes. They replace a default of the same name.
	APIServerArgs map[string][]string
	// AuditLog is a file for kube-apiserver's audit events of writing requests, with the patches of webhooks
	// in their annotations. Default: none.
	AuditLog string
	// Timeout limits the start and the stop of each of the two processes. Default: two minutes; a kube-apiserver waits
	// one minute for open watches.
	Timeout time.Duration
}

// Landscape is a running etcd and kube-apiserver. It is safe for concurrent use.
type Landscape struct {
	folder      string
	binaries    string
	environment *envtest.Environment
	config      *rest.Config
	client      client.Client
	logs        []*os.File
	release     func() bool // stops watching the context of Start

	stop    sync.Once
	stopErr error
	stopped chan struct{}
}

// Start starts the landscape and returns when its kube-apiserver serves every installed kind. The landscape is stopped
// when ctx ends, so that a caller with a context for signals leaves no process behind. If programs are missing, the
// error names the command that builds them; if a server fails, the error contains its last lines.
func Start(ctx context.Context, options Options) (*Landscape, error) {
	binaries, err := findBinaries(options.Binaries)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "graft-landscape-")
	if err != nil {
		return nil, fmt.Errorf("creating the folder of the landscape: %w", err)
	}
	l := &Landscape{folder: folder, binaries: binaries, stopped: make(chan struct{})}
	if err := l.start(ctx, options); err != nil {
		err = fmt.Errorf("starting the landscape: %w%s", err, l.lastLines())
		return nil, errors.Join(err, l.Stop())
	}
	l.release = context.AfterFunc(ctx, func() { _ = l.Stop() })
	return l, nil
}

func (l *Landscape) start(ctx context.Context, options Options) error {
	if err := l.configure(ctx, options); err != nil {
		return err
	}
	config, err := l.environment.Start()
	if err != nil {
		return err
	}
	l.config = config
	known, err := newScheme()
	if err != nil {
		return fmt.Errorf("registering the kinds of a seed: %w", err)
	}
	if l.client, err = client.New(config, client.Options{Scheme: known}); err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if err := os.WriteFile(l.Kubeconfig(), l.environment.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if err := l.InstallCRDs(ctx, without(options.Without)...); err != nil {
		return err
	}
	garden := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target.GardenNamespace}}
	if err := l.client.Create(ctx, garden); err != nil {
		return fmt.Errorf("creating namespace %s: %w", target.GardenNamespace, err)
	}
	return ctx.Err()
}

// configure sets up envtest with all files in the landscape's own folder, so that Stop removes everything.
func (l *Landscape) configure(ctx context.Context, options Options) error {
	timeout := options.Timeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	l.environment = &envtest.Environment{
		UseExistingCluster:       ptr.To(false), // envtest would otherwise follow an environment variable into a real cluster
		BinaryAssetsDirectory:    l.binaries,
		ControlPlaneStartTimeout: timeout,
		ControlPlaneStopTimeout:  timeout,
	}
	plane := &l.environment.ControlPlane
	plane.Etcd = &envtest.Etcd{DataDir: filepath.Join(l.folder, "etcd")}
	server := plane.GetAPIServer()
	server.CertDir = filepath.Join(l.folder, "kube-apiserver")
	var err error
	if plane.Etcd.Path, err = l.launcher("etcd"); err != nil {
		return err
	}
	if server.Path, err = l.launcher("kube-apiserver"); err != nil {
		return err
	}
	plane.KubectlPath = filepath.Join(l.binaries, "kubectl")
	for _, folder := range []string{plane.Etcd.DataDir, server.CertDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("creating a data folder: %w", err)
		}
	}
	if err := l.place(ctx, options.Address); err != nil {
		return err
	}
	etcdLog, err := l.openLog("etcd")
	if err != nil {
		return err
	}
	serverLog, err := l.openLog("kube-apiserver")
	if err != nil {
		return err
	}
	plane.Etcd.Out, plane.Etcd.Err, server.Out, server.Err = etcdLog, etcdLog, serverLog, serverLog
	if options.AuditLog != "" {
		if err := configureAudit(server, l.folder, options.AuditLog); err != nil {
			return err
		}
	}
	for name, values := range options.APIServerArgs {
		server.Configure().Set(name, values...)
	}
	return nil
}

// place chooses the addresses of the servers. A free port that envtest chooses may be in use when a server listens some
// seconds later.
func (l *Landscape) place(ctx context.Context, address string) error {
	addresses, err := env.FreeAddresses(ctx, 3)
	if err != nil {
		return err
	}
	plane := &l.environment.ControlPlane
	plane.Etcd.URL = &url.URL{Scheme: "http", Host: addresses[0]}
	plane.Etcd.Configure().Set("listen-peer-urls", "http://"+addresses[1])
	serving := &plane.GetAPIServer().SecureServing
	serving.Address, serving.Port, err = net.SplitHostPort(addresses[2])
	serving.Address = cmp.Or(address, serving.Address)
	return err
}

// newScheme returns the kinds of Kubernetes and of the definitions that a landscape installs. Gardener's own scheme for
// seeds has more kinds, but its packages would add thirty megabytes to every test binary.
func newScheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		scheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		druidcorev1alpha1.AddToScheme,
		extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme,
		resourcesv1alpha1.AddToScheme,
		vpaautoscalingv1.AddToScheme,
	)
	return known, builder.AddToScheme(known)
}

// Stop stops kube-apiserver and etcd and removes their data. Further calls wait for the first one and return its error.
func (l *Landscape) Stop() error {
	l.stop.Do(func() {
		defer close(l.stopped)
		if l.release != nil {
			l.release()
		}
		var errs []error
		if l.environment != nil {
			errs = append(errs, l.environment.Stop())
		}
		for _, log := range l.logs {
			errs = append(errs, log.Close())
		}
		errs = append(errs, os.RemoveAll(l.folder))
		if err := errors.Join(errs...); err != nil {
			l.stopErr = fmt.Errorf("stopping the landscape: %w", err)
		}
	})
	return l.stopErr
}

// Stopped returns a channel that is closed when the landscape has been stopped, by its caller or by the end of its
// context.
func (l *Landscape) Stopped() <-chan struct{} { return l.stopped }

// Config returns a copy of the configuration of an administrator's client.
func (l *Landscape) Config() *rest.Config { return rest.CopyConfig(l.config) }

// Client returns an administrator's client without a cache, for the kinds of newScheme and for unstructured objects of
// all kinds.
func (l *Landscape) Client() client.Client { return l.client }

// Kubeconfig returns the path of an administrator's kubeconfig file, for subprocesses and for kubectl.
func (l *Landscape) Kubeconfig() string { return filepath.Join(l.folder, "admin.kubeconfig") }

// Kubectl returns the path of kubectl, which exists after `make tools`.
func (l *Landscape) Kubectl() string { return filepath.Join(l.binaries, "kubectl") }

// Etcd returns the URL of etcd, for other API servers.
func (l *Landscape) Etcd() string { return l.environment.ControlPlane.Etcd.URL.String() }

// Folder returns the landscape's own folder, which [Landscape.Stop] removes.
func (l *Landscape) Folder() string { return l.folder }
