// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// LimitFlags are flags for the limits of a server. The configuration has their defaults.
type LimitFlags struct{ Connections, Streams, Requests, BodiesBytes int32 }

// AddTo defines the flags.
func (f *LimitFlags) AddTo(set *pflag.FlagSet) {
	set.Int32Var(&f.Connections, "limit-connections", 0, "maximum open connections (default 1024)")
	set.Int32Var(&f.Streams, "limit-streams", 0, "maximum open requests of one HTTP/2 connection (default 32)")
	set.Int32Var(&f.Requests, "limit-requests", 0, "maximum concurrent requests")
	set.Int32Var(&f.BodiesBytes, "limit-bodies-bytes", 0, "maximum bytes of all request bodies in memory; at least four of the largest")
}

// Override sets the limits from the flags that were given. It fails for values that are too low.
func (f *LimitFlags) Override(set *pflag.FlagSet, connections, streams, requests, bodiesBytes *int32) error {
	var problems []error
	for _, flag := range []struct {
		name   string
		given  int32
		lowest int32
		field  *int32
	}{
		{"limit-connections", f.Connections, 1, connections},
		{"limit-streams", f.Streams, 1, streams},
		{"limit-requests", f.Requests, 1, requests},
		{"limit-bodies-bytes", f.BodiesBytes, 64 << 10, bodiesBytes},
	} {
		if !set.Changed(flag.name) {
			continue
		}
		if *flag.field = flag.given; flag.given < flag.lowest {
			problems = append(problems, fmt.Errorf("--%s must be at least %d", flag.name, flag.lowest))
		}
	}
	return errors.Join(problems...)
}
