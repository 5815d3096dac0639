// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Call is a request to the API server. Type is the media type of the body.
type Call struct {
	Verb, Path string
	Query      url.Values
	Type       string
	Body       []byte
}

// API is the API server. Its errors have the method HTTPStatus, where it has answered.
type API interface {
	Call(ctx context.Context, c Call) ([]byte, error)
}

// hasStatus says whether an error is an answer with a status.
func hasStatus(err error, status int) bool {
	var answer interface{ HTTPStatus() int }
	return errors.As(err, &answer) && answer.HTTPStatus() == status
}

func notFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// pathOf is that of objects of a form in a namespace, or of one of them; no namespace: in none.
func pathOf(f target.Form, namespace, name string) string {
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

// The sizes of pages: an OperatingSystemConfig may have half a megabyte, a Namespace one kilobyte.
const (
	objectPage    = 25
	namespacePage = 500
)

// restarts is how often a list is begun anew whose next page the API server does not have any more.
const restarts = 3

// list calls each for objects, page by page. When it is begun anew, those that were seen already come again.
func list(ctx context.Context, api API, path, labels string, limit int, each func(json.RawMessage) error) error {
	for begun := 0; ; begun++ {
		err := pages(ctx, api, path, labels, limit, each)
		if !hasStatus(err, http.StatusGone) || begun == restarts {
			return err
		}
	}
}

func pages(ctx context.Context, api API, path, labels string, limit int, each func(json.RawMessage) error) error {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if labels != "" {
		query.Set("labelSelector", labels)
	}
	for {
		raw, err := api.Call(ctx, Call{Verb: http.MethodGet, Path: path, Query: query})
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
}

// get reads one object.
func get(ctx context.Context, api API, path string) ([]byte, error) {
	return api.Call(ctx, Call{Verb: http.MethodGet, Path: path})
}
