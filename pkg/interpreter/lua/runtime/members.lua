-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- members_of returns the statuses of the member clusters, sorted by name.
local function members_of(statuses)
  local members = {}
  for i, said in ipairs(statuses or {}) do
    if said.status ~= nil and not is_map(said.status) then
      error("the status of the member " .. said.clusterName .. " must be an object", 0)
    end
    members[i] = {
      cluster = said.clusterName or "",
      status = said.status,
      applied = said.applied or false,
      message = said.appliedMessage or "",
      health = (said.health or "") ~= "" and said.health or "Unknown",
    }
  end
  table.sort(members, function(a, b)
    return a.cluster < b.cluster
  end)
  return members
end

-- said returns the members' values at a path of their statuses, without missing ones.
local function said(members, path)
  local found = {}
  for _, member in ipairs(members) do
    local value = follow(member.status, path)
    if value ~= nil then
      found[#found + 1] = {cluster = member.cluster, value = value}
    end
  end
  return found
end

-- fail reports a member's value at a path.
local function fail(found, what, path, why)
  error("the member " .. found.cluster .. ": " .. what .. "status." .. path .. why, 0)
end

-- misfit fails because a member's value has a wrong type.
local function misfit(found, path, what, below)
  fail(found, "", dotted(path) .. (below and #below > 0 and "." .. dotted(below) or ""), " must be " .. what)
end

-- sum_of returns the sum of the members' numbers.
local function sum_of(members, path)
  local sum
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "number" then
      misfit(found, path, "a number")
    end
    sum = (sum or 0) + found.value
  end
  if sum and (sum >= 9007199254740992 or sum <= -9007199254740992) then
    error("status." .. dotted(path) .. ": the sum is too large", 0)
  end
  return sum
end

-- extreme_of returns the best of the members' numbers.
local function extreme_of(members, path, better)
  local best
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "number" then
      misfit(found, path, "a number")
    elseif best == nil or better(found.value, best) then
      best = found.value
    end
  end
  return best
end

-- min_of returns the smallest of the members' numbers.
local function min_of(members, path)
  return extreme_of(members, path, function(a, b)
    return a < b
  end)
end

-- max_of returns the largest of the members' numbers.
local function max_of(members, path)
  return extreme_of(members, path, function(a, b)
    return a > b
  end)
end

-- truths_of returns the number of members whose value is true.
local function truths_of(members, path)
  local truths = 0
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "boolean" then
      misfit(found, path, "true or false")
    elseif found.value then
      truths = truths + 1
    end
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
  local found = said(members, path)
  for _, other in ipairs(found) do
    if not equal(other.value, found[1].value) then
      return nil
    end
  end
  return found[1] and found[1].value
end

-- first_of returns the value of the first member that has one.
local function first_of(members, path)
  local found = said(members, path)
  return found[1] and found[1].value
end

-- join_of returns the members' strings, prefixed by the cluster's name if there are several members.
local function join_of(members, path)
  local texts = {}
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "string" then
      misfit(found, path, "a string")
    elseif found.value ~= "" then
      texts[#texts + 1] = #members == 1 and found.value or found.cluster .. ": " .. found.value
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
  for _, found in ipairs(said(members, path)) do
    local judged = follow(found.value, by)
    if type(judged) == "table" then
      misfit(found, path, "a string", by)
    elseif judged ~= nil then
      local own = ranks[tostring(judged)] or 0
      if chosen == nil or own < rank then
        chosen, rank = found.value, own
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
  for _, found in ipairs(said(members, path)) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    made = made or {}
    for _, condition in ipairs(found.value) do
      local name, status = follow(condition, {"type"}), follow(condition, {"status"})
      if type(name) ~= "string" or type(status) ~= "string" then
        fail(found, "a condition in ", dotted(path), " has no type or no status")
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
local function prefixed(members, found, item, path, field)
  if not field or #members == 1 then
    return item
  end
  local text = follow(item, field)
  if type(text) ~= "string" then
    fail(found, "an item in ", dotted(path), " has no " .. dotted(field) .. " that is a string")
  end
  local changed = copy(item)
  put(changed, field, found.cluster .. "/" .. text)
  return changed
end

-- union_of returns the items of all members' lists. Items with the same key must be equal.
local function union_of(members, path, key, prefix)
  local made, seen = nil, {}
  for _, found in ipairs(said(members, path)) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    made = made or {}
    for _, came in ipairs(found.value) do
      local item = prefixed(members, found, came, path, prefix)
      local judged = follow(item, key)
      if judged == nil then
        fail(found, "an item in ", dotted(path), " has no " .. dotted(key))
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
        fail(found, "an item in ", dotted(path), " differs from that of another member with the same " .. dotted(key))
      end
    end
  end
  return made
end

-- common_of returns the items that all members with a list have, in the order of the first.
local function common_of(members, path)
  local all = said(members, path)
  local made
  for i, found in ipairs(all) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    local before, from = made or found.value, i == 1 and {} or found.value
    made = {}
    for _, item in ipairs(before) do
      if (i == 1 or is_in(item, from)) and not is_in(item, made) then
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
  local found, seen, items = {}, {}, listed(came, path, "the object")
  local now, there = listed(result, path, "the object"), listed(observed, path, "the observed object")
  for _, item in ipairs(items) do
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
