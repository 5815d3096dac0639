// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDuplicateKeysAmongMany checks that a duplicate key is found anywhere, also with different escapes, and that
// similar keys are not confused.
func TestDuplicateKeysAmongMany(t *testing.T) {
	for _, many := range []int{0, 1, 5, 20, 60, 200} {
		var members []string
		for i := range many {
			members = append(members, fmt.Sprintf(`"%03dab":1`, i))
		}
		for name, test := range map[string]struct {
			more []string
			want bool
		}{
			"finds nothing in an object without keys": {nil, false},
			"finds nothing among similar keys":        {[]string{`"x00ab":1`, `"y00ab":1`, `"ab":1`, `"b":1`, `"":1`}, false},
			"finds a repeated key":                    {[]string{`"key":1`, `"key":2`}, true}, "finds a key repeated with an escape": {[]string{`"key":1`, `"k\u0065y":2`}, true},
			"finds a repeated key whose first one is escaped": {[]string{`"k\u0065y":1`, `"key":2`}, true},
			"finds a repeated empty key":                      {[]string{`"":1`, `"":2`}, true},
		} {
			d, err := Parse([]byte("{" + strings.Join(append(test.more, members...), ",") + "}"))
			must(t, err)
			d.Root().Get("x")
			if got := errors.Is(d.Err(), ErrDuplicateKey); got != test.want {
				t.Errorf("%s, with %d others: %t", name, many, got)
			}
		}
	}
}
