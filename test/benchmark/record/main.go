// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command record writes the objects of the benchmarks into test/benchmark/testdata: a kube-apiserver Deployment and an
// OperatingSystemConfig from Gardener's component code, with the defaults of a real kube-apiserver and the
// managedFields of gardenlet and of a controller. The objects are stored so that every run measures the same bytes and
// needs no kube-apiserver. Run `go run ./test/benchmark/record` in the root of the repository, after `make tools`.
// Start reading at run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

func main() {
	if err := run(context.Background(), filepath.Join("test", "benchmark", "testdata")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	objects, err := sample.ControlPlane(ctx, sample.Options{HighAvailability: true})
	if err != nil {
		return err
	}
	land, err := landscape.Start(ctx, landscape.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = land.Stop() }()
	namespace, err := sample.Namespace(sample.Options{})
	if err != nil {
		return err
	}
	if err := land.Client().Create(ctx, namespace); err != nil {
		return err
	}
	server, ok := samples.Find(objects, "Deployment", "kube-apiserver")
	if !ok {
		return errors.New("the sample has no kube-apiserver")
	}
	config, err := smallConfig(objects)
	if err != nil {
		return err
	}
	return errors.Join(
		record(ctx, land, server.Object, "/apis/apps/v1/namespaces/%s/deployments/%s",
			filepath.Join(folder, "kube-apiserver.json")),
		record(ctx, land, config, "/apis/extensions.gardener.cloud/v1alpha1/namespaces/%s/operatingsystemconfigs/%s",
			filepath.Join(folder, "operatingsystemconfig.json")),
	)
}

// smallConfig returns the OperatingSystemConfig of a worker pool without its largest files, except those of the
// kubelet, until it has the size for which the goals are defined.
func smallConfig(objects []sample.Object) (*extensionsv1alpha1.OperatingSystemConfig, error) {
	const size = 14_500 // managedFields add some more
	for _, object := range objects {
		config, ok := object.Object.(*extensionsv1alpha1.OperatingSystemConfig)
		if !ok || config.Spec.Purpose != extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
			continue
		}
		for length := len(object.JSON); length > size; {
			biggest, at := 0, -1
			for i, file := range config.Spec.Files {
				if inline := file.Content.Inline; inline != nil && len(inline.Data) > biggest &&
					!strings.Contains(file.Path, "kubelet") {
					biggest, at = len(inline.Data), i
				}
			}
			if at < 0 {
				break
			}
			config.Spec.Files = append(config.Spec.Files[:at], config.Spec.Files[at+1:]...)
			encoded, err := json.Marshal(config)
			if err != nil {
				return nil, err
			}
			length = len(encoded)
		}
		return config, nil
	}
	return nil, errors.New("the sample has no OperatingSystemConfig of purpose reconcile")
}

// record creates the object as gardenlet, sets its status as a controller, and stores the server's response.
func record(ctx context.Context, land *landscape.Landscape, object client.Object, path, file string) error {
	c := land.Client()
	if err := c.Create(ctx, object, client.FieldOwner("gardenlet")); err != nil {
		return err
	}
	if deployment, ok := object.(*appsv1.Deployment); ok {
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
		if err := c.Status().Update(ctx, deployment, client.FieldOwner("kube-controller-manager")); err != nil {
			return err
		}
	}
	raw, err := get(ctx, land.Config(), fmt.Sprintf(path, object.GetNamespace(), object.GetName()))
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(bytes.TrimSpace(raw), '\n'), 0o644)
}

// get reads the bytes of the server's response, because decoding would lose some of them.
func get(ctx context.Context, config *rest.Config, path string) ([]byte, error) {
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := caller.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("reading %s: %s", path, response.Status)
	}
	return body, err
}
