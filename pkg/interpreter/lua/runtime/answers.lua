-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- count converts a result to a number of replicas, or fails.
local function count(value)
  return check(value % 1 == 0 and value >= 0 and value < 2 ^ 31, value)
end

-- status_of returns the object's status, or an empty table. It fails if the status is not an object.
local function status_of(object)
  local status = object.status == nil and {} or object.status
  return check(type(status) == "table" and status[1] == nil, status)
end

-- unless_empty returns a table, or nil if it is empty.
local function unless_empty(value)
  if next(value) == nil then
    return nil
  end
  return value
end

-- fits reports whether a value has the form of another: "" is a string, 0 a whole number, a list has one form for
-- all items, a map one for each field, and under * one for all other fields.
local function fits(value, form)
  if value == nil then
    return true
  elseif type(form) ~= "table" then
    return type(value) == type(form) and (form ~= 0 or is_whole(value))
  elseif type(value) ~= "table" then
    return false
  elseif form[1] ~= nil then
    for key, item in pairs(value) do
      if type(key) ~= "number" or not fits(item, form[1]) then
        return false
      end
    end
    return true
  end
  for key, member in pairs(value) do
    if type(key) ~= "string" or (form[key] or form["*"]) == nil or not fits(member, form[key] or form["*"]) then
      return false
    end
  end
  return true
end

-- unless_blank returns a string, or nil if it is empty.
local function unless_blank(value)
  return value ~= "" and value or nil
end

-- name_in returns a string, or nil if it is empty.
local function name_in(value)
  return unless_blank(string_in(value))
end

-- node_claim returns a valid nodeClaim, or fails.
local function node_claim(value)
  local terms = {{key = "", operator = "", values = {""}}}
  local form = {
    nodeSelector = {["*"] = ""},
    tolerations = {{key = "", operator = "", value = "", effect = "", tolerationSeconds = 0}},
    hardNodeAffinity = {nodeSelectorTerms = {{matchExpressions = terms, matchFields = terms}}},
  }
  return unless_empty(check(fits(value, form), value))
end

-- resource_request returns a valid resourceRequest, or fails.
local function resource_request(value)
  local request = {}
  for name, asked in pairs(value) do
    local written = type(asked) == "number" and text(asked) or asked
    check(type(name) == "string" and is_quantity(written) and not string.find(quantity_sum(written), "^-"))
    request[name] = written
  end
  return unless_empty(request)
end

-- requirements returns valid requirements, or nil if they are empty.
local function requirements(value)
  value = copy(value)
  if value == nil then
    return nil
  end
  local known = {nodeClaim = node_claim, resourceRequest = resource_request, namespace = name_in, priorityClassName = name_in}
  local needed = {}
  for key, asked in pairs(value) do
    check(known[key])
    needed[key] = known[key](asked)
  end
  return unless_empty(needed)
end

-- add_component appends a component. It fails if the name is invalid or a duplicate.
local function add_component(components, component)
  local length = #runes(component.name)
  check(length > 0 and length <= 32)
  for _, other in ipairs(components) do
    check(other.name ~= component.name)
  end
  components[#components + 1] = component
end

-- is_name reports whether a string consists of letters, digits and the given inner characters.
local function is_name(value, within)
  return #value <= 63 and (string.find(value, "^%w$") or string.find(value, "^%w[" .. within .. "]*%w$")) ~= nil
end

-- is_subdomain reports whether a string is a DNS subdomain.
local function is_subdomain(value)
  for _, part in ipairs(split(value, ".")) do
    if not string.find(part, "^[a-z0-9]$") and not string.find(part, "^[a-z0-9][a-z0-9-]*[a-z0-9]$") then
      return false
    end
  end
  return #value <= 253
end

-- is_api_version reports whether a string is v1 or group/version.
local function is_api_version(value)
  local group, name = string.match(value, "^([^/]*)/(.*)$")
  name = name or value
  return (not group or is_subdomain(group)) and #name <= 63 and string.find(name, "^[a-z][a-z0-9]*$") ~= nil
end

-- is_label reports whether a string is a label key.
local function is_label(value)
  local prefix, name = string.match(value, "^([^/]*)/(.*)$")
  return (not prefix or prefix ~= "" and is_subdomain(prefix)) and is_name(name or value, "%w_.-")
end

-- is_requirement reports whether a value is a requirement of a label selector.
local function is_requirement(value)
  local some = value.values ~= nil and #value.values > 0
  if not is_label(value.key or "") then
    return false
  elseif value.operator == "In" or value.operator == "NotIn" then
    for _, item in ipairs(value.values or {}) do
      if item ~= "" and not is_name(item, "%w_.-") then
        return false
      end
    end
    return some
  end
  return (value.operator == "Exists" or value.operator == "DoesNotExist") and not some
end

-- is_selector reports whether a value is a label selector.
local function is_selector(value)
  if type(value) ~= "table" or not fits(value, {matchLabels = {["*"] = ""}, matchExpressions = {{key = "", operator = "", values = {""}}}}) then
    return false
  end
  for key, label in pairs(value.matchLabels or {}) do
    if not is_label(key) or label ~= "" and not is_name(label, "%w_.-") then
      return false
    end
  end
  for _, asked in ipairs(value.matchExpressions or {}) do
    if not is_requirement(asked) then
      return false
    end
  end
  return true
end

-- selector returns a valid label selector, or fails.
local function selector(value)
  return check(is_selector(copy(value)), copy(value))
end

-- api_version returns a valid apiVersion, or fails.
local function api_version(value)
  return check(is_api_version(value), value)
end

-- kind_name returns a valid kind, or fails.
local function kind_name(value)
  return check(type(value) == "string" and #value <= 63 and string.find(value, "^[A-Z]%w*$"), value)
end

-- dependency returns a valid dependency, or fails.
local function dependency(found)
  return check(found.name ~= "", found)
end

-- add_dependency appends a dependency unless it exists.
local function add_dependency(dependencies, found)
  check(found.name ~= "")
  for _, other in ipairs(dependencies) do
    if equal(other, found) then
      return
    end
  end
  dependencies[#dependencies + 1] = found
end
