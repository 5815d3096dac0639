// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
)

// Warn logs a message with the level of warnings, which logr does not have: it takes the zap logger below. With any other
// logger the message is information.
func Warn(log logr.Logger, message string, keysAndValues ...any) {
	below, ok := log.GetSink().(zapr.Underlier)
	if !ok {
		log.Info(message, keysAndValues...)
		return
	}
	below.GetUnderlying().Sugar().Warnw(message, keysAndValues...)
}
