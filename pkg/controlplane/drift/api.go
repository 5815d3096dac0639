// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// API is the API server, which can only be read and touched. Errors of its answers are *apierrors.StatusError.
type API interface {
	// Read returns the answer for a path, relative to the address of kube-apiserver.
	Read(ctx context.Context, path string, query url.Values) ([]byte, error)
	// Touch sends TouchRequest for the object at a path, and returns the object.
	Touch(ctx context.Context, path string) ([]byte, error)
}

// TouchRequest returns an empty patch for the object at a path. kube-apiserver calls the webhooks for it and stores their
// changes.
func TouchRequest(client rest.Interface, path string) *rest.Request {
	return client.Patch(types.MergePatchType).AbsPath(path).Param("fieldManager", "graft-drift").Body([]byte("{}"))
}

// Path returns the path of objects of a form in a namespace, or of one of them. The namespace is empty for
// cluster-scoped objects.
func Path(f target.Form, namespace, name string) string {
	path := "/apis/" + f.Group + "/" + f.Version
	if f.Group == "" {
		path = "/api/" + f.Version
	}
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	path += "/" + f.Resource
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// The numbers of objects in a page: an OperatingSystemConfig may have half a megabyte, a Namespace has about a kilobyte.
const (
	objectPage    = 25
	namespacePage = 500
)

// mostPages limits a list to a hundred thousand objects of one kind in a namespace, and two million namespaces.
const mostPages = 4000

// errEndless means that a list has more than mostPages pages.
var errEndless = fmt.Errorf("the list has more than %d pages", mostPages)

// restarts limits how often a list is restarted because its next page has expired.
const restarts = 3

// List calls each for the objects of a form in a namespace, or in all, in pages of at most limit objects. After a
// restart, objects are repeated. It fails if a page cannot be read or each fails.
func List(ctx context.Context, api API, f target.Form, namespace, labels string, limit int, each func(json.RawMessage) error) error {
	for begun := 0; ; begun++ {
		err := pages(ctx, api, Path(f, namespace, ""), labels, limit, each)
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) || begun == restarts {
			return err
		}
	}
}

func pages(ctx context.Context, api API, path, labels string, limit int, each func(json.RawMessage) error) error {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if labels != "" {
		query.Set("labelSelector", labels)
	}
	for range mostPages {
		raw, err := api.Read(ctx, path, query)
		if err != nil {
			return err
		}
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("reading the list %s: %w", path, err)
		}
		for _, item := range page.Items {
			if err := each(item); err != nil {
				return err
			}
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return fmt.Errorf("reading the list %s: %w", path, errEndless)
}
