// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dispatch calls a webhook over TLS with the messages that Karmada ships. Start reading at New.
package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// name is the webhook in answers and errors.
const name = "webhook any/" + configuration.WebhookName

// maximumAnswer limits the size of an answer, in bytes. It contains at most an object and a patch of it.
const maximumAnswer = 16 << 20

// Client calls one webhook. It is safe for concurrent use.
type Client struct {
	url     string
	timeout time.Duration
	client  *http.Client
}

// New returns a client for a valid endpoint with a URL. Without authorities in the endpoint, it trusts those of the
// system.
func New(e configuration.Endpoint) *Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if len(e.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(e.CABundle)
	}
	timeout := time.Duration(cmp.Or(e.TimeoutSeconds, configuration.DefaultTimeoutSeconds)) * time.Second
	return &Client{url: e.URL, timeout: timeout, client: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}
}

// Asks reports whether Karmada has a name for an operation.
func (c *Client) Asks(_ interpreter.Kind, _ []byte, o interpreter.Operation) bool {
	return nameOf(o) != ""
}

func nameOf(o interpreter.Operation) string {
	for name, of := range api.Operations(api.KindContext) {
		if of == o {
			return name
		}
	}
	return ""
}

// message is Karmada's ResourceInterpreterContext.
type message struct {
	metav1.TypeMeta `json:",inline"`
	Request         *request             `json:"request,omitempty"`
	Response        *api.ContextResponse `json:"response,omitempty"`
}

type request struct {
	UID              string                  `json:"uid"`
	Kind             metav1.GroupVersionKind `json:"kind"`
	Name             string                  `json:"name"`
	Namespace        string                  `json:"namespace,omitempty"`
	Operation        string                  `json:"operation"`
	Object           json.RawMessage         `json:"object"`
	ObservedObject   json.RawMessage         `json:"observedObject,omitempty"`
	Replicas         int32                   `json:"replicas"` // Karmada sends 0 with every operation but ReviseReplica
	AggregatedStatus []status                `json:"aggregatedStatus,omitempty"`
}

type status struct {
	ClusterName    string          `json:"clusterName"`
	Status         json.RawMessage `json:"status,omitempty"`
	Applied        bool            `json:"applied,omitempty"`
	AppliedMessage string          `json:"appliedMessage,omitempty"`
	Health         string          `json:"health,omitempty"`
}

// Interpret asks the webhook. Its error wraps an *interpreter.Failure if the webhook stated a reason.
func (c *Client) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(r.Object, &object); err != nil {
		failure := &interpreter.Failure{Code: interpreter.CodeUnfit, Message: "the object must be a JSON object"}
		return interpreter.Response{}, failure
	}
	asked := &request{
		UID: string(uuid.NewUUID()), Kind: metav1.GroupVersionKind(r.Kind), Name: object.Name, Namespace: object.Namespace,
		Operation: nameOf(r.Operation), Object: r.Object, ObservedObject: r.Observed, Replicas: r.Replicas,
	}
	for _, m := range r.Members {
		said := status{m.Cluster, m.Status, m.Applied, m.Message, m.Health}
		asked.AggregatedStatus = append(asked.AggregatedStatus, said)
	}
	answer, err := c.post(ctx, asked)
	if err == nil {
		err = check(answer, asked.UID)
	}
	if err != nil {
		return interpreter.Response{}, fmt.Errorf("%s: %w", name, err)
	}
	return interpreter.Response{
		Patch: answer.Patch, Replicas: answer.Replicas, Requirements: answer.Requirements,
		Components: answer.Components, Dependencies: answer.Dependencies, Status: answer.Status,
		Healthy: answer.Healthy, Because: []string{name},
	}, nil
}

// post sends a request and returns the response.
func (c *Client) post(ctx context.Context, asked *request) (*api.ContextResponse, error) {
	head := metav1.TypeMeta{APIVersion: api.Group + "/" + api.Version, Kind: api.KindContext}
	body, err := json.Marshal(message{TypeMeta: head, Request: asked})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	url := fmt.Sprintf("%s?timeout=%s", c.url, c.timeout)
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Content-Type", "application/json")
	received, err := c.client.Do(sent)
	if err != nil {
		return nil, c.ended(err)
	}
	defer func() { _ = received.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(received.Body, maximumAnswer))
	if err != nil {
		return nil, c.ended(err)
	}
	if received.StatusCode != http.StatusOK {
		var why metav1.Status
		if json.Unmarshal(raw, &why) != nil || why.Message == "" {
			why.Message = string(bytes.TrimSpace(raw))
		}
		return nil, &interpreter.Failure{Code: received.StatusCode, Message: why.Message}
	}
	var answer message
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if answer.Response == nil {
		return nil, errors.New("there is no response")
	}
	return answer.Response, nil
}

// ended explains an error after the timeout.
func (c *Client) ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer within %s: %w", c.timeout, err)
	}
	return err
}

// check returns an *interpreter.Failure for an answer that is not successful, and another error for one that
// belongs to another request.
func check(r *api.ContextResponse, uid string) error {
	switch {
	case r.UID != uid:
		return fmt.Errorf("the uid of the response is %q, which differs from the request", r.UID)
	case !r.Successful && r.Failure == nil:
		return errors.New("a response that is not successful must have a status")
	case !r.Successful:
		return &interpreter.Failure{Code: r.Failure.Code, Message: r.Failure.Message}
	}
	return nil
}
