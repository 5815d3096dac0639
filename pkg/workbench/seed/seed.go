// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package seed reads the current control planes of a seed: their namespaces and Clusters, the objects with rules, and
// the objects of lookups. It can ask kube-apiserver for the result of the installed webhooks by dry-run updates.
//
// It changes nothing: every request is a GET, or a PUT with dryRun=All, except for the empty patches of graft drift
// --touch. It uses client-go's REST client without types: typed clients and schemes cost more at start than the rest of
// graft, and objects keep their bytes. Start reading at Connect and Seed.Snapshot, and for drift at NewEngine.
package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Connection selects the seed.
type Connection struct {
	// Kubeconfig is a file; if empty, the one in KUBECONFIG, ~/.kube/config, or the Pod's. Context is its context; if
	// empty, the current one.
	Kubeconfig, Context string
}

// Requests per second, and the burst after a pause. A seed's API server also serves its shoots.
const (
	requestRate  = 50
	requestBurst = 100
	// callTimeout limits a request with its retries. The API server ends requests after one minute (--request-timeout).
	callTimeout = 2 * time.Minute
	// retries limits the repetitions of a request that the API server answers with Retry-After.
	retries = 4
)

// Seed is a seed that can be read. It is safe for concurrent use.
type Seed struct {
	host   string
	client *rest.RESTClient
}

// Connect reads the kubeconfig. No request is made. It fails if the kubeconfig is unreadable or has no such context.
func Connect(c Connection) (*Seed, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig: name it with --kubeconfig, or in KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// Only answers of kind Status are decoded.
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.UserAgent, config.QPS, config.Burst = "graft", requestRate, requestBurst
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the seed: %w", err)
	}
	return &Seed{host: strings.TrimSuffix(client.Get().AbsPath("/").URL().String(), "/"), client: client}, nil
}

// Host returns the address of the API server, for messages.
func (s *Seed) Host() string { return s.host }

// do sends a request and returns the response's body. An unsuccessful response is an *apierrors.StatusError; its
// message names objects but never contains their content, except for messages of webhooks.
func (s *Seed) do(ctx context.Context, verb, path string, query url.Values, media string, body []byte) ([]byte, error) {
	request := s.client.Verb(verb).AbsPath(path)
	for name, values := range query {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	if media != "" {
		request.SetHeader("Content-Type", media).Body(body)
	}
	return s.send(ctx, verb, path, request)
}

// send returns the answer to a request; the verb and the path are for errors.
func (s *Seed) send(ctx context.Context, verb, path string, request *rest.Request) ([]byte, error) {
	bounded, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	result := request.MaxRetries(retries).Do(bounded)
	err := cmp.Or(ctx.Err(), result.Error())
	if apierrors.IsUnexpectedServerError(err) {
		return nil, fmt.Errorf("%s %s: %w", verb, path, err) // the response does not name its subject
	}
	if err != nil {
		return nil, err
	}
	return result.Raw()
}

// page is the number of objects in one read (limit of Kubernetes' List).
const page = 250

// profileLabel marks the ConfigMaps that hold profiles (pkg/controlplane/webhook/profiles.go, ProfileLabel).
const profileLabel = "graft.provider.extensions.gardener.cloud/profile=true"

// Profiles returns the files in the ConfigMaps of all namespaces with the label of profiles, as installed by the chart. It
// fails if they cannot be listed.
func (s *Seed) Profiles(ctx context.Context) ([]source.File, error) {
	configMaps := target.Form{Version: "v1", Resource: "configmaps"}
	var files []source.File
	err := drift.List(ctx, s, configMaps, "", profileLabel, page, func(raw json.RawMessage) error {
		var found struct {
			Metadata struct{ Namespace, Name string }
			Data     map[string]string
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return fmt.Errorf("decoding a ConfigMap: %w", err)
		}
		files = append(files, folder.FromConfigMap(found.Metadata.Namespace, found.Metadata.Name, found.Data)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing ConfigMaps with profiles: %w", err)
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(files, func(a, b source.File) bool { return a.Name == b.Name }), nil // a restarted list repeats them
}

// The labels of the extension's Deployments in a seed and for a virtual garden, and the names of the volumes of
// profileImages (charts/gardener-extension-provider-graft/templates/_helpers.tpl and deployment.yaml).
const (
	extensionLabel = "app.kubernetes.io/name in (gardener-extension-provider-graft,gardener-extension-provider-graft-runtime)"
	imageVolume    = "profiles-image-"
)

// ProfileImages returns the images with profiles that Deployments of the extension mount, in all namespaces, sorted.
// Only a container runtime or a registry client can read their content. It fails if they cannot be listed.
func (s *Seed) ProfileImages(ctx context.Context) ([]string, error) {
	deployments := target.Form{Group: "apps", Version: "v1", Resource: "deployments"}
	var images []string
	err := drift.List(ctx, s, deployments, "", extensionLabel, page, func(raw json.RawMessage) error {
		var found struct {
			Spec struct {
				Template struct {
					Spec struct {
						Volumes []struct {
							Name  string
							Image struct{ Reference string }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return fmt.Errorf("decoding a Deployment: %w", err)
		}
		for _, volume := range found.Spec.Template.Spec.Volumes {
			if strings.HasPrefix(volume.Name, imageVolume) {
				images = append(images, volume.Image.Reference)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing Deployments of the extension, which may mount images with profiles: %w", err)
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}
