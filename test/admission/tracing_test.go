// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector takes spans, as a collector of OpenTelemetry does.
type spanCollector struct {
	lock  sync.Mutex
	path  string
	spans []map[string]string // attributes with those of the resource
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := &collector.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.path = r.URL.Path
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				found := map[string]string{"span": span.GetName()}
				for _, attributes := range [][]*common.KeyValue{resource.GetResource().GetAttributes(), span.GetAttributes()} {
					for _, a := range attributes {
						found[a.GetKey()] = a.GetValue().GetStringValue()
						if a.GetKey() == "graft.rules" {
							found[a.GetKey()] = fmt.Sprint(a.GetValue().GetIntValue())
						}
					}
				}
				c.spans = append(c.spans, found)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

var _ = Describe("a program with a collector for traces", func() {
	It("sends a span for each admission, the last ones when it stops", func(ctx SpecContext) {
		version, err := exec.CommandContext(ctx, binary, "--version").Output()
		Expect(err).NotTo(HaveOccurred())
		spans := &spanCollector{}
		server := httptest.NewServer(spans)
		defer server.Close()
		p := start(ctx, programOptions{
			Profiles:    map[string]string{"acme": setFlag("acme", "acme", "value", "a")},
			Environment: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_RESOURCE_ATTRIBUTES=k8s.cluster.name=seed"},
		})
		create(ctx, deployment(newShoot(ctx, "traces", "acme"), "kube-controller-manager"))
		Expect(p.stop()).To(BeNumerically("==", 0), "exit status of the program")
		spans.lock.Lock()
		defer spans.lock.Unlock()
		var got []map[string]string
		for _, span := range spans.spans {
			if span["graft.result"] == "patched" {
				got = append(got, span)
			}
		}
		want := []map[string]string{{
			"span": "admission", "service.name": programName, "k8s.cluster.name": "seed",
			"service.version": strings.TrimSpace(strings.TrimPrefix(string(version), programName+" ")),
			"graft.set":       "controlplane", "graft.provider": "acme", "graft.target": "kube-controller-manager",
			"graft.result": "patched", "graft.rules": "1",
		}}
		Expect(got).To(Equal(want), "spans of patched objects")
		Expect(spans.path).To(Equal("/v1/traces"), "the path of the collector")
	})
})
