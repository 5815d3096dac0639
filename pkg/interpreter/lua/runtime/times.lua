-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- days_in returns the number of days of a month.
local function days_in(year, month)
  if month == 2 then
    return (year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)) and 29 or 28
  end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

-- days_before returns the number of days from 1970 to a date.
local function days_before(year, month, day)
  local since = year
  if month <= 2 then
    since = since - 1
  end
  local era = math.floor(since / 400)
  local of_era = since - era * 400
  local of_year = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

-- is_date reports whether a string is a date.
local function is_date(value)
  local year, month, day = string.match(value, "^(%d%d%d%d)%-(%d%d)%-(%d%d)$")
  if not year then
    return false
  end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  return month >= 1 and month <= 12 and day >= 1 and day <= days_in(year, month)
end

-- is_datetime reports whether a string is a date with a time, as format.datetime() does.
local function is_datetime(value)
  local parts = split(lower_ascii(value), "t")
  if #parts < 2 or not is_date(parts[1]) then
    return false
  end
  local hour, minute, second, rest = string.match(parts[2], "^(%d%d):(%d%d):(%d%d)(.*)$")
  if not hour or hour > "23" or minute > "59" or second > "59" then
    return false
  end
  return matches(rest, "^z$", "^[+-]%d%d:%d%d$", "^[^\n][\128-\191]*%d+z$", "^[^\n][\128-\191]*%d+[+-]%d%d:%d%d$")
end

-- offset_of returns the offset of a time zone in seconds.
local function offset_of(zone)
  if zone == "Z" then
    return 0
  end
  local sign, hours, minutes = string.match(zone, "^([+-])(%d%d):(%d%d)$")
  if not sign or tonumber(hours) > 24 or tonumber(minutes) > 60 then
    return nil
  end
  return (sign == "-" and -1 or 1) * (tonumber(hours) * 3600 + tonumber(minutes) * 60)
end

-- timestamp parses a time in RFC 3339 to seconds since 1970, nanoseconds, and the zone's offset in seconds.
local function timestamp(value)
  if type(value) == "number" then
    return {seconds = value, nanoseconds = 0, offset = 0}
  end
  local date, hour, minute, second, rest = string.match(string_in(value), "^(%d%d%d%d%-%d%d%-%d%d)T(%d%d?):(%d%d):(%d%d)(.*)$")
  local fraction, zone = string.match(rest or "", "^[.,](%d+)(.*)$")
  local offset = date and offset_of(zone or rest)
  check(offset and is_date(date) and tonumber(hour) <= 23 and tonumber(minute) <= 59 and tonumber(second) <= 59)
  local year, month, day = tonumber(string.sub(date, 1, 4)), tonumber(string.sub(date, 6, 7)), tonumber(string.sub(date, 9))
  local seconds = days_before(year, month, day) * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second) - offset
  check(seconds >= -62135596800 and seconds <= 253402300799)
  return {seconds = seconds, nanoseconds = tonumber(string.sub((fraction or "") .. "000000000", 1, 9)), offset = offset}
end

-- compare_times is compare for times.
local function compare_times(a, b)
  if a.seconds ~= b.seconds then
    return a.seconds - b.seconds
  end
  return a.nanoseconds - b.nanoseconds
end

-- date_of returns the date a number of days after 1970.
local function date_of(days)
  days = days + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local shifted = math.floor((5 * of_year + 2) / 153)
  local month = shifted < 10 and shifted + 3 or shifted - 9
  return year + era * 400 + (month <= 2 and 1 or 0), month, of_year - math.floor((153 * shifted + 2) / 5) + 1
end

-- two formats a number with two digits.
local function two(number)
  return (number < 10 and "0" or "") .. tostring(number)
end

-- zone_of formats the offset of a time zone.
local function zone_of(offset)
  if offset == 0 then
    return "Z"
  end
  local minutes = math.floor(math.abs(offset) / 60)
  return (offset < 0 and "-" or "+") .. two(math.floor(minutes / 60)) .. ":" .. two(minutes % 60)
end

-- time_of formats a time in RFC 3339.
local function time_of(value)
  local seconds, fraction = value.seconds + value.offset, ""
  local year, month, day = date_of(math.floor(seconds / 86400))
  local left = seconds % 86400
  if value.nanoseconds > 0 then
    fraction = "." .. string.match(string.sub(tostring(1000000000 + value.nanoseconds), 2), "^(.-)0*$")
  end
  local date = string.sub("000" .. tostring(year), -4) .. "-" .. two(month) .. "-" .. two(day)
  local time = two(math.floor(left / 3600)) .. ":" .. two(math.floor(left % 3600 / 60)) .. ":" .. two(left % 60)
  return date .. "T" .. time .. fraction .. zone_of(value.offset)
end
