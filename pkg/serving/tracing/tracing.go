// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package tracing exports OpenTelemetry spans if the environment configures an exporter. Start reading at New.
package tracing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracingTimeout limits the export of the last spans. The kubelet kills a Pod 30 seconds after it has sent SIGTERM.
const tracingTimeout = 5 * time.Second

// New returns a tracer that exports to the endpoint in the environment (OTEL_EXPORTER_OTLP_ENDPOINT and related
// variables), and a function that ends it. It returns a nil tracer without an endpoint. Spans wait in a bounded
// queue and are dropped if it is full. It fails if the environment names another protocol than http/protobuf or has
// invalid settings.
func New(ctx context.Context, program, version string, log logr.Logger) (trace.Tracer, func(), error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func() {}, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "http/protobuf" {
			return nil, nil, fmt.Errorf("sending traces: %s must be http/protobuf, is %q", name, protocol)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sending traces: %w", err)
	}
	// The environment takes precedence over the name.
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", program), attribute.String("service.version", version),
	), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("sending traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Sending traces failed: check the endpoint of tracing") }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return provider.Tracer(program), func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracingTimeout)
		defer cancel()
		if err := provider.Shutdown(ending); err != nil {
			log.Error(err, "Sending the last traces failed")
		}
	}, nil
}
