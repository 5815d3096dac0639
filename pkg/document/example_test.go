// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// An edit deep inside a review becomes a patch of the object, and nothing else of the object moves.
func Example() {
	review, err := document.Parse([]byte(`{"request": {"object": {"spec": {"replicas": 1, "unknown": 1.50}}}}`))
	if err != nil {
		panic(err)
	}
	object := review.Root().Find("request", "object").Document()
	if _, err := object.Root().Get("spec").Set("replicas", []byte(`2`)); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n%s\n", object.Patch(), object.Bytes())
	// Output:
	// [{"op":"replace","path":"/spec/replicas","value":2}]
	// {"spec": {"replicas": 2, "unknown": 1.50}}
}
