-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- members_of returns the statuses of the member clusters, sorted by name.
local function members_of(statuses)
  local members = {}
  for i, came in ipairs(statuses or {}) do
    if came.status ~= nil and not is_map(came.status) then
      error("the status of the member " .. came.clusterName .. " must be an object", 0)
    end
    members[i] = {
      cluster = came.clusterName or "",
      status = came.status,
      applied = came.applied or false,
      message = came.appliedMessage or "",
      health = (came.health or "") ~= "" and came.health or "Unknown",
    }
  end
  table.sort(members, function(a, b)
    return a.cluster < b.cluster
  end)
  return members
end

-- fail reports a member's value at a path.
local function fail(member, what, path, why)
  error("the member " .. member.cluster .. ": " .. what .. "status." .. dotted(path) .. why, 0)
end

-- said iterates over the members' values at a path of their statuses, without missing ones. If there is a type, it fails
-- for values of other types; a table must be a list.
local function said(members, path, kind, what)
  local i = 0
  return function()
    local value
    while value == nil and i < #members do
      i = i + 1
      value = follow(members[i].status, path)
    end
    if kind and value ~= nil and (type(value) ~= kind or kind == "table" and not is_list(value)) then
      fail(members[i], "", path, " must be " .. what)
    end
    return value, members[i]
  end
end

-- sum_of returns the sum of the members' numbers.
local function sum_of(members, path)
  local sum
  for value in said(members, path, "number", "a number") do
    sum = (sum or 0) + value
  end
  if sum and (sum >= 9007199254740992 or sum <= -9007199254740992) then
    error("status." .. dotted(path) .. ": the sum is too large", 0)
  end
  return sum
end

-- min_of returns the smallest of the members' numbers.
local function min_of(members, path)
  local least
  for value in said(members, path, "number", "a number") do
    least = math.min(least or value, value)
  end
  return least
end

-- max_of returns the largest of the members' numbers.
local function max_of(members, path)
  local most
  for value in said(members, path, "number", "a number") do
    most = math.max(most or value, value)
  end
  return most
end

-- truths_of returns the number of members whose value is true.
local function truths_of(members, path)
  local truths = 0
  for value in said(members, path, "boolean", "true or false") do
    truths = truths + (value and 1 or 0)
  end
  return truths
end

-- all_true reports whether all members' values are true. It returns nil without members.
local function all_true(members, path)
  if #members == 0 then
    return nil
  end
  return truths_of(members, path) == #members
end

-- any_true reports whether a member's value is true. It returns nil without members.
local function any_true(members, path)
  if #members == 0 then
    return nil
  end
  return truths_of(members, path) > 0
end

-- same_of returns the value that all members with a value share, or nil if they differ.
local function same_of(members, path)
  local shared
  for value in said(members, path) do
    if shared == nil then
      shared = value
    elseif not equal(value, shared) then
      return nil
    end
  end
  return shared
end

-- first_of returns the value of the first member that has one.
local function first_of(members, path)
  return (said(members, path)())
end

-- join_of returns the members' strings, prefixed by the cluster's name if there are several members.
local function join_of(members, path)
  local texts = {}
  for value, member in said(members, path, "string", "a string") do
    if value ~= "" then
      texts[#texts + 1] = #members == 1 and value or member.cluster .. ": " .. value
    end
  end
  if #texts == 0 then
    return nil
  end
  return table.concat(texts, "; ")
end

-- worst_of returns the first value of an order that a member has, judged by the value at a path below it.
local function worst_of(members, path, by, order)
  local ranks, chosen, rank = {}, nil, nil
  for i, word in ipairs(order) do
    ranks[word] = i
  end
  for value, member in said(members, path) do
    local judged = follow(value, by)
    if type(judged) == "table" then
      fail(member, "", path, (#by > 0 and "." .. dotted(by) or "") .. " must be a string")
    elseif judged ~= nil then
      local own = ranks[tostring(judged)] or 0
      if chosen == nil or own < rank then
        chosen, rank = value, own
      end
    end
  end
  return chosen
end

-- severity returns the rank of a condition's status; 0 is the worst.
local function severity(status, negative)
  if status == (negative and "True" or "False") then
    return 0
  elseif status == "Unknown" then
    return 1
  end
  return status == (negative and "False" or "True") and 3 or 2
end

-- conditions_of returns the worst condition of each type.
local function conditions_of(members, path, negative)
  local made, places, ranks = nil, {}, {}
  for value, member in said(members, path, "table", "a list") do
    made = made or {}
    for _, condition in ipairs(value) do
      local name, status = follow(condition, {"type"}), follow(condition, {"status"})
      if type(name) ~= "string" or type(status) ~= "string" then
        fail(member, "a condition in ", path, " has no type or no status")
      end
      local rank = severity(status, negative[name])
      if not places[name] then
        places[name] = #made + 1
      end
      if not ranks[name] or rank < ranks[name] then
        made[places[name]], ranks[name] = condition, rank
      end
    end
  end
  return made
end

-- prefixed returns an item with the cluster's name before a field if there are several members.
local function prefixed(members, member, item, path, field)
  if not field or #members == 1 then
    return item
  end
  local name = follow(item, field)
  if type(name) ~= "string" then
    fail(member, "an item in ", path, " has no " .. dotted(field) .. " that is a string")
  end
  local changed = copy(item)
  put(changed, field, member.cluster .. "/" .. name)
  return changed
end

-- union_of returns the items of all members' lists. Items with the same key must be equal.
local function union_of(members, path, key, prefix)
  local made, seen = nil, {}
  for value, member in said(members, path, "table", "a list") do
    made = made or {}
    for _, came in ipairs(value) do
      local item = prefixed(members, member, came, path, prefix)
      local judged = follow(item, key)
      if judged == nil then
        fail(member, "an item in ", path, " has no " .. dotted(key))
      end
      local known = seen[judged]
      for _, other in ipairs(type(judged) == "table" and made or {}) do
        if equal(follow(other, key), judged) then
          known = other
        end
      end
      if known == nil then
        made[#made + 1], seen[judged] = item, item
      elseif not equal(known, item) then
        fail(member, "an item in ", path, " differs from that of another member with the same " .. dotted(key))
      end
    end
  end
  return made
end

-- common_of returns the items that all members with a list have, in the order of the first.
local function common_of(members, path)
  local made
  for value in said(members, path, "table", "a list") do
    local before = made or value
    made = {}
    for _, item in ipairs(before) do
      if is_in(item, value) and not is_in(item, made) then
        made[#made + 1] = item
      end
    end
  end
  return made
end

-- listed returns the items of an object at a path, or none if there is nothing.
local function listed(object, path, name)
  local found = follow(object, path)
  if found ~= nil and not is_list(found) then
    error(name .. ": " .. dotted(path) .. " must be a list", 0)
  end
  return found or {}
end

-- same_item returns the first item of a list whose key has a value, or nil.
local function same_item(list_of, key, value)
  for _, item in ipairs(list_of) do
    if equal(follow(item, key), value) then
      return item
    end
  end
end

-- both_of returns the items with the same key in the original object, the changed object, and the observed object.
local function both_of(came, result, observed, path, key)
  local found, seen, all_items = {}, {}, listed(came, path, "the object")
  local now, there = listed(result, path, "the object"), listed(observed, path, "the observed object")
  for _, item in ipairs(all_items) do
    local judged = follow(item, key)
    if judged ~= nil and not is_in(judged, seen) then
      local becomes, kept = same_item(now, key, judged), same_item(there, key, judged)
      if becomes ~= nil and kept ~= nil then
        seen[#seen + 1] = judged
        found[#found + 1] = {item = item, result = becomes, observed = kept}
      end
    end
  end
  return found
end
