// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// objectOf returns an object of about a size in bytes: a few fields with rules, and a template without.
func objectOf(size int) json.RawMessage {
	const (
		head = `{"apiVersion":"acme.com/v1","kind":"Queue","metadata":{"name":"a","namespace":"b","generation":4},"spec":{"replicas":3,"cpu":"500m",` +
			`"seedName":"s","pools":[{"name":"p","minimum":1,"secret":"x"},{"name":"q","minimum":2,"secret":"y"}],"template":[`
		tail = `]},"status":{"readyReplicas":3,"conditions":[{"type":"Ready","status":"True"},{"type":"Healthy","status":"True"}]}}`
	)
	var out strings.Builder
	out.WriteString(head)
	for i := 0; out.Len() < size-len(tail)-100; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"name":"entry-%d","value":"something that is a little longer","port":%d,"labels":{"a":"b"}}`, i, i)
	}
	out.WriteString(tail)
	return json.RawMessage(out.String())
}

// BenchmarkInterpret is the work for one question, by operation and size of the object.
func BenchmarkInterpret(b *testing.B) {
	program := load(b, golden.Read(b, "testdata/benchmark/profile.yaml"))
	status := json.RawMessage(`{"readyReplicas":3,"conditions":[{"type":"Ready","status":"True"},{"type":"Healthy","status":"True"}]}`)
	for _, operation := range interpreter.Operations() {
		for _, size := range []int{2 << 10, 20 << 10, 200 << 10} {
			object := objectOf(size)
			r := interpreter.Request{
				Operation: operation, Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Object: object, Observed: object, Replicas: 5,
				Members: []interpreter.Member{{Cluster: "a", Status: status}, {Cluster: "b", Status: status}},
			}
			b.Run(fmt.Sprintf("%s/%dkB", operation, size>>10), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := program.Interpret(context.Background(), r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
