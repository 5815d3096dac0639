// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// JSONSchema returns the schema of a profile in addition to its fields.
func (ProviderProfile) JSONSchema() string {
	return `{
		"anyOf": [{"required": ["controlplane"]}, {"required": ["controlplaneexposure"]}, {"required": ["controlplanebackup"]}],
		"allOf": [{"properties": {"providers": {"minItems": 1, "uniqueItems": true}}}]
	}`
}

// JSONSchema returns the schema of names in addition to their type.
func (Metadata) JSONSchema() string {
	return `{"allOf": [{"properties": {"name": {
		"maxLength": 253,
		"pattern": "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
		"patternErrorMessage": "A name has lowercase letters, digits, - and . and begins and ends with a letter or digit."
	}}}]}`
}

// JSONSchema returns the schema of a rule's common fields; hack/reference adds the operations.
func (Rule) JSONSchema() string {
	return `{"properties": {
		"name": {"type": "string"},
		"when": {
			"type": "string",
			"pattern": "^\\$\\{[\\s\\S]*\\}\\s*$",
			"patternErrorMessage": "A condition is one expression in braces, such as ${ shoot.hibernated }."
		},
		"forEach": {"type": ["string", "array", "object"]},
		"onUpdate": {"enum": ["keep", "set"]},
		"mode": {"enum": ["enforce", "observe"]},
		"override": {"type": "string", "minLength": 1},
		"purposes": {"type": "array", "minItems": 1, "items": {"enum": ["reconcile", "provision"]}}
	}}`
}

// JSONSchema returns the schema of a lookup in addition to its fields: it selects one object and parts of it,
// and only Secrets and ConfigMaps have data.
func (Lookup) JSONSchema() string {
	return `{
		"oneOf": [
			{"required": ["secret"]},
			{"required": ["configMap"]},
			{"required": ["infrastructure"], "properties": {"keys": false, "checksum": false}},
			{"required": ["backupBucket"], "properties": {"keys": false, "checksum": false}},
			{"required": ["object"], "properties": {"keys": false, "checksum": false}}
		],
		"anyOf": [
			{"required": ["keys"]}, {"required": ["paths"]}, {"required": ["labels"]}, {"required": ["annotations"]}, {"required": ["checksum"]}
		]
	}`
}
