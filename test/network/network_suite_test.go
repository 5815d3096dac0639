// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

func TestNetwork(t *testing.T) { suite.Run(t, "network", "network") }
