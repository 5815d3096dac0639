-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- members_of returns the statuses of the member clusters, sorted by name.
local function members_of(statuses)
  local members = {}
  for i, came in ipairs(statuses or {}) do
    check(came.status == nil or is_map(came.status))
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

-- said iterates over the members' values at a path of their statuses, without missing ones. If there is a type, it fails
-- for values of other types; a table must be a list.
local function said(members, path, kind)
  local i = 0
  return function()
    local value
    while value == nil and i < #members do
      i = i + 1
      value = follow(members[i].status, path)
    end
    check(value == nil or not kind or type(value) == kind and (kind ~= "table" or is_list(value)))
    return value, members[i]
  end
end

-- sum_of returns the sum of the members' numbers.
local function sum_of(members, path)
  local sum
  for value in said(members, path, "number") do
    sum = (sum or 0) + value
  end
  return check(not sum or math.abs(sum) < 2 ^ 53, sum)
end

-- min_of returns the smallest of the members' numbers.
local function min_of(members, path)
  local least
  for value in said(members, path, "number") do
    least = math.min(least or value, value)
  end
  return least
end

-- max_of returns the largest of the members' numbers.
local function max_of(members, path)
  local most
  for value in said(members, path, "number") do
    most = math.max(most or value, value)
  end
  return most
end

-- truths_of returns the number of members whose value is true.
local function truths_of(members, path)
  local truths = 0
  for value in said(members, path, "boolean") do
    truths = truths + (value and 1 or 0)
  end
  return truths
end

-- all_of reports whether all members' values are true. It returns nil without members.
local function all_of(members, path)
  if #members == 0 then
    return nil
  end
  return truths_of(members, path) == #members
end

-- any_of reports whether a member's value is true. It returns nil without members.
local function any_of(members, path)
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
  for value, member in said(members, path, "string") do
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
  for value in said(members, path) do
    local judged = follow(value, by)
    check(type(judged) ~= "table")
    if judged ~= nil then
      local own = ranks[tostring(judged)] or 0
      if chosen == nil or own < rank then
        chosen, rank = value, own
      end
    end
  end
  return chosen
end

-- conditions_of returns the worst condition of each type.
local function conditions_of(members, path, negative)
  local made, places, ranks = nil, {}, {}
  for value in said(members, path, "table") do
    made = made or {}
    for _, condition in ipairs(value) do
      check(is_map(condition))
      local name, status = string_in(condition.type), string_in(condition.status)
      local bad = negative[name] and "True" or "False"
      local rank = ({[bad] = 0, Unknown = 1})[status] or (status == "True" or status == "False") and 3 or 2
      places[name] = places[name] or #made + 1
      if not ranks[name] or rank < ranks[name] then
        made[places[name]], ranks[name] = condition, rank
      end
    end
  end
  return made
end

-- union_of returns the items of all members' lists. Items with the same key must be equal. If there are several members,
-- the cluster's name is put before the value at a prefix.
local function union_of(members, path, key, prefix)
  local made, seen = nil, {}
  for value, member in said(members, path, "table") do
    made = made or {}
    for _, item in ipairs(value) do
      if prefix and #members > 1 then
        item = copy(item)
        put(item, prefix, member.cluster .. "/" .. string_in(follow(item, prefix)))
      end
      local judged = follow(item, key)
      check(judged ~= nil)
      local known = seen[judged]
      for _, other in ipairs(type(judged) == "table" and made or {}) do
        if equal(follow(other, key), judged) then
          known = other
        end
      end
      if known == nil then
        made[#made + 1], seen[judged] = item, item
      end
      check(known == nil or equal(known, item))
    end
  end
  return made
end

-- common_of returns the items that all members with a list have, in the order of the first.
local function common_of(members, path)
  local made
  for value in said(members, path, "table") do
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
local function listed(object, path)
  local found = follow(object, path)
  return check(found == nil or is_list(found), found or {})
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
  local found, seen, all_items = {}, {}, listed(came, path)
  local now, there = listed(result, path), listed(observed, path)
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
